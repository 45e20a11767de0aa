#include "corpus.hpp"

#include <algorithm>
#include <filesystem>

#include "qksolve/data/text.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::app {

namespace {

// The names of all files of a folder and below.
std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  try {
    for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator();
         ++entry) {
      if (entry->path().filename().string().starts_with('.'))
        entry.disable_recursion_pending();
      else if (entry->is_regular_file())
        names.push_back(entry->path().string());
    }
  } catch (const fs::filesystem_error& error) {
    throw results::FileError("cannot read all of '" + folder + "': " + error.code().message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> paragraphs(const std::string& text) {
  std::vector<std::string> found;
  std::string paragraph;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    const std::string line = text.substr(i, end - i);
    i = end;
    if (line.find_first_not_of(" \t\r\n") != std::string::npos) {
      paragraph += line;
    } else if (!paragraph.empty()) {
      found.push_back(std::move(paragraph));
      paragraph.clear();
    }
  }
  if (!paragraph.empty()) found.push_back(std::move(paragraph));
  return found;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::string text = results::read_file(path);
  if (!training::is_text(text))
    throw results::ContentError(path + ": is not UTF-8 text without zero bytes, expected a text file");
  const std::string mark = "\xef\xbb\xbf";  // of the byte order
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

std::vector<std::string> read_documents(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return paragraphs(read_text(path));
  const std::vector<std::string> names = files_below(path);
  std::vector<std::string> documents;
  documents.reserve(names.size());
  for (const std::string& name : names) documents.push_back(read_text(name));
  return documents;
}

}  // namespace qksolve::app

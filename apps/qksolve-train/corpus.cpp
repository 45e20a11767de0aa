#include "corpus.hpp"

#include <algorithm>
#include <filesystem>

#include "qksolve/results/result.hpp"
#include "qksolve/training/text.hpp"

namespace qksolve::app {

namespace {

std::string read_text(const std::string& path) {
  std::string text = results::read_file(path);
  if (!training::is_text(text))
    throw results::ContentError(path + ": is not UTF-8 text without zero bytes, expected a text file");
  return text;
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

std::vector<std::string> read_documents(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return paragraphs(read_text(path));
  std::vector<std::string> names;
  for (auto entry = fs::recursive_directory_iterator(path); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (entry->path().filename().string().starts_with('.'))
      entry.disable_recursion_pending();
    else if (entry->is_regular_file())
      names.push_back(entry->path().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> documents;
  documents.reserve(names.size());
  for (const std::string& name : names) documents.push_back(read_text(name));
  return documents;
}

}  // namespace qksolve::app

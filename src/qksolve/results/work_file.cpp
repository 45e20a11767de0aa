#include "qksolve/results/work_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "qksolve/results/json_text.hpp"

namespace qksolve::results {

namespace {

// FNV-1a over words of eight bytes, 64 bits: guards against damage, not against malice.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ text.size();
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(8, text.size()))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<std::size_t>(8, text.size()));
    hash = (hash ^ word) * 0x100000001b3ULL;
    hash ^= hash >> 29;
  }
  char digits[17] = "0000000000000000", buffer[17];
  const auto end = std::to_chars(buffer, buffer + 16, hash, 16).ptr;
  std::memcpy(digits + 16 - (end - buffer), buffer, static_cast<std::size_t>(end - buffer));
  return {digits, 16};
}

// A line is {"task":"<id>","check":"<checksum of the value's text>","value":<value>}; the header has the task
// "header".
constexpr std::string_view kTask = "{\"task\":\"", kCheck = "\",\"check\":\"", kValue = "\",\"value\":";

std::string make_line(const std::string& task, const Json& value) {
  const std::string text = value.dump();
  std::string line(kTask);
  line += task;
  line += kCheck;
  line += checksum(text);
  line += kValue;
  line += text;
  line += "}\n";
  return line;
}

struct Pieces {
  std::string_view task, value;
};

// The pieces of a line without its end; nothing if it is not such a line or its checksum does not fit.
std::optional<Pieces> split_line(std::string_view line) {
  if (!line.starts_with(kTask) || !line.ends_with('}')) return std::nullopt;
  line.remove_prefix(kTask.size());
  const std::size_t end = line.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view task = line.substr(0, end);
  line.remove_prefix(end);
  if (!line.starts_with(kCheck) || line.size() < kCheck.size() + 16) return std::nullopt;
  const std::string_view check = line.substr(kCheck.size(), 16);
  line.remove_prefix(kCheck.size() + 16);
  if (!line.starts_with(kValue) || line.size() <= kValue.size()) return std::nullopt;
  const std::string_view value = line.substr(kValue.size(), line.size() - kValue.size() - 1);
  if (checksum(value) != check) return std::nullopt;
  return Pieces{task, value};
}

[[noreturn]] void damaged(const std::string& path, std::uint64_t line) {
  throw ContentError(path + ": line " + std::to_string(line) +
                     " is damaged, expected an undamaged work file of this program");
}

}  // namespace

std::string task_id(const Json& definition) { return checksum(definition.dump()); }

WorkFileReader::WorkFileReader(const std::string& path) : path_(path) {
  if (std::filesystem::is_directory(path)) throw FileError("cannot read '" + path + "': it is a directory");
  file_.open(path, std::ios::binary);
  if (!file_) throw FileError("cannot read '" + path + "': " + std::strerror(errno));
  std::string line;
  for (std::uint64_t number = 1; std::getline(file_, line); ++number) {
    if (file_.eof()) {  // no end of line
      rest_ = line;
      break;
    }
    const auto pieces = split_line(line);
    if (!pieces || (number == 1) != (pieces->task == "header")) damaged(path, number);
    if (number == 1) {
      header_ = parse_json(path, std::string(pieces->value), {"schema", "parameters"});
      if (!header_.is_object()) damaged(path, number);
    } else if (!lines_.emplace(pieces->task, Line{complete_, line.size(), number}).second) {
      throw ContentError(path + ": line " + std::to_string(number) + " repeats a finished task");
    }
    complete_ += line.size() + 1;
  }
  if (file_.bad()) throw FileError("cannot read '" + path + "': " + std::strerror(errno));
}

Json WorkFileReader::value(const std::string& task) {
  const Line& at = lines_.at(task);
  std::string line(at.length, '\0');
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(at.offset));
  if (!file_.read(line.data(), static_cast<std::streamsize>(line.size())))
    throw FileError("cannot read '" + path_ +
                    "': " + (file_.eof() ? "it has become shorter" : std::strerror(errno)));
  const auto pieces = split_line(line);
  if (!pieces) damaged(path_, at.number);
  return parse_json(path_, std::string(pieces->value), {}, at.number);
}

std::vector<std::string> WorkFileReader::tasks() const {
  std::vector<std::string> ids;
  for (const auto& [task, line] : lines_) ids.push_back(task);
  return ids;
}

void require_header(const std::string& path, const Json& found, const Json& expected) {
  if (found == expected) return;
  auto shown = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json.at(key).dump() : "not there";
  };
  auto refuse = [&](const std::string& key, const Json& there, const Json& here) {
    throw ContentError(path + ": belongs to another run: " + key + " is " + shown(there, key) +
                       " in the file, expected " + shown(here, key));
  };
  if (shown(found, "schema") != shown(expected, "schema")) refuse("schema", found, expected);
  const Json there = found.value("parameters", Json::object()),
             here = expected.value("parameters", Json::object());
  for (const auto& [key, value] : here.items())
    if (shown(there, key) != value.dump()) refuse(key, there, here);
  for (const auto& [key, value] : there.items())
    if (!here.contains(key)) refuse(key, there, here);
  throw ContentError(path + ": belongs to another run");
}

WorkFile::WorkFile(const std::string& path, const Json& header) : path_(path) {
  auto fail = [&](const std::string& why) {
    if (descriptor_ >= 0) close(descriptor_);
    throw FileError("cannot write '" + path + "': " + why);
  };
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(std::strerror(errno));
  struct stat about {};
  if (fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) fail("it is not a regular file");
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) fail("another run is using it");
  try {
    WorkFileReader reader(path);
    std::uint64_t keep = reader.complete_bytes();
    const std::string first_line = make_line("header", header);
    if (reader.header().is_null()) {
      // The beginning of this run's own header counts as an empty file, anything else is not ours to change.
      if (!first_line.starts_with(reader.rest())) damaged(path, 1);
      keep = 0;
    } else {
      require_header(path, reader.header(), header);
      for (const std::string& task : reader.tasks()) finished_[task] = true;
    }
    if (!reader.rest().empty()) {
      repaired_ = true;
      if (ftruncate(descriptor_, static_cast<off_t>(keep)) != 0) fail(std::strerror(errno));
    }
    if (keep == 0) add("header", header);
  } catch (const ContentError&) {
    close(descriptor_);
    throw;
  }
  finished_.erase("header");
}

WorkFile::~WorkFile() { close(descriptor_); }

void WorkFile::add(const std::string& task, const Json& value) {
  const std::string line = make_line(task, value);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
  finished_[task] = true;
}

}  // namespace qksolve::results

// Lines and words of a text, for the readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qksolve::training {

// The lines of a text without their ends, \n or \r\n.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  std::int64_t number() const { return number_; }  // of the line that was read last, from 1

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

inline std::vector<std::string_view> pieces_between(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  for (std::size_t i = text.find_first_not_of(separators); i != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, i), text.size());
    pieces.push_back(text.substr(i, end - i));
    i = text.find_first_not_of(separators, end);
  }
  return pieces;
}
inline std::vector<std::string_view> pieces_between_blanks(std::string_view text) {
  return pieces_between(text, " \t\r\f\v");
}

// ASCII letters.
inline std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace qksolve::training

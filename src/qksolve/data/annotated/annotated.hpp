// Classified texts in which the tokens that tell the class are marked.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "qksolve/data/text.hpp"

namespace qksolve::training {

// Different strings, numbered from 0 in order of appearance.
class Names {
 public:
  Names() = default;
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  std::int32_t number(std::string_view name);  // a new name is added
  const std::string& operator[](std::int32_t number) const {
    return names_[static_cast<std::size_t>(number)];
  }
  std::int32_t size() const { return static_cast<std::int32_t>(names_.size()); }

 private:
  std::deque<std::string> names_;  // that do not move
  std::unordered_map<std::string_view, std::int32_t> numbers_;
};

struct AnnotatedExample {
  std::vector<std::int32_t> tokens;  // numbers in AnnotatedText::words, at least one
  std::vector<double> relevant;      // as many, each in [0, 1]
  std::vector<std::int32_t> tags;    // numbers in AnnotatedText::tags, as many or none
  std::int32_t label = 0;            // number in AnnotatedText::labels
  bool validation = false;
  std::string group;  // what it comes from; may be empty
};

// `tags` stand for tokens that are not in a vocabulary, for instance parts of speech.
struct AnnotatedText {
  Names words, tags, labels;
  std::vector<AnnotatedExample> examples;
  std::vector<std::pair<std::string, std::int64_t>> left_out;  // why, and how many

  void leave_out(const std::string& why);
};

// Throws TextError where a study is impossible: no training or no validation example, a single class, a class
// without training example, no relevant token at all, no token with a letter.
void require_usable(const AnnotatedText& text);

// Whether the text with this checksum (CRC-32) is one of the tenth that is validation.
bool is_validation(std::string_view text);

// Examples as numbers of a vocabulary, one after the other.
struct TokenizedExamples {
  std::vector<std::int32_t> tokens;  // of all examples
  std::vector<std::int64_t> first;   // where each example begins, and the end of the last
  std::vector<double> relevant;      // of all tokens
  std::vector<std::int32_t> labels;  // of each example
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  std::int64_t length(std::int64_t i) const {
    return first[static_cast<std::size_t>(i) + 1] - first[static_cast<std::size_t>(i)];
  }
};

struct TokenizedText {
  std::int32_t vocabulary = 0, classes = 0;
  TokenizedExamples training, validation;
  double known_words = 1;  // share of the validation tokens that are words of the vocabulary
};

// The vocabulary: the `words` most frequent words that come at least twice in training (equals in order of
// their bytes), then the tags of tokens, then any other word. words >= 1.
TokenizedText tokenize(const AnnotatedText& text, std::int64_t words);

}  // namespace qksolve::training

#include "qksolve/data/annotated/annotated.hpp"

#include <algorithm>
#include <boost/crc.hpp>

namespace qksolve::training {

std::int32_t Names::number(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  names_.emplace_back(name);
  return numbers_[names_.back()] = size() - 1;
}

void AnnotatedText::leave_out(const std::string& why) {
  const auto found =
      std::find_if(left_out.begin(), left_out.end(), [&](const auto& entry) { return entry.first == why; });
  if (found == left_out.end())
    left_out.emplace_back(why, 1);
  else
    ++found->second;
}

void require_usable(const AnnotatedText& text) {
  std::vector<std::int64_t> training(static_cast<std::size_t>(text.labels.size()), 0);
  std::int64_t validation = 0;
  bool relevant = false;
  for (const AnnotatedExample& x : text.examples) {
    if (x.validation)
      ++validation;
    else
      ++training[static_cast<std::size_t>(x.label)];
    relevant = relevant || std::any_of(x.relevant.begin(), x.relevant.end(), [](double w) { return w > 0; });
  }
  if (text.examples.empty()) throw TextError("holds no example, expected some for training and validation");
  if (validation == 0) throw TextError("holds no example for validation, expected at least one");
  if (validation == static_cast<std::int64_t>(text.examples.size()))
    throw TextError("holds no example for training, expected at least one of every class");
  for (std::int32_t label = 0; label < text.labels.size(); ++label)
    if (training[static_cast<std::size_t>(label)] == 0)
      throw TextError("the class '" + text.labels[label] +
                      "' is in the validation examples only, expected at least one training example of it");
  if (text.labels.size() < 2)
    throw TextError("all examples are of the class '" + text.labels[0] + "', expected at least two classes");
  if (!relevant) throw TextError("no token is relevant, expected some in at least one example");
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  for (std::int32_t word = 0; word < text.words.size(); ++word)
    if (std::any_of(text.words[word].begin(), text.words[word].end(), is_letter)) return;
  throw TextError("no token holds a letter, expected words");
}

bool is_validation(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return crc.checksum() % 10 == 9;
}

TokenizedText tokenize(const AnnotatedText& text, std::int64_t words) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(text.words.size()), 0);
  for (const AnnotatedExample& x : text.examples)
    if (!x.validation)
      for (const std::int32_t word : x.tokens) ++counts[static_cast<std::size_t>(word)];
  std::vector<std::int32_t> ranked;
  for (std::int32_t word = 0; word < text.words.size(); ++word)
    if (counts[static_cast<std::size_t>(word)] >= 2) ranked.push_back(word);
  std::sort(ranked.begin(), ranked.end(), [&](std::int32_t a, std::int32_t b) {
    const std::int64_t count_a = counts[static_cast<std::size_t>(a)],
                       count_b = counts[static_cast<std::size_t>(b)];
    return count_a != count_b ? count_a > count_b : text.words[a] < text.words[b];
  });
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(words)));
  const auto known = static_cast<std::int32_t>(ranked.size());
  std::vector<std::int32_t> place(static_cast<std::size_t>(text.words.size()), -1);
  for (std::int32_t i = 0; i < known; ++i)
    place[static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)])] = i;

  TokenizedText tokenized;
  tokenized.vocabulary = known + text.tags.size() + 1;
  tokenized.classes = text.labels.size();
  tokenized.training.first = tokenized.validation.first = {0};
  std::int64_t found = 0;
  for (const AnnotatedExample& x : text.examples) {
    TokenizedExamples& to = x.validation ? tokenized.validation : tokenized.training;
    for (std::size_t l = 0; l < x.tokens.size(); ++l) {
      const std::int32_t word = place[static_cast<std::size_t>(x.tokens[l])];
      if (x.validation && word >= 0) ++found;
      to.tokens.push_back(word >= 0 ? word : x.tags.empty() ? tokenized.vocabulary - 1 : known + x.tags[l]);
    }
    to.relevant.insert(to.relevant.end(), x.relevant.begin(), x.relevant.end());
    to.labels.push_back(x.label);
    to.first.push_back(static_cast<std::int64_t>(to.tokens.size()));
  }
  tokenized.known_words = static_cast<double>(found) /
                          static_cast<double>(std::max<std::size_t>(1, tokenized.validation.tokens.size()));
  return tokenized;
}

}  // namespace qksolve::training

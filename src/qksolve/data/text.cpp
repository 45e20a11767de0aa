#include "qksolve/data/text.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "qksolve/numerics/random_integers.hpp"

namespace qksolve::training {

namespace {

constexpr std::size_t kValidationEvery = 10;
constexpr std::uint64_t kBlocks = 3, kSentences = 4;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\'' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// With their line ends or blanks, so that they join to the text again; the last gets a line end.
std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  std::size_t first = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stop = text[i] == '.' || text[i] == '!' || text[i] == '?';
    const bool ends = text[i] == '\n' || (stop && i + 1 < text.size() && is_blank(text[i + 1]));
    if (!ends && i + 1 < text.size()) continue;
    std::size_t end = i + 1;
    while (end < text.size() && is_blank(text[end])) ++end;
    std::string sentence(text.substr(first, end - first));
    if (!is_blank(sentence.back())) sentence += '\n';
    sentences.push_back(std::move(sentence));
    first = end;
    i = end - 1;
  }
  return sentences;
}

void shuffle_sentences(std::vector<std::string>& documents, std::uint64_t row) {
  std::vector<std::string> all;
  std::vector<std::size_t> counts;
  for (const std::string& document : documents) {
    std::vector<std::string> sentences = sentences_of(document);
    counts.push_back(sentences.size());
    std::move(sentences.begin(), sentences.end(), std::back_inserter(all));
  }
  numerics::RandomIntegers({0, 0, 0, kSentences}, row).shuffle(all);
  auto next = all.begin();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    documents[i].clear();
    for (std::size_t k = 0; k < counts[i]; ++k) documents[i] += *next++;
  }
}

}  // namespace

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == i) ++end;
    if (!is_blank(text[i])) {
      Word word{std::string(text.substr(i, end - i)), i, end};
      for (char& c : word.text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      words.push_back(std::move(word));
    }
    i = end;
  }
  return words;
}

// RFC 3629, section 4: what the first byte says of the second keeps out overlong forms, surrogates and what
// lies beyond U+10FFFF.
bool is_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
    const unsigned first = byte(0);
    if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4) return false;
    const std::size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (text.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((byte(k) & 0xc0) != 0x80) return false;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
      return false;
    i += more + 1;
  }
  return true;
}

Text make_text(const std::vector<std::string>& documents, const TextOptions& options) {
  if (options.level == Level::word && options.vocabulary < 3)
    throw std::invalid_argument("a vocabulary of words has at least 3 tokens");
  std::vector<std::string> training, validation;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!is_text(documents[i])) throw TextError("document " + std::to_string(i + 1) + " is not UTF-8 text");
    // With fewer than ten documents the last is validation.
    const bool last = i + 1 == documents.size() && documents.size() < kValidationEvery;
    (i % kValidationEvery == kValidationEvery - 1 || last ? validation : training).push_back(documents[i]);
  }
  if (training.empty() || validation.empty())
    throw TextError("holds " + std::to_string(documents.size()) +
                    " documents, expected at least 2, one to train on and one for validation");
  if (options.shuffle_sentences) {
    shuffle_sentences(training, 0);
    shuffle_sentences(validation, 1);
  }

  Text text;
  text.documents = static_cast<std::int64_t>(documents.size());
  if (options.level == Level::byte) {
    text.vocabulary = 256;
    for (auto [from, to] : {std::pair(&training, &text.training), std::pair(&validation, &text.validation)})
      for (const std::string& document : *from) {
        to->push_back(0);
        for (const char c : document) to->push_back(static_cast<unsigned char>(c));
      }
  } else {
    std::vector<std::vector<Word>> words;
    std::unordered_map<std::string, std::int64_t> counts;
    for (const std::string& document : training) {
      words.push_back(words_of(document));
      for (const Word& word : words.back()) ++counts[word.text];
    }
    std::vector<std::pair<std::string, std::int64_t>> ranked(counts.begin(), counts.end());
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
    });
    constexpr std::int64_t kBegin = 0, kOther = 1, kFirstWord = 2;
    ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(options.vocabulary - kFirstWord)));
    std::unordered_map<std::string, std::int64_t> token;
    for (std::size_t i = 0; i < ranked.size(); ++i)
      token[ranked[i].first] = kFirstWord + static_cast<std::int64_t>(i);
    text.vocabulary = kFirstWord + static_cast<std::int64_t>(ranked.size());
    auto append = [&](const std::vector<Word>& document, std::vector<std::int64_t>& to) {
      to.push_back(kBegin);
      for (const Word& word : document) {
        const auto found = token.find(word.text);
        to.push_back(found == token.end() ? kOther : found->second);
      }
    };
    for (const auto& document : words) append(document, text.training);
    for (const std::string& document : validation) append(words_of(document), text.validation);
    text.known_words =
        1 - static_cast<double>(std::count(text.validation.begin(), text.validation.end(), kOther)) /
                static_cast<double>(text.validation.size());
  }
  auto require = [&](const char* part, const std::vector<std::int64_t>& tokens, std::int64_t blocks) {
    if (static_cast<std::int64_t>(tokens.size()) <= blocks * options.context)
      throw TextError(std::string("its ") + part + " part holds " + std::to_string(tokens.size()) +
                      " tokens, expected at least " + std::to_string(blocks * options.context + 1) + ", " +
                      (blocks == 1 ? "a block" : "two blocks") + " of context " +
                      std::to_string(options.context));
  };
  require("training", text.training, 1);
  require("validation", text.validation, 2);
  return text;
}

Task text_task(Text given, std::int64_t context, std::int64_t validation_sequences) {
  const auto text = std::make_shared<const Text>(std::move(given));
  auto block = [context](Batch& batch, const std::vector<std::int64_t>& stream, std::int64_t start) {
    const auto first = stream.begin() + start;
    for (std::int64_t i = 0; i < context; ++i)
      batch.places.push_back(static_cast<std::int64_t>(batch.tokens.size()) + i);
    batch.tokens.insert(batch.tokens.end(), first, first + context);
    batch.targets.insert(batch.targets.end(), first + 1, first + context + 1);
  };
  Task task;
  task.vocabulary = text->vocabulary;
  task.context = context;
  task.training = [=](std::uint64_t seed, std::int64_t first, std::int64_t count) {
    Batch batch{count, context, {}, {}, {}};
    const auto starts =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(text->training.size()) - context);
    for (std::int64_t s = first; s < first + count; ++s)
      block(
          batch, text->training,
          static_cast<std::int64_t>(
              numerics::RandomIntegers({seed, 0, 0, kBlocks}, static_cast<std::uint64_t>(s)).below(starts)));
    return batch;
  };
  const std::int64_t blocks = (static_cast<std::int64_t>(text->validation.size()) - 1) / context;
  task.validation_sequences = std::min(blocks, validation_sequences);
  task.validation = [=, used = task.validation_sequences](std::int64_t first, std::int64_t count) {
    Batch batch{count, context, {}, {}, {}};
    for (std::int64_t s = first; s < first + count; ++s)
      block(batch, text->validation, s * blocks / used * context);
    return batch;
  };
  return task;
}

}  // namespace qksolve::training

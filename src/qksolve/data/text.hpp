// Language modelling on any UTF-8 text.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "qksolve/data/task.hpp"

namespace qksolve::training {

enum class Level { byte, word };

struct TextOptions {
  Level level = Level::word;
  std::int64_t context = 256;
  std::int64_t vocabulary = 4096;  // at most; of words, at least 3 (byte level: 256 in any case)
  bool shuffle_sentences = false;
};

// A text that cannot be used: not UTF-8, or too short.
class TextError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Documents as streams of tokens. Every tenth document, by their order, is validation. Words are runs of
// letters, digits, apostrophes and non-ASCII bytes, in lower case, and other signs by themselves; the
// vocabulary is that of the training documents, the most frequent first (equals in order of their bytes),
// behind token 0, the beginning of a document, and token 1, any other word. Bytes are their own tokens, 0 is
// the beginning of a document.
//
// shuffle_sentences: the sentences of all training documents change places at random, and those of all
// validation documents likewise, each document keeping the number it had; a sentence ends at the end of a
// line or after a '.', '!' or '?' that a blank follows.
struct Text {
  std::int64_t documents = 0, vocabulary = 0;
  std::vector<std::int64_t> training, validation;  // tokens
  double known_words = 1;  // share of the validation tokens that are not "any other word"
};

// A word, and where it stands: bytes first ... end - 1.
struct Word {
  std::string text;
  std::size_t first = 0, end = 0;
};
std::vector<Word> words_of(std::string_view text);

// Whether it is UTF-8 without zero bytes.
bool is_text(std::string_view text);

// Throws TextError for a document that is not (its number in the message), where there are fewer than two
// documents, where training has no context + 1 tokens or validation, whose errors come from the scatter
// between blocks, no 2 context + 1; std::invalid_argument for a vocabulary of fewer than 3 words.
Text make_text(const std::vector<std::string>& documents, const TextOptions& options);

// Training sequences begin anywhere in the training stream; validation sequences do not overlap and are
// spread evenly over the validation stream, at most `validation_sequences` of them. Scored is every next
// token.
Task text_task(Text text, std::int64_t context, std::int64_t validation_sequences);

}  // namespace qksolve::training

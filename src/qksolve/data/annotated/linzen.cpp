#include <array>
#include <charconv>

#include "qksolve/data/annotated/readers.hpp"
#include "qksolve/data/annotated/text_pieces.hpp"

namespace qksolve::training {
namespace {

constexpr const char* kColumns[] = {
    "sentence",         "orig_sentence",      "pos_sentence", "verb",       "subj",       "subj_pos",
    "has_rel",          "has_nsubj",          "verb_pos",     "subj_index", "verb_index", "n_intervening",
    "last_intervening", "n_diff_intervening", "distance",     "max_depth",  "all_nouns",  "nouns_up_to_verb"};
constexpr std::size_t kCount = std::size(kColumns);
constexpr std::size_t kSentence = 0, kOriginal = 1, kTags = 2, kVerb = 3, kSubject = 4, kVerbTag = 8,
                      kSubjectIndex = 9, kVerbIndex = 10;

// Fields between tabs; one in quotes may hold tabs, and quotes doubled.
std::vector<std::string> fields_of(std::string_view line, const std::string& place) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    std::string field;
    if (i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i >= line.size()) throw TextError(place + ": a quote is not closed");
        if (line[i] != '"')
          field += line[i];
        else if (i + 1 < line.size() && line[i + 1] == '"')
          field += line[i++];
        else
          break;
      }
      if (++i < line.size() && line[i] != '\t')
        throw TextError(place + ": '" + line[i] + "' follows a closing quote, expected a tab");
    } else {
      const std::size_t end = std::min(line.find('\t', i), line.size());
      field = line.substr(i, end - i);
      i = end;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

AnnotatedText read_linzen(std::string_view file, SentenceInput input) {
  AnnotatedText text;
  LineReader lines(file);
  for (std::string_view line; lines.next(line);) {
    const std::string place = "line " + std::to_string(lines.number());
    const std::vector<std::string> fields = fields_of(line, place);
    if (fields.size() != kCount)
      throw TextError(place + ": " + std::to_string(fields.size()) + " columns, expected " +
                      std::to_string(kCount) + " between tabs");
    if (lines.number() == 1) {
      for (std::size_t i = 0; i < kCount; ++i)
        if (fields[i] != kColumns[i])
          throw TextError(place + ": column " + std::to_string(i + 1) + " is '" + fields[i] +
                          "', expected '" + kColumns[i] + "'");
      continue;
    }
    const auto words = pieces_between_blanks(fields[kOriginal]), tags = pieces_between_blanks(fields[kTags]);
    if (words.size() != tags.size() || words.size() != pieces_between_blanks(fields[kSentence]).size())
      throw TextError(place + ": sentence, orig_sentence and pos_sentence differ in length");
    // Of a word that a column repeats; from 1.
    const auto index = [&](std::size_t column, std::size_t repeated) {
      const std::string& digits = fields[column];
      std::size_t value = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > words.size())
        throw TextError(place + ": " + kColumns[column] + " is '" + digits + "', expected one of 1 to " +
                        std::to_string(words.size()));
      if (words[value - 1] != fields[repeated])
        throw TextError(place + ": word " + digits + " is '" + std::string(words[value - 1]) +
                        "', expected the " + kColumns[repeated] + " '" + fields[repeated] + "'");
      return value - 1;
    };
    const std::size_t subject = index(kSubjectIndex, kSubject), verb = index(kVerbIndex, kVerb);
    const std::string& tag = fields[kVerbTag];
    if (tag != "VBZ" && tag != "VBP")
      throw TextError(place + ": verb_pos is '" + tag + "', expected VBZ or VBP");
    if (input == SentenceInput::prefix && subject >= verb) {
      text.leave_out("the subject follows the verb");
      continue;
    }
    AnnotatedExample example;
    for (std::size_t l = 0; l < (input == SentenceInput::prefix ? verb : words.size()); ++l) {
      example.tokens.push_back(text.words.number(in_lower_case(words[l])));
      example.tags.push_back(text.tags.number(tags[l]));
      example.relevant.push_back(l == subject || l == verb ? 1 : 0);
    }
    example.label = text.labels.number(tag == "VBZ" ? "singular" : "plural");
    example.validation = is_validation(fields[kOriginal]);
    text.examples.push_back(std::move(example));
  }
  return text;
}

}  // namespace qksolve::training

// The format: wndb(5WN) of WordNet 3.0.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

#include "qksolve/data/annotated/readers.hpp"
#include "qksolve/data/annotated/text_pieces.hpp"

namespace qksolve::training {
namespace {

// Lexicographer files 3 to 28, lexnames(5WN).
constexpr const char* kClasses[] = {
    "tops",          "act",    "animal",     "artifact",  "attribute",  "body",     "cognition",
    "communication", "event",  "feeling",    "food",      "group",      "location", "motive",
    "object",        "person", "phenomenon", "plant",     "possession", "process",  "quantity",
    "relation",      "shape",  "state",      "substance", "time"};
constexpr int kFirstFile = 3;
constexpr std::size_t kShortest = 3;

struct Synset {
  std::string_view offset, gloss;
  int file = 0;
  std::vector<std::string_view> words, hypernyms;  // of hypernyms the offsets
};

std::optional<int> number(std::string_view text, int base) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// offset file type count word id ... count {pointer offset type fields} ... | gloss
Synset parse(std::string_view line, std::int64_t line_number) {
  const auto wrong = [&](const std::string& what) {
    return TextError("line " + std::to_string(line_number) + ": " + what +
                     ", expected a noun of WordNet's data.noun");
  };
  const std::size_t bar = line.find(" | ");
  if (bar == std::string_view::npos) throw wrong("no ' | ' before a gloss");
  const std::vector<std::string_view> fields = pieces_between(line.substr(0, bar), " ");
  std::size_t i = 0;
  const auto next = [&]() -> std::string_view {
    if (i == fields.size()) throw wrong("the fields end too early");
    return fields[i++];
  };
  const auto count = [&](int base) {
    const std::string_view text = next();
    const std::optional<int> value = number(text, base);
    if (!value) throw wrong("'" + std::string(text) + "' is no number");
    return *value;
  };
  Synset synset;
  synset.gloss = line.substr(bar + 3);
  synset.offset = next();
  if (synset.offset.size() != 8 || !number(synset.offset, 10))
    throw wrong("'" + std::string(synset.offset) + "' is no offset of eight digits");
  synset.file = count(10) - kFirstFile;
  if (synset.file < 0 || synset.file >= static_cast<int>(std::size(kClasses)))
    throw wrong("lexicographer file " + std::to_string(synset.file + kFirstFile) + " holds no nouns");
  if (const std::string_view type = next(); type != "n") throw wrong("type '" + std::string(type) + "'");
  for (int words = count(16); words > 0; --words) {
    synset.words.push_back(next());
    next();
  }
  for (int pointers = count(10); pointers > 0; --pointers) {
    const std::string_view symbol = next(), offset = next(), type = next();
    next();
    if ((symbol == "@" || symbol == "@i") && type == "n") synset.hypernyms.push_back(offset);
  }
  if (i != fields.size()) throw wrong("'" + std::string(fields[i]) + "' follows the last pointer");
  return synset;
}

// Before the examples, which are in quotes, and without what is in parentheses.
std::string definition_of(std::string_view gloss) {
  gloss = gloss.substr(0, gloss.find("; \""));
  std::string found;
  for (std::size_t i = 0; i < gloss.size(); ++i) {
    if (gloss[i] == '(') {  // an innermost pair
      const std::size_t end = gloss.find_first_of("()", i + 1);
      if (end != std::string_view::npos && gloss[end] == ')') {
        found += ' ';
        i = end;
        continue;
      }
    }
    found += gloss[i];
  }
  return found;
}

}  // namespace

AnnotatedText read_glosses(std::string_view file) {
  std::vector<Synset> synsets;
  std::unordered_map<std::string_view, std::size_t> at;
  LineReader lines(file);
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with("  ")) continue;  // the licence
    synsets.push_back(parse(line, lines.number()));
    at[synsets.back().offset] = synsets.size() - 1;
  }
  AnnotatedText text;
  for (const Synset& synset : synsets) {
    if (synset.hypernyms.empty()) {
      text.leave_out("no hypernym");
      continue;
    }
    std::set<std::string> heads;
    for (const std::string_view offset : synset.hypernyms) {
      const auto hypernym = at.find(offset);
      if (hypernym == at.end())
        throw TextError("synset " + std::string(synset.offset) + ": its hypernym " + std::string(offset) +
                        " is not in the file");
      for (const std::string_view word : synsets[hypernym->second].words) {
        const std::string last = in_lower_case(word.substr(word.rfind('_') + 1));
        heads.insert({last, last + "s", last + "es"});
        if (last.ends_with('y')) heads.insert(last.substr(0, last.size() - 1) + "ies");
      }
    }
    AnnotatedExample example;
    std::string joined;
    bool any = false;
    for (const Word& word : words_of(definition_of(synset.gloss))) {
      example.tokens.push_back(text.words.number(word.text));
      example.relevant.push_back(heads.contains(word.text) ? 1 : 0);
      any = any || example.relevant.back() > 0;
      joined += (joined.empty() ? "" : " ") + word.text;
    }
    if (example.tokens.size() < kShortest || !any) {
      text.leave_out(any ? "fewer than three tokens" : "no hypernym in the definition");
      continue;
    }
    example.label = text.labels.number(kClasses[synset.file]);
    example.validation = is_validation(joined);
    example.group = synset.offset;
    text.examples.push_back(std::move(example));
  }
  return text;
}

}  // namespace qksolve::training

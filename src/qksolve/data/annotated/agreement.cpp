// Tags: W. N. Francis & H. Kucera, Brown Corpus Manual (1979).
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/data/annotated/readers.hpp"
#include "qksolve/data/annotated/text_pieces.hpp"

namespace qksolve::training {
namespace {

using Tag = std::string_view;

template <std::size_t n>
bool among(const std::array<Tag, n>& tags, Tag tag) {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

bool singular_noun(Tag t) { return among(std::array<Tag, 3>{"nn", "np", "nr"}, t); }
bool plural_noun(Tag t) { return among(std::array<Tag, 3>{"nns", "nps", "nrs"}, t); }
bool noun(Tag t) { return singular_noun(t) || plural_noun(t); }
bool singular_verb(Tag t) { return among(std::array<Tag, 5>{"bez", "vbz", "hvz", "doz", "bedz"}, t); }
bool base_verb(Tag t) { return among(std::array<Tag, 3>{"vb", "hv", "do"}, t); }  // or present plural
bool plural_verb(Tag t) { return t == "ber" || t == "bed" || base_verb(t); }
bool verb(Tag t) {
  return singular_verb(t) || plural_verb(t) ||
         among(std::array<Tag, 10>{"vbd", "be", "hvd", "dod", "md", "vbg", "vbn", "ben", "beg", "hvg"}, t) ||
         t == "bem";
}
bool adverb(Tag t) { return among(std::array<Tag, 4>{"rb", "ql", "rbr", "rbt"}, t); }
bool determiner(Tag t) {
  return among(std::array<Tag, 10>{"at", "dt", "dti", "dts", "dtx", "pp$", "abn", "abx", "abl", "wp$"}, t);
}
bool modifier(Tag t) {  // adjectives, numbers, participles, possessives
  return among(std::array<Tag, 9>{"jj", "jjr", "jjs", "jjt", "ap", "cd", "od", "vbn", "vbg"}, t) ||
         among(std::array<Tag, 5>{"nn$", "nns$", "np$", "nps$", "nr$"}, t);
}
bool begins_clause(Tag t) {  // if it stands before a subject
  return among(std::array<Tag, 13>{",", "cs", "wrb", "wdt", "``", "''", "'", ".", ";", ":", "--", "(", "rb"},
               t);
}

// "jj-tl-hl" is jj, "bez*" is bez, "*" itself stays.
std::string normalised(std::string tag) {
  for (bool again = true; again;) {
    again = false;
    for (const char* suffix : {"-tl", "-hl", "-nc"})
      if (tag.size() > 3 && tag.ends_with(suffix)) {
        tag.resize(tag.size() - 3);
        again = true;
      }
  }
  if (tag.size() > 1) tag.erase(std::remove(tag.begin(), tag.end(), '*'), tag.end());
  return tag;
}

struct Sentence {
  std::vector<std::string> words, tags;

  Tag tag(std::ptrdiff_t i) const { return i < 0 ? Tag() : Tag(tags[static_cast<std::size_t>(i)]); }
};

// Where the noun phrase that ends with the noun at `head` begins: nouns, then what stands before nouns, up to
// a determiner.
std::ptrdiff_t phrase_start(const Sentence& s, std::ptrdiff_t head) {
  std::ptrdiff_t start = head;
  while (noun(s.tag(start - 1))) --start;
  while (modifier(s.tag(start - 1))) --start;
  return determiner(s.tag(start - 1)) ? start - 1 : start;
}

// The subject that the verb at `at` agrees with, if the rule finds one.
std::optional<std::ptrdiff_t> subject_of(const Sentence& s, std::ptrdiff_t at) {
  std::ptrdiff_t head = at - 1;
  while (adverb(s.tag(head))) --head;
  if (!noun(s.tag(head))) return std::nullopt;
  std::ptrdiff_t start = phrase_start(s, head);
  while (s.tag(start - 1) == "in") {
    head = start - 2;
    if (!noun(s.tag(head))) return std::nullopt;
    start = phrase_start(s, head);
  }
  const Tag left = s.tag(start - 1);
  if (base_verb(s.tag(at)) && verb(left)) return std::nullopt;
  if (start > 0 && !begins_clause(left)) return std::nullopt;
  if (singular_noun(s.tag(head)) != singular_verb(s.tag(at))) return std::nullopt;
  return head;
}

Sentence parse(std::string_view line, const std::string& place) {
  Sentence sentence;
  for (const std::string_view token : pieces_between_blanks(line)) {
    const std::size_t slash = token.rfind('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == token.size())
      throw TextError(place + ": '" + std::string(token) + "' is no word with its tag, expected word/tag");
    sentence.words.push_back(in_lower_case(token.substr(0, slash)));
    sentence.tags.push_back(normalised(std::string(token.substr(slash + 1))));
  }
  return sentence;
}

}  // namespace

AnnotatedText read_agreement(const std::vector<std::string>& documents, SentenceInput input) {
  AnnotatedText text;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    LineReader lines(documents[d]);
    for (std::string_view line; lines.next(line);) {
      const Sentence s =
          parse(line, "document " + std::to_string(d + 1) + ", line " + std::to_string(lines.number()));
      for (std::ptrdiff_t at = 0; at < std::ssize(s.tags); ++at) {
        if (!singular_verb(s.tag(at)) && !plural_verb(s.tag(at))) continue;
        const std::optional<std::ptrdiff_t> subject = subject_of(s, at);
        if (!subject) continue;
        AnnotatedExample example;
        const std::ptrdiff_t length = input == SentenceInput::prefix ? at : std::ssize(s.tags);
        for (std::ptrdiff_t l = 0; l < length; ++l) {
          const auto i = static_cast<std::size_t>(l);
          example.tokens.push_back(text.words.number(s.words[i]));
          example.tags.push_back(text.tags.number(s.tags[i]));
          example.relevant.push_back(l == *subject || l == at ? 1 : 0);
        }
        example.label = text.labels.number(singular_verb(s.tag(at)) ? "singular" : "plural");
        example.validation = d % 10 == 9;
        example.group = "document " + std::to_string(d + 1);
        text.examples.push_back(std::move(example));
      }
    }
  }
  return text;
}

}  // namespace qksolve::training

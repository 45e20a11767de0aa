// The rule for subject and verb on sentences tagged by hand, and what a reader makes of them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/annotated/annotated_files.hpp"
#include "qksolve/data/annotated/readers.hpp"

using namespace qksolve::training;
using namespace qksolve::test;

namespace {

// "subject-verb" of each example, with commas between, from whole sentences.
std::string pairs_of(const AnnotatedText& text) {
  std::string pairs;
  for (const AnnotatedExample& x : text.examples) {
    std::string pair;
    for (std::size_t l = 0; l < x.tokens.size(); ++l)
      if (x.relevant[l] > 0) pair += (pair.empty() ? "" : "-") + text.words[x.tokens[l]];
    pairs += (pairs.empty() ? "" : ",") + pair;
  }
  return pairs;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

TEST_CASE("the rule takes and drops the subjects that it should") {
  std::ifstream file(std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/agreement.txt");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t tab = line.find('\t');
    REQUIRE(tab != std::string::npos);
    const std::string expected = line.substr(0, tab), sentence = line.substr(tab + 1);
    CAPTURE(sentence);
    CHECK(pairs_of(read_agreement({sentence}, SentenceInput::sentence)) ==
          (expected == "-" ? "" : lower(expected)));
    ++count;
  }
  CHECK(count >= 30);
}

TEST_CASE("the text of an agreement example ends before the verb, and its subject is relevant") {
  const AnnotatedText text =
      read_agreement({"The/at old/jj-tl dogs/nns often/rb bark/vb ./.\n\nA/at dog/nn barks/vbz ./.\n"},
                     SentenceInput::prefix);
  REQUIRE(text.examples.size() == 2);
  const AnnotatedExample& x = text.examples[0];
  CHECK(strings(text.words, x.tokens) == std::vector<std::string>{"the", "old", "dogs", "often"});
  CHECK(strings(text.tags, x.tags) == std::vector<std::string>{"at", "jj", "nns", "rb"});
  CHECK(x.relevant == std::vector<double>{0, 0, 1, 0});
  CHECK(text.labels[x.label] == "plural");
  CHECK(text.labels[text.examples[1].label] == "singular");
}

TEST_CASE("every tenth document is validation") {
  const std::vector<std::string> documents(20, "A/at dog/nn barks/vbz ./.");
  const AnnotatedText text = read_agreement(documents, SentenceInput::prefix);
  REQUIRE(text.examples.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) CHECK(text.examples[i].validation == (i % 10 == 9));
}

TEST_CASE("a word without tag is named with document and line") {
  CHECK(text_error([] {
          read_agreement({"A/at dog/nn", "A/at\ndog barks/vbz"}, SentenceInput::prefix);
        }) == "document 2, line 2: 'dog' is no word with its tag, expected word/tag");
  for (const std::string bad : {"/nn", "dog/"})
    CHECK(text_error([&] { read_agreement({bad}, SentenceInput::prefix); }).find("'" + bad + "'") !=
          std::string::npos);
}

// A second program, in Python, finds the same number with the same rule.
TEST_CASE("the tagged Brown corpus holds 14053 subjects, if it is there") {
  const std::string folder = corpus("brown-tagged");
  if (folder.empty()) return;
  std::vector<std::string> names, documents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) documents.push_back(read_all(name));
  const AnnotatedText text = read_agreement(documents, SentenceInput::prefix);
  CHECK(text.examples.size() == 14053);
  std::size_t validation = 0, plural = 0;
  for (const AnnotatedExample& x : text.examples) {
    validation += x.validation ? 1 : 0;
    plural += text.labels[x.label] == "plural" ? 1 : 0;
  }
  CHECK(validation == 1312);
  CHECK(plural == 4061);
}

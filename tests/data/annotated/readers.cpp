// The other formats on small files made by hand: what they hold, each of their invariants, and the way
// through JSON Lines and back.
#include "qksolve/data/annotated/readers.hpp"

#include <doctest/doctest.h>

#include "data/annotated/annotated_files.hpp"

using namespace qksolve::training;
using namespace qksolve::test;
using Strings = std::vector<std::string>;
using Weights = std::vector<double>;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::int64_t left_out(const AnnotatedText& text, const std::string& why) {
  for (const auto& [reason, count] : text.left_out)
    if (reason == why) return count;
  return 0;
}

AnnotatedText hatexplain(Rationale rationale = Rationale::mean,
                         const std::string& dataset = reference("hatexplain_dataset.json"),
                         const std::string& divisions = reference("hatexplain_divisions.json")) {
  return read_hatexplain(dataset, divisions, rationale);
}

std::string lines_of(const AnnotatedText& text) {
  std::string lines;
  write_annotated(text, [&](const std::string& line) { lines += line; });
  return lines;
}

}  // namespace

TEST_CASE("glosses: hypernyms in definitions, with their plurals, without parentheses and examples") {
  const AnnotatedText text = read_glosses(reference("data.noun"));
  REQUIRE(text.examples.size() == 3);
  CHECK(strings(text.words, text.examples[0].tokens) == Strings{"an", "entity", "of", "its", "own"});
  CHECK(text.examples[0].relevant == Weights{0, 1, 0, 0, 0});
  CHECK(text.examples[0].group == "00001930");
  CHECK(strings(text.words, text.examples[1].tokens) == Strings{"one", "of", "the", "beasts", ";", "loyal"});
  CHECK(text.examples[1].relevant == Weights{0, 0, 0, 1, 0, 0});
  CHECK(text.labels[text.examples[1].label] == "animal");
  CHECK(strings(text.words, text.examples[2].tokens) == Strings{"the", "dogs'", "dog", ",", "or", "dogs"});
  CHECK(text.examples[2].relevant == Weights{0, 0, 1, 0, 0, 1});
  CHECK(text.labels[text.examples[2].label] == "person");
  CHECK(left_out(text, "no hypernym") == 1);
  CHECK(left_out(text, "fewer than three tokens") == 1);
  CHECK(left_out(text, "no hypernym in the definition") == 1);
}

TEST_CASE("glosses: what is no noun of WordNet is named with its line") {
  const std::string good = reference("data.noun");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"00001930 05 n 02", "0001930 05 n 02"},
                                                        {"00001930 05 n 02", "00001930 29 n 02"},
                                                        {"00001930 05 n 02", "00001930 05 v 02"},
                                                        {"00001930 05 n 02", "00001930 05 n 09"},
                                                        {"0 001 @ 00001740", "0 00x @ 00001740"},
                                                        {"0 001 @ 00001740", "0 000 @ 00001740"},
                                                        {" | an entity", " an entity"}}) {
    CAPTURE(to);
    CHECK(text_error([&] { read_glosses(replaced(good, from, to)); }).starts_with("line 3: "));
  }
  CHECK(text_error([&] { read_glosses(replaced(good, "@ 00001740", "@ 00001741")); }) ==
        "synset 00001930: its hypernym 00001741 is not in the file");
}

TEST_CASE("the nouns of WordNet give 58297 examples, if they are there") {
  const std::string path = corpus("wordnet/data.noun");
  if (path.empty()) return;
  const AnnotatedText text = read_glosses(read_all(path));
  CHECK(text.examples.size() == 58297);
  CHECK(text.labels.size() == 26);
  CHECK(std::count_if(text.examples.begin(), text.examples.end(),
                      [](const AnnotatedExample& x) { return x.validation; }) == 5930);
}

TEST_CASE("linzen: prefixes and sentences, quotes and line ends") {
  const AnnotatedText prefix = read_linzen(reference("linzen.tsv"), SentenceInput::prefix);
  REQUIRE(prefix.examples.size() == 2);
  CHECK(strings(prefix.words, prefix.examples[0].tokens) == Strings{"the", "spine", "of", "the", "books"});
  CHECK(strings(prefix.tags, prefix.examples[0].tags) == Strings{"DT", "NN", "IN", "DT", "NNS"});
  CHECK(prefix.examples[0].relevant == Weights{0, 1, 0, 0, 0});
  CHECK(prefix.labels[prefix.examples[0].label] == "singular");
  CHECK(prefix.labels[prefix.examples[1].label] == "plural");
  CHECK(left_out(prefix, "the subject follows the verb") == 1);
  const AnnotatedText sentence = read_linzen(reference("linzen.tsv"), SentenceInput::sentence);
  REQUIRE(sentence.examples.size() == 3);
  CHECK(sentence.words[sentence.examples[0].tokens.back()] == "\"");
  CHECK(sentence.examples[1].relevant == Weights{0, 1, 0, 1});
}

TEST_CASE("linzen: each invariant is named with its line") {
  const std::string good = reference("linzen.tsv");
  for (const auto& [from, to, says] : std::vector<std::array<std::string, 3>>{
           {"sentence\torig", "sentences\torig", "line 1: column 1 is 'sentences'"},
           {"\tVBZ\t2\t6", "\tVBZ\t3\t6", "line 2: word 3 is 'of', expected the subj 'spine'"},
           {"\tVBZ\t2\t6", "\tVBZ\t2\t5", "line 2: word 5 is 'books', expected the verb 'is'"},
           {"\tVBZ\t2\t6", "\tVBZ\t2\t16", "line 2: verb_index is '16'"},
           {"\tVBZ\t2\t6", "\tVBZ\t0\t6", "line 2: subj_index is '0'"},
           {"\tVBZ\t2\t6", "\tVBD\t2\t6", "line 2: verb_pos is 'VBD'"},
           {"RB VBP DT NNS", "RB VBP NNS", "line 3: sentence, orig_sentence and pos_sentence differ"},
           {"\tNA\t0\t-2", "\tNA\t-2", "line 3: 17 columns"},
           {"\"the NN", "\"the\" NN", "line 2: ' ' follows a closing quote"}}) {
    CAPTURE(to);
    CHECK(
        text_error([&] { read_linzen(replaced(good, from, to), SentenceInput::prefix); }).starts_with(says));
  }
}

TEST_CASE("hatexplain: majority label, weights of the rationales, divisions") {
  const AnnotatedText text = hatexplain();
  REQUIRE(text.examples.size() == 3);
  CHECK(text.labels[text.examples[0].label] == "offensive");
  CHECK(text.examples[0].relevant == Weights{0, 0.5, 1});
  CHECK(text.examples[0].group == "p1");
  CHECK(text.examples[1].relevant == Weights{0, 0});
  CHECK(text.examples[2].validation);
  CHECK(text.examples[2].relevant == Weights{1, 0.5});  // the third annotator gave none
  CHECK(left_out(text, "no majority of annotators") == 1);
  CHECK(left_out(text, "in the test division") == 1);
  CHECK(hatexplain(Rationale::union_of_all).examples[0].relevant == Weights{0, 1, 1});
  CHECK(hatexplain(Rationale::majority).examples[0].relevant == Weights{0, 0, 1});
}

TEST_CASE("hatexplain: each invariant is named with the post") {
  const std::string good = reference("hatexplain_dataset.json"),
                    divisions = reference("hatexplain_divisions.json");
  for (const auto& [from, to, says] : std::vector<std::array<std::string, 3>>{
           {"[0, 1, 1]", "[0, 1]", "post p1: a rationale is no list as long as post_tokens, 3"},
           {"[0, 1, 1]", "[0, 2, 1]", "post p1: a rationale holds 2"},
           {"\"label\": \"offensive\"", "\"label\": \"rude\"", "post p1: label 'rude'"},
           {", {\"label\": \"normal\", \"annotator_id\": 3, \"target\": []}", "", "post p1: 2 annotators"},
           {"[[0, 1, 1], [0, 0, 1]]", "[[0, 1, 1]]", "post p1: 1 rationales"},
           {"[\"good\", \"morning\"]", "[]", "post p2: no token"},
           {"\"goose\"", "\"\"", "post p1: token \"\""}}) {
    CAPTURE(to);
    CHECK(text_error([&] { hatexplain(Rationale::mean, replaced(good, from, to)); }).starts_with(says));
  }
  CHECK(text_error([&] { hatexplain(Rationale::mean, good, replaced(divisions, "p5", "p9")); }) ==
        "divisions: test names \"p9\", which is no post of the dataset");
  CHECK(text_error([&] { hatexplain(Rationale::mean, good, replaced(divisions, "p5", "p4")); }) ==
        "divisions: test names \"p4\", which is there twice");
}

TEST_CASE("squad: answers are counted in characters, questions without answer are left out") {
  const AnnotatedText text = read_squad(reference("squad.json"));
  REQUIRE(text.examples.size() == 2);
  CHECK(strings(text.words, text.examples[0].tokens) ==
        Strings{"sat", "on", "the", "mat", "?", "é😀", "the", "cat", "sat", "on", "the", "mat", "."});
  CHECK(text.examples[0].relevant == Weights{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(text.labels[text.examples[0].label] == "what");
  CHECK(text.labels[text.examples[1].label] == "other");
  CHECK(text.examples[1].relevant == Weights{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0});
  CHECK(text.examples[1].group == "Cats");
  CHECK(left_out(text, "no answer") == 1);
}

TEST_CASE("squad: each invariant is named with the question") {
  const std::string good = reference("squad.json");
  for (const auto& [from, to, says] : std::vector<std::array<std::string, 3>>{
           {"\"answer_start\": 7}, ", "\"answer_start\": 11}, ",
            "question q1: the context does not hold 'cat'"},
           {"\"answer_start\": 18", "\"answer_start\": 1800", "question q2: the context does not hold"},
           {"\"answer_start\": 18", "\"answer_start\": -1", "question q2: expected the key 'answer_start'"},
           {"\"is_impossible\": true", "\"is_impossible\": false", "question q3: no answers"},
           {"\"is_impossible\": true", "\"is_impossible\": 1",
            "question q3: expected the key 'is_impossible'"},
           {"\"question\": \"Name", "\"text\": \"Name", "question q2: expected the key 'question'"},
           {"\"data\"", "\"date\"", "the file: expected the key 'data'"}}) {
    CAPTURE(to);
    CHECK(text_error([&] { read_squad(replaced(good, from, to)); }).starts_with(says));
  }
  CHECK(text_error([&] { read_squad(good.substr(0, 100)); }).find("not valid JSON") != std::string::npos);
}

TEST_CASE("every reader's examples come back from JSON Lines") {
  std::vector<AnnotatedText> texts;
  texts.push_back(
      read_agreement({"The/at dogs/nns bark/vb\nA/at dog/nn \"barks\"/vbz"}, SentenceInput::sentence));
  texts.push_back(read_glosses(reference("data.noun")));
  texts.push_back(read_linzen(reference("linzen.tsv"), SentenceInput::sentence));
  texts.push_back(hatexplain());
  texts.push_back(read_squad(reference("squad.json")));
  for (const AnnotatedText& text : texts) {
    const std::string lines = lines_of(text);
    const AnnotatedText again = read_annotated(lines);
    CHECK(lines_of(again) == lines);
    REQUIRE(again.examples.size() == text.examples.size());
    for (std::size_t i = 0; i < text.examples.size(); ++i) {
      const AnnotatedExample &a = text.examples[i], &b = again.examples[i];
      CHECK(strings(text.words, a.tokens) == strings(again.words, b.tokens));
      CHECK(strings(text.tags, a.tags) == strings(again.tags, b.tags));
      CHECK(a.relevant == b.relevant);
      CHECK(text.labels[a.label] == again.labels[b.label]);
      CHECK(a.validation == b.validation);
      CHECK(a.group == b.group);
    }
  }
}

TEST_CASE("annotated: each invariant is named with its line") {
  const std::string good =
      R"({"tokens": ["a", "b"], "relevant": [0, 0.5], "label": "x", "split": "train", "tags": ["t", "u"]})";
  CHECK(read_annotated(good + "\r\n" + good).examples.size() == 2);
  for (const auto& [from, to, says] : std::vector<std::array<std::string, 3>>{
           {"[0, 0.5]", "[0]", "line 2: 1 values of 'relevant' for 2 tokens"},
           {"[0, 0.5]", "[0, 1.5]", "line 2: 'relevant' holds 1.5"},
           {"[0, 0.5]", "[0, true]", "line 2: 'relevant' holds true"},
           {"[\"a\", \"b\"]", "[\"a\", \"\"]", "line 2: 'tokens' holds \"\""},
           {"[\"a\", \"b\"]", "[\"a\", \" \"]", "line 2: 'tokens' holds \" \""},
           {"[\"a\", \"b\"]", "[\"a\", 1]", "line 2: 'tokens' holds 1"},
           {"[\"a\", \"b\"]", "[]", "line 2: no token"},
           {"[\"t\", \"u\"]", "[\"t\"]", "line 2: 1 values of 'tags'"},
           {"\"x\"", "\"\"", "line 2: an empty label"},
           {"\"train\"", "\"test\"", "line 2: split 'test'"},
           {"\"label\"", "\"lable\"", "line 2: unknown key 'lable'"},
           {"{\"tokens\"", "[\"tokens\"", "line 2 is not valid JSON"}}) {
    CAPTURE(to);
    CHECK(text_error([&] { read_annotated(good + "\n" + replaced(good, from, to)); }).starts_with(says));
  }
}

TEST_CASE("a text on which nothing can be learnt is refused") {
  const auto example = [](const std::string& label, const std::string& split, int relevant = 1,
                          const std::string& word = "a") {
    return R"({"tokens":[")" + word + R"("],"relevant":[)" + std::to_string(relevant) + R"(],"label":")" +
           label + R"(","split":")" + split + "\"}\n";
  };
  const auto says = [](const std::string& lines) {
    return text_error([&] { require_usable(read_annotated(lines)); });
  };
  const std::string both = example("x", "train") + example("y", "train");
  CHECK(says(both + example("y", "validation")) == "nothing was thrown");
  CHECK(says("").starts_with("holds no example"));
  CHECK(says(both).starts_with("holds no example for validation"));
  CHECK(says(example("x", "validation")).starts_with("holds no example for training"));
  CHECK(says(example("x", "train") + example("x", "validation"))
            .starts_with("all examples are of the class 'x'"));
  CHECK(says(both + example("z", "validation"))
            .starts_with("the class 'z' is in the validation examples only"));
  CHECK(says(example("x", "train", 0) + example("y", "train", 0) + example("y", "validation", 0))
            .starts_with("no token is relevant"));
  CHECK(
      says(example("x", "train", 1, "1") + example("y", "train", 1, ".") + example("y", "validation", 1, "2"))
          .starts_with("no token holds a letter"));
}

TEST_CASE("the vocabulary: words that come twice in training, then tags, then any other word") {
  const std::string lines =
      R"({"tokens":["b","b","a","c"],"relevant":[1,0,0,0],"label":"x","split":"train","tags":["t","t","u","u"]})"
      "\n"
      R"({"tokens":["a","c","d"],"relevant":[0,0,0.5],"label":"y","split":"train"})"
      "\n"
      R"({"tokens":["d","c","a"],"relevant":[0,0,1],"label":"y","split":"validation","tags":["u","t","t"]})";
  const AnnotatedText text = read_annotated(lines);
  const TokenizedText all = tokenize(text, 10);
  // a b c, tags t u, other.
  CHECK(all.vocabulary == 6);
  CHECK(all.classes == 2);
  CHECK(all.training.tokens == std::vector<std::int32_t>{1, 1, 0, 2, 0, 2, 5});
  CHECK(all.training.first == std::vector<std::int64_t>{0, 4, 7});
  CHECK(all.training.relevant == Weights{1, 0, 0, 0, 0, 0, 0.5});
  CHECK(all.validation.tokens == std::vector<std::int32_t>{4, 2, 0});
  CHECK(all.validation.labels == std::vector<std::int32_t>{1});
  CHECK(all.known_words == doctest::Approx(2 / 3.0));
  const TokenizedText one = tokenize(text, 1);
  CHECK(one.vocabulary == 4);
  CHECK(one.training.tokens == std::vector<std::int32_t>{1, 1, 0, 2, 0, 3, 3});
}

TEST_CASE("files are told by what they look like") {
  CHECK(looks_like("\n\tThe/at jury/nn said/vbd ./.\n") == "agreement");
  CHECK(looks_like(reference("data.noun")) == "glosses");
  CHECK(looks_like(reference("linzen.tsv")) == "linzen");
  CHECK(looks_like(reference("hatexplain_dataset.json")) == "hatexplain");
  CHECK(looks_like(reference("squad.json")) == "squad");
  CHECK(looks_like(R"({"tokens":["a"],"relevant":[0],"label":"x","split":"train"})") == "annotated");
  CHECK(looks_like("Some text.") == "");
  CHECK(looks_like("") == "");
}

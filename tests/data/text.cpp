// Text: tokens of small documents by hand, which documents are validation, blocks, and what is no text.
#include "qksolve/data/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "numerics/chi_square.hpp"

using namespace qksolve::training;
using Tokens = std::vector<std::int64_t>;

namespace {

TextOptions options_of(Level level, std::int64_t context = 1) {
  TextOptions options;
  options.level = level;
  options.context = context;
  return options;
}

// The documents of a stream of bytes.
std::vector<std::string> documents_in(const Tokens& stream) {
  std::vector<std::string> documents;
  for (const std::int64_t token : stream)
    if (token == 0)
      documents.emplace_back();
    else
      documents.back() += static_cast<char>(static_cast<unsigned char>(token));
  return documents;
}

// Without the blanks that follow them.
std::vector<std::string> sentences_in(const std::string& document) {
  std::vector<std::string> sentences;
  std::string sentence;
  auto end = [&] {
    while (!sentence.empty() && std::isspace(static_cast<unsigned char>(sentence.back())))
      sentence.pop_back();
    while (!sentence.empty() && std::isspace(static_cast<unsigned char>(sentence.front())))
      sentence.erase(0, 1);
    if (!sentence.empty()) sentences.push_back(sentence);
    sentence.clear();
  };
  for (std::size_t i = 0; i < document.size(); ++i) {
    sentence += document[i];
    const bool stop = std::string(".!?").find(document[i]) != std::string::npos;
    if (document[i] == '\n' || (stop && i + 1 < document.size() && document[i + 1] == ' ')) end();
  }
  end();
  return sentences;
}

// A document that names itself in each of its sentences, of which it has 3 + number % 3.
std::string numbered(int number) {
  const std::string n = std::to_string(number);
  std::string document =
      "Document " + n + " opens at 3." + n + " e.g.this. It asks " + n + "? A line " + n + "\n";
  if (number % 3 > 0) document += "More of " + n + "!  ";
  if (number % 3 > 1) document += "The end of " + n;
  return document;
}

std::vector<std::string> numbered_documents(int count) {
  std::vector<std::string> documents;
  for (int i = 0; i < count; ++i) documents.push_back(numbered(i));
  return documents;
}

// Tokens are their places.
Text counting(std::int64_t training, std::int64_t validation) {
  Text text;
  text.documents = 2;
  text.vocabulary = std::max(training, validation);
  for (std::int64_t i = 0; i < training; ++i) text.training.push_back(i);
  for (std::int64_t i = 0; i < validation; ++i) text.validation.push_back(i);
  return text;
}

}  // namespace

TEST_CASE("words of a small text by hand") {
  const std::vector<std::string> documents{"The cat's hat, the\tHat!", "a hat? DOG the"};
  const Text text = make_text(documents, options_of(Level::word));
  // hat and the twice, then ! , cat's in the order of their bytes.
  CHECK(text.documents == 2);
  CHECK(text.vocabulary == 7);
  CHECK(text.training == Tokens{0, 3, 6, 2, 5, 3, 2, 4});
  CHECK(text.validation == Tokens{0, 1, 2, 1, 1, 3});
  CHECK(text.known_words == doctest::Approx(0.5));  // the beginning of the document among them
}

TEST_CASE("words are runs of letters, digits, apostrophes and all that is not ASCII") {
  const std::vector<std::string> documents{
      "\xc3\x84rger \xc3\xa4rger \xe2\x82\xac"
      "5 x86_64 don't--\r\n\f\v(",
      "x x"};
  const Text text = make_text(documents, options_of(Level::word));
  // Once each but -, twice; the order of bytes: ( 64 _ don't x86 Ärger ärger €5. Umlauts keep their case.
  CHECK(text.vocabulary == 11);
  CHECK(text.training == Tokens{0, 8, 9, 10, 7, 5, 4, 6, 2, 2, 3});
}

TEST_CASE("the vocabulary holds the most frequent words, the rest is any other") {
  const std::vector<std::string> documents{"d c c b b b a a a a", "e a b"};
  TextOptions options = options_of(Level::word);
  for (const std::int64_t most : {3, 4, 5, 6, 100}) {
    CAPTURE(most);
    options.vocabulary = most;
    const Text text = make_text(documents, options);
    const std::int64_t words = std::min<std::int64_t>(most - 2, 4);
    CHECK(text.vocabulary == 2 + words);
    auto token = [&](std::int64_t rank) { return rank < words ? 2 + rank : 1; };  // a: rank 0
    CHECK(text.training == Tokens{0, token(3), token(2), token(2), token(1), token(1), token(1), 2, 2, 2, 2});
    CHECK(text.validation == Tokens{0, 1, 2, token(1)});
  }
  // Words of validation documents alone are not counted.
  options.vocabulary = 100;
  CHECK(make_text({"a", "b b b b"}, options).validation == Tokens{0, 1, 1, 1, 1});
}

TEST_CASE("bytes make a round trip") {
  const std::vector<std::string> documents{"Plain\r\n text\t.", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac", "",
                                           "\xf0\x9f\x98\x80\x7f\x01"};
  TextOptions options = options_of(Level::byte);
  options.vocabulary = 3;  // says nothing about bytes
  const Text text = make_text(documents, options);
  CHECK(text.vocabulary == 256);
  CHECK(text.known_words == 1);
  CHECK(documents_in(text.training) == std::vector(documents.begin(), documents.begin() + 3));
  CHECK(documents_in(text.validation) == std::vector{documents[3]});
  for (const Tokens& tokens : {text.training, text.validation})
    for (const std::int64_t token : tokens) CHECK((token >= 0 && token < 256));
}

TEST_CASE("every tenth document is validation, of fewer than ten the last") {
  for (const int count : {2, 3, 9, 10, 11, 19, 20, 23, 30}) {
    CAPTURE(count);
    const std::vector<std::string> documents = numbered_documents(count);
    std::vector<std::string> training, validation;
    for (int i = 0; i < count; ++i)
      (i == 9 || i == 19 || i == 29 || (count < 10 && i == count - 1) ? validation : training)
          .push_back(documents[static_cast<std::size_t>(i)]);
    const Text text = make_text(documents, options_of(Level::byte));
    CHECK(text.documents == count);
    CHECK(documents_in(text.training) == training);
    CHECK(documents_in(text.validation) == validation);
  }
}

TEST_CASE("shuffled sentences change places within training and within validation") {
  const std::vector<std::string> documents = numbered_documents(50);
  TextOptions options = options_of(Level::byte);
  const Text plain = make_text(documents, options);
  options.shuffle_sentences = true;
  const Text shuffled = make_text(documents, options);
  for (const auto& [before, after] :
       {std::pair(plain.training, shuffled.training), std::pair(plain.validation, shuffled.validation)}) {
    const auto old_documents = documents_in(before), new_documents = documents_in(after);
    REQUIRE(old_documents.size() == new_documents.size());
    std::vector<std::string> old_sentences, new_sentences;
    for (std::size_t i = 0; i < old_documents.size(); ++i) {
      const auto a = sentences_in(old_documents[i]), b = sentences_in(new_documents[i]);
      CHECK(a.size() == 3 + static_cast<std::size_t>(std::stoi(old_documents[i].substr(9))) % 3);
      CHECK(a.size() == b.size());
      old_sentences.insert(old_sentences.end(), a.begin(), a.end());
      new_sentences.insert(new_sentences.end(), b.begin(), b.end());
    }
    std::size_t stayed = 0;
    for (std::size_t i = 0; i < old_sentences.size(); ++i) stayed += old_sentences[i] == new_sentences[i];
    // One stays on average, with variance one.
    CHECK(stayed <= 6);
    std::sort(old_sentences.begin(), old_sentences.end());
    std::sort(new_sentences.begin(), new_sentences.end());
    CHECK(old_sentences == new_sentences);
  }
  CHECK(make_text(documents, options).training == shuffled.training);
}

TEST_CASE("shuffled sentences keep the words of each part") {
  const std::vector<std::string> documents = numbered_documents(50);
  TextOptions options = options_of(Level::word);
  const Text plain = make_text(documents, options);
  options.shuffle_sentences = true;
  const Text shuffled = make_text(documents, options);
  CHECK(plain.vocabulary == shuffled.vocabulary);
  CHECK(plain.known_words == shuffled.known_words);
  CHECK(plain.training != shuffled.training);
  CHECK(plain.validation != shuffled.validation);
  auto sorted = [](Tokens tokens) {
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  CHECK(sorted(plain.training) == sorted(shuffled.training));
  CHECK(sorted(plain.validation) == sorted(shuffled.validation));
}

TEST_CASE("training blocks begin anywhere, and their targets are the next tokens") {
  const std::int64_t context = 10;
  const Task task = text_task(counting(30, 15), context, 1);
  CHECK(task.context == 10);
  CHECK(task.vocabulary == 30);
  const Batch batch = task.training(1, 0, 20000);
  REQUIRE(batch.sequences == 20000);
  REQUIRE(batch.context == context);
  REQUIRE(batch.tokens.size() == 200000);
  REQUIRE(batch.places.size() == 200000);
  REQUIRE(batch.targets.size() == 200000);
  CHECK(batch.places_a_sequence() == context);
  std::vector<double> starts(20);
  bool right = true;
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
    right = right && batch.places[i] == static_cast<std::int64_t>(i);
    right = right && batch.targets[i] == batch.tokens[i] + 1;
    if (i % 10 == 0)
      ++starts.at(static_cast<std::size_t>(batch.tokens[i]));
    else
      right = right && batch.tokens[i] == batch.tokens[i - 1] + 1;
  }
  CHECK(right);
  CHECK(*std::max_element(batch.targets.begin(), batch.targets.end()) == 29);
  CHECK(chi_square_deviations(starts) < 5);
}

TEST_CASE("training blocks do not depend on those they are drawn with, but on the seed") {
  const Task task = text_task(counting(3000, 15), 10, 1);
  const Batch all = task.training(1, 7, 5);
  Tokens tokens = task.training(1, 7, 2).tokens;
  const Tokens rest = task.training(1, 9, 3).tokens;
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  CHECK(all.tokens == tokens);
  CHECK(all.tokens != task.training(2, 7, 5).tokens);
}

TEST_CASE("validation blocks do not overlap, and are spread over the stream") {
  for (const std::int64_t length : {11, 20, 21, 100, 101, 109, 110, 111})
    for (const std::int64_t most : {1, 3, 4, 9, 10, 1000}) {
      CAPTURE(length);
      CAPTURE(most);
      const Task task = text_task(counting(30, length), 10, most);
      const std::int64_t blocks = (length - 1) / 10,
                         used = std::min(blocks, most);  // with a target for the last
      REQUIRE(task.validation_sequences == used);
      const Batch batch = task.validation(0, used);
      REQUIRE(batch.sequences == used);
      REQUIRE(batch.tokens.size() == static_cast<std::size_t>(10 * used));
      std::int64_t end = 0, gaps_least = length, gaps_most = 0;
      for (std::int64_t s = 0; s < used; ++s) {
        const std::int64_t* tokens = batch.tokens.data() + 10 * s;
        const std::int64_t* targets = batch.targets.data() + 10 * s;
        CHECK(tokens[0] >= end);
        if (s > 0) {
          gaps_least = std::min(gaps_least, tokens[0] - tokens[-10]);
          gaps_most = std::max(gaps_most, tokens[0] - tokens[-10]);
        }
        end = tokens[0] + 10;
        for (std::int64_t i = 0; i < 10; ++i) {
          CHECK(tokens[i] == tokens[0] + i);
          CHECK(targets[i] == tokens[i] + 1);
          CHECK(batch.places[static_cast<std::size_t>(10 * s + i)] == 10 * s + i);
        }
        const Batch alone = task.validation(s, 1);
        CHECK(alone.tokens == Tokens(tokens, tokens + 10));
        CHECK(alone.places.front() == 0);
      }
      CHECK(end + 1 <= length);
      // Evenly: distances differ by a block at most, and behind the last is no more than that of two.
      if (used > 1) {
        CHECK(gaps_most - gaps_least <= 10);
        CHECK(length - end <= gaps_most + 10);
      }
    }
}

TEST_CASE("what is not UTF-8 is refused, with the number of the document") {
  const std::string good = "caf\xc3\xa9";
  for (const std::string& bad : std::vector<std::string>{"\x80",          // a continuation by itself
                                                         "a\xbf z",       //
                                                         "\xc3\xa9\xa9",  // one too many
                                                         "caf\xc3",       // cut off
                                                         "\xe2\x82",      //
                                                         "\xe2",          //
                                                         "\xf0\x9f\x98",  //
                                                         "\xf0\x9f",      //
                                                         "\xf0",          //
                                                         "\xc3 x",  // a letter where a continuation has to be
                                                         "\xe2\x82x",             //
                                                         "\xf0\x9f\x98x",         //
                                                         "\xe2\xc3\xa9",          //
                                                         std::string("a\0b", 3),  // zero byte
                                                         std::string("\0", 1),    //
                                                         "\xff",
                                                         "\xfe",
                                                         "a\xff\xff\xff",  // never a byte of UTF-8
                                                         "\xc0\x80",
                                                         "\xc0\xaf",
                                                         "\xc1\xbf",  // overlong
                                                         "\xf5\x80\x80\x80",
                                                         "\xf8\x88\x80\x80\x80"}) {
    CAPTURE(bad);
    CHECK(!is_text(bad));
    for (const Level level : {Level::byte, Level::word}) {
      const TextOptions options = options_of(level);
      CHECK_THROWS_WITH_AS(make_text({good, good, bad}, options), doctest::Contains("3"), TextError);
      CHECK_THROWS_WITH_AS(make_text({good, bad, good}, options), doctest::Contains("2"), TextError);
      CHECK_THROWS_WITH_AS(make_text({bad, good}, options), doctest::Contains("1"), TextError);
    }
  }
}

TEST_CASE("three and four bytes have one way to be written, and surrogates and beyond U+10FFFF none") {
  // RFC 3629, section 4.
  for (const std::string bad : {"\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
                                "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80"}) {
    CAPTURE(bad);
    CHECK(!is_text(bad));
  }
}

TEST_CASE("text of any length of character is accepted, at the end of a document also") {
  CHECK(is_text(""));
  for (const std::string character :
       {"a", "\x7f", "\xc2\x80", "\xc3\xa9", "\xdf\xbf", "\xe0\xa0\x80", "\xe2\x82\xac", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    CAPTURE(character);
    CHECK(is_text(character));
    CHECK(is_text("x " + character));
    CHECK(is_text(character + " x"));
    CHECK(is_text(character + character));
    const Text text = make_text({"a " + character, character + " a"}, options_of(Level::word));
    CHECK(text.training == (character == "a" ? Tokens{0, 2, 2} : Tokens{0, 2, 3}));
    CHECK(text.validation.size() == 3);
    CHECK(text.known_words == 1);
  }
}

TEST_CASE("a text needs two documents, a block to train on and two for validation") {
  for (const Level level : {Level::byte, Level::word}) {
    const TextOptions options = options_of(level, 3);
    CHECK_THROWS_AS(make_text({}, options), TextError);
    CHECK_THROWS_AS(make_text({"a b c d e f"}, options), TextError);
    // With the beginning, three words or bytes are context + 1 tokens, six are 2 context + 1.
    auto words = [&](int count) {
      std::string text;
      for (int i = 0; i < count; ++i)
        text += std::string(1, static_cast<char>('a' + i)) + (level == Level::word ? " " : "");
      return text;
    };
    CHECK_NOTHROW(make_text({words(3), words(6)}, options));
    CHECK_THROWS_AS(make_text({words(2), words(6)}, options), TextError);
    CHECK_THROWS_AS(make_text({words(3), words(5)}, options), TextError);
    // A part is all of its documents.
    const Text text = make_text({words(2), words(2), words(6)}, options);
    CHECK(text.training.size() == 6);
    const Task task = text_task(text, 3, 5);
    CHECK(task.validation_sequences == 2);
    CHECK(task.validation(0, 1).tokens == Tokens(text.validation.begin(), text.validation.begin() + 3));
    CHECK(task.vocabulary == text.vocabulary);
  }
}

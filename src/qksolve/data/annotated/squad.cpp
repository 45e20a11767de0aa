#include <algorithm>

#include "qksolve/data/annotated/json_value.hpp"
#include "qksolve/data/annotated/readers.hpp"

namespace qksolve::training {
namespace {

constexpr std::string_view kQuestionWords[] = {"what", "who", "when", "where", "why", "which", "how"};

struct Context {
  std::string text;
  std::vector<std::size_t> places;  // byte of every code point, and the end
  std::vector<Word> words;
  std::vector<std::int32_t> tokens;  // of the words

  Context(const std::string& given, Names& names) : text(given), words(words_of(given)) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) places.push_back(i);
    places.push_back(text.size());
    for (const Word& word : words) tokens.push_back(names.number(word.text));
  }
};

struct Span {
  std::size_t first, end;  // bytes
};

Span span_of(const Json& answer, const Context& context, const std::string& place) {
  const std::string& text = text_of(answer, "text", place);
  const Json& start =
      member(answer, "answer_start", &Json::is_number_unsigned, "a count of characters", place);
  const auto at = start.get<std::uint64_t>();
  if (text.empty() || at >= context.places.size() ||
      context.text.compare(context.places[at], text.size(), text) != 0)
    throw TextError(place + ": the context does not hold '" + text + "' at answer_start " + start.dump() +
                    ", counted in Unicode characters");
  return {context.places[at], context.places[at] + text.size()};
}

void add_question(AnnotatedText& text, const Json& question, const Context& context,
                  const std::string& title) {
  const std::string place = "question " + text_of(question, "id", "a question");
  const std::string& words = text_of(question, "question", place);
  const Json& answers = list_of(question, "answers", place);
  if (question.contains("is_impossible") &&
      member(question, "is_impossible", &Json::is_boolean, "true or false", place).get<bool>()) {
    text.leave_out("no answer");
    return;
  }
  if (answers.empty()) throw TextError(place + ": no answers, expected one or is_impossible");
  std::vector<Span> spans;
  for (const Json& answer : answers) spans.push_back(span_of(answer, context, place));
  AnnotatedExample example;
  std::string label = "other";
  bool first = true;
  for (const Word& word : words_of(words)) {
    if (!first) example.tokens.push_back(text.words.number(word.text));
    if (first && std::find(std::begin(kQuestionWords), std::end(kQuestionWords), word.text) !=
                     std::end(kQuestionWords))
      label = word.text;
    first = false;
  }
  if (first) {
    text.leave_out("no word in the question");
    return;
  }
  example.relevant.assign(example.tokens.size(), 0);
  example.tokens.insert(example.tokens.end(), context.tokens.begin(), context.tokens.end());
  for (const Word& word : context.words)
    example.relevant.push_back(word.first < spans.front().end && word.end > spans.front().first ? 1 : 0);
  example.label = text.labels.number(label);
  example.validation = is_validation(context.text);
  example.group = title;
  text.examples.push_back(std::move(example));
}

}  // namespace

AnnotatedText read_squad(std::string_view file) {
  const Json json = parse_json(file);
  AnnotatedText text;
  for (const Json& article : list_of(json, "data", "the file")) {
    const std::string title = article.is_object() && article.contains("title")
                                  ? text_of(article, "title", "an article")
                                  : std::string();
    for (const Json& paragraph : list_of(article, "paragraphs", "article '" + title + "'")) {
      const std::string place = "a paragraph of article '" + title + "'";
      const Context context(text_of(paragraph, "context", place), text.words);
      for (const Json& question : list_of(paragraph, "qas", place))
        add_question(text, question, context, title);
    }
  }
  return text;
}

}  // namespace qksolve::training

// Annotated texts in every format.
#include "fuzz/target.hpp"
#include "qksolve/data/annotated/readers.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qksolve::training;
  const std::string content(reinterpret_cast<const char*>(data), size);
  if (!is_text(content)) return 0;  // no reader sees it
  looks_like(content);
  const std::string half = content.substr(0, size / 2), rest = content.substr(size / 2);
  const std::vector<std::function<AnnotatedText()>> readers{
      [&] {
        return read_agreement({half, rest}, SentenceInput::prefix);
      },
      [&] { return read_agreement({content}, SentenceInput::sentence); },
      [&] { return read_glosses(content); },
      [&] { return read_linzen(content, SentenceInput::prefix); },
      [&] {
        return read_hatexplain(content, R"({"train": ["p1"], "val": [], "test": []})", Rationale::mean);
      },
      [&] { return read_squad(content); },
      [&] { return read_annotated(content); }};
  for (const auto& read : readers) {
    try {
      const AnnotatedText text = read();
      require_usable(text);
      const TokenizedText tokens = tokenize(text, 3);
      for (const TokenizedExamples* part : {&tokens.training, &tokens.validation})
        for (const std::int32_t token : part->tokens)
          if (token < 0 || token >= tokens.vocabulary)
            throw std::logic_error("a token beyond the vocabulary");
    } catch (const TextError&) {
    }
  }
  return 0;
}

// Texts to train on: their documents, words and batches.
#include "qksolve/corpus.hpp"

#include "fuzz/target.hpp"
#include "qksolve/data/text.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qksolve;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  std::vector<std::string> documents;
  if (!fuzz::read_or_refuse([&] { documents = app::read_documents(file.path()); })) return 0;
  for (const training::Level level : {training::Level::byte, training::Level::word})
    for (const bool shuffle : {false, true}) {
      training::Text text;
      try {
        text = training::make_text(documents, {level, 4, 16, shuffle});
      } catch (const training::TextError&) {
        continue;
      }
      const training::Task task = training::text_task(text, 4, 3);
      for (const training::Batch& batch :
           {task.training(1, 0, 2), task.validation(0, task.validation_sequences)})
        for (const std::int64_t token : batch.tokens)
          if (token < 0 || token >= task.vocabulary) throw std::logic_error("a token beyond the vocabulary");
    }
  return 0;
}

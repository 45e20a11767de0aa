#include "flow_text.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/usage.hpp"
#include "corpus.hpp"
#include "qksolve/results/result.hpp"
#include "qksolve/results/work_file.hpp"

namespace qksolve::app {

namespace {

using results::ContentError;

bool is_sentence_task(const std::string& task) { return task == "agreement" || task == "linzen"; }

// A file, or the one of this name in a folder.
std::string file_in(const std::string& path, const std::string& name) {
  return std::filesystem::is_directory(path) ? path + "/" + name : path;
}

}  // namespace

void TextArguments::declare(Options& options) {
  options.choice(
      "task", task, {"agreement", "glosses", "linzen", "hatexplain", "squad", "annotated"},
      "What is classified: number of a verb (folder of tagged sentences, or Linzen's file), field of a "
      "noun's definition (WordNet's data.noun), hate speech (folder with HateXplain's two files), "
      "question words (SQuAD), or any annotated text (JSON Lines)");
  options.input("data", data, "File or folder of the text, needed");
  options.choice("input", input, {"prefix", "sentence"},
                 "agreement and linzen: the tokens before the verb, or all");
  options.choice("rationale", rationale, {"mean", "union", "majority"},
                 "hatexplain: how the marks of several annotators become one");
}

void TextArguments::finish() const {
  if (data.empty())
    throw UsageError("--data: is missing, expected the file or folder of --task " + task +
                     " (apps/download_corpora.sh makes brown-tagged and wordnet)");
  if (input != "prefix" && !is_sentence_task(task))
    throw UsageError("--input: '" + input + "' is not allowed with --task " + task +
                     ", expected agreement or linzen");
  if (rationale != "mean" && task != "hatexplain")
    throw UsageError("--rationale: '" + rationale + "' is not allowed with --task " + task +
                     ", expected hatexplain");
}

training::AnnotatedText TextArguments::read(std::string& check) const {
  using training::Rationale;
  using training::SentenceInput;
  const SentenceInput tokens = input == "prefix" ? SentenceInput::prefix : SentenceInput::sentence;
  std::vector<std::string> texts;
  std::string name = data;
  if (task == "agreement") {
    texts = read_documents(data);
  } else if (task == "hatexplain") {
    if (!std::filesystem::is_directory(data))
      throw ContentError(data + ": is no folder, expected one with dataset.json and post_id_divisions.json");
    for (const char* file : {"dataset.json", "post_id_divisions.json"})
      texts.push_back(read_text(data + "/" + file));
  } else {
    name = task == "glosses" ? file_in(data, "data.noun") : data;
    texts.push_back(read_text(name));
  }
  check = results::task_id(results::Json(texts));
  try {
    training::AnnotatedText text =
        task == "agreement"    ? training::read_agreement(texts, tokens)
        : task == "glosses"    ? training::read_glosses(texts[0])
        : task == "linzen"     ? training::read_linzen(texts[0], tokens)
        : task == "hatexplain" ? training::read_hatexplain(texts[0], texts[1],
                                                           rationale == "mean"    ? Rationale::mean
                                                           : rationale == "union" ? Rationale::union_of_all
                                                                                  : Rationale::majority)
        : task == "squad"      ? training::read_squad(texts[0])
                               : training::read_annotated(texts[0]);
    training::require_usable(text);
    return text;
  } catch (const training::TextError& error) {
    const std::string looks = texts.empty() ? "" : training::looks_like(texts[0]);
    throw ContentError(name + ": " + error.what() +
                       (looks.empty() || looks == task ? "" : "; it looks like --task " + looks));
  }
}

}  // namespace qksolve::app

#include <algorithm>
#include <array>

#include "qksolve/data/annotated/json_value.hpp"
#include "qksolve/data/annotated/readers.hpp"
#include "qksolve/data/annotated/text_pieces.hpp"

namespace qksolve::training {
namespace {

std::vector<std::int32_t> names_of(const Json& list, const char* key, Names& names,
                                   const std::string& place) {
  std::vector<std::int32_t> numbers;
  for (const Json& name : list) {
    if (!name.is_string() || pieces_between_blanks(name.get_ref<const std::string&>()).empty())
      throw TextError(place + ": '" + key + "' holds " + name.dump() +
                      ", expected texts with a character that is no blank");
    numbers.push_back(names.number(name.get_ref<const std::string&>()));
  }
  return numbers;
}

AnnotatedExample example_of(const Json& json, AnnotatedText& text, const std::string& place) {
  if (!json.is_object()) throw TextError(place + ": expected an object");
  for (const auto& [key, value] : json.items()) {
    constexpr std::array<std::string_view, 6> kKnown{"tokens", "relevant", "label", "split", "tags", "group"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
      throw TextError(place + ": unknown key '" + key +
                      "', expected tokens, relevant, label, split, tags, group");
  }
  AnnotatedExample example;
  example.tokens = names_of(list_of(json, "tokens", place), "tokens", text.words, place);
  if (example.tokens.empty()) throw TextError(place + ": no token");
  const auto require_length = [&](const char* key, std::size_t length) {
    if (length != example.tokens.size())
      throw TextError(place + ": " + std::to_string(length) + " values of '" + key + "' for " +
                      std::to_string(example.tokens.size()) + " tokens");
  };
  const Json& relevant = list_of(json, "relevant", place);
  require_length("relevant", relevant.size());
  for (const Json& weight : relevant) {
    if (!weight.is_number() || weight.get<double>() < 0 || weight.get<double>() > 1)
      throw TextError(place + ": 'relevant' holds " + weight.dump() + ", expected numbers in [0, 1]");
    example.relevant.push_back(weight.get<double>());
  }
  if (json.contains("tags")) {
    example.tags = names_of(list_of(json, "tags", place), "tags", text.tags, place);
    require_length("tags", example.tags.size());
  }
  const std::string &label = text_of(json, "label", place), &split = text_of(json, "split", place);
  if (label.empty()) throw TextError(place + ": an empty label");
  if (split != "train" && split != "validation")
    throw TextError(place + ": split '" + split + "', expected train or validation");
  example.label = text.labels.number(label);
  example.validation = split == "validation";
  if (json.contains("group")) example.group = text_of(json, "group", place);
  return example;
}

}  // namespace

AnnotatedText read_annotated(std::string_view file) {
  AnnotatedText text;
  LineReader lines(file);
  for (std::string_view line; lines.next(line);) {
    const std::string place = "line " + std::to_string(lines.number());
    text.examples.push_back(example_of(parse_json(line, lines.number()), text, place));
  }
  return text;
}

void write_annotated(const AnnotatedText& text, const std::function<void(const std::string&)>& write) {
  for (const AnnotatedExample& x : text.examples) {
    Json line{{"tokens", Json::array()}, {"relevant", Json::array()}};
    for (const std::int32_t token : x.tokens) line["tokens"].push_back(text.words[token]);
    for (const double weight : x.relevant) {
      if (weight == 0 || weight == 1)
        line["relevant"].push_back(static_cast<int>(weight));
      else
        line["relevant"].push_back(weight);
    }
    line["label"] = text.labels[x.label];
    line["split"] = x.validation ? "validation" : "train";
    for (const std::int32_t tag : x.tags) line["tags"].push_back(text.tags[tag]);
    if (!x.group.empty()) line["group"] = x.group;
    write(line.dump() + "\n");
  }
}

std::string looks_like(std::string_view text) {
  text = text.substr(0, 20000);
  const auto holds = [&](std::string_view piece) { return text.find(piece) != std::string_view::npos; };
  if (text.starts_with("sentence\torig_sentence\t")) return "linzen";
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  if (text[begin] == '{') {
    if (holds("\"post_tokens\"") || holds("\"post_id\"")) return "hatexplain";
    if (holds("\"paragraphs\"")) return "squad";
    return holds("\"tokens\"") && holds("\"relevant\"") ? "annotated" : "";
  }
  LineReader lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with("  ") || pieces_between_blanks(line).empty()) continue;
    const std::vector<std::string_view> pieces = pieces_between_blanks(line);
    if (pieces.front().size() == 8 && pieces.size() > 3 && line.find(" | ") != std::string_view::npos)
      return "glosses";
    const bool tagged = std::all_of(pieces.begin(), pieces.end(), [](std::string_view piece) {
      return piece.find('/') != std::string_view::npos;
    });
    return tagged ? "agreement" : "";
  }
  return "";
}

}  // namespace qksolve::training

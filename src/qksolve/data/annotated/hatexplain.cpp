#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "qksolve/data/annotated/json_value.hpp"
#include "qksolve/data/annotated/readers.hpp"

namespace qksolve::training {
namespace {

const std::set<std::string> kLabels{"hatespeech", "offensive", "normal"};
constexpr std::size_t kAnnotators = 3;

// The label of most annotators; empty if there is none.
std::string label_of(const Json& post, const std::string& place) {
  const Json& annotators = list_of(post, "annotators", place);
  if (annotators.size() != kAnnotators)
    throw TextError(place + ": " + std::to_string(annotators.size()) + " annotators, expected 3");
  std::map<std::string, int> votes;
  std::string most;
  for (const Json& annotator : annotators) {
    const std::string& label = text_of(annotator, "label", place);
    if (!kLabels.contains(label))
      throw TextError(place + ": label '" + label + "', expected hatespeech, offensive or normal");
    if (++votes[label] >= 2) most = label;
  }
  return most;
}

std::vector<double> weights_of(const Json& post, std::size_t length, Rationale rationale,
                               const std::string& place) {
  const Json& rationales = list_of(post, "rationales", place);
  std::vector<double> marks(length, 0);
  int lists = 0;
  for (const Json& list : rationales) {
    const bool none = list.is_array() && !list.empty() && list.front() == -1;  // of an annotator without one
    if (none) continue;
    if (!list.is_array() || list.size() != length)
      throw TextError(place + ": a rationale is no list as long as post_tokens, " + std::to_string(length));
    for (std::size_t l = 0; l < length; ++l) {
      if (list[l] != 0 && list[l] != 1)
        throw TextError(place + ": a rationale holds " + list[l].dump() + ", expected 0 or 1");
      marks[l] += list[l].get<double>();
    }
    ++lists;
  }
  if (rationales.size() > kAnnotators || rationales.size() == 1)
    throw TextError(place + ": " + std::to_string(rationales.size()) + " rationales, expected 0, 2 or 3");
  for (double& mark : marks)
    mark = lists == 0                             ? 0
           : rationale == Rationale::mean         ? mark / lists
           : rationale == Rationale::union_of_all ? (mark > 0 ? 1 : 0)
                                                  : (2 * mark > lists ? 1 : 0);
  return marks;
}

}  // namespace

AnnotatedText read_hatexplain(std::string_view dataset, std::string_view divisions, Rationale rationale) {
  const Json posts = parse_json(dataset), parts = parse_json(divisions);
  if (!posts.is_object()) throw TextError("dataset: expected an object of posts");
  const std::unordered_map<std::string, const Json*> by_id = [&] {
    std::unordered_map<std::string, const Json*> map;
    for (const auto& [id, post] : posts.items()) map[id] = &post;
    return map;
  }();
  std::unordered_map<std::string, std::string> part_of;
  for (const std::string part : {"train", "val", "test"})
    for (const Json& id : list_of(parts, part.c_str(), "divisions")) {
      if (!id.is_string() || !by_id.contains(id))
        throw TextError("divisions: " + part + " names " + id.dump() + ", which is no post of the dataset");
      if (!part_of.emplace(id, part).second)
        throw TextError("divisions: " + part + " names " + id.dump() + ", which is there twice");
    }
  AnnotatedText text;
  for (const auto& [id, post] : posts.items()) {
    const std::string place = "post " + id;
    const Json& tokens = list_of(post, "post_tokens", place);
    const std::string label = label_of(post, place);
    AnnotatedExample example;
    example.relevant = weights_of(post, tokens.size(), rationale, place);
    for (const Json& token : tokens) {
      if (!token.is_string() || token.get_ref<const std::string&>().empty())
        throw TextError(place + ": token " + token.dump() + ", expected a text that is not empty");
      example.tokens.push_back(text.words.number(token.get_ref<const std::string&>()));
    }
    if (tokens.empty()) throw TextError(place + ": no token");
    const auto part = part_of.find(id);
    const std::string why = label.empty()            ? "no majority of annotators"
                            : part == part_of.end()  ? "in no division"
                            : part->second == "test" ? "in the test division"
                                                     : "";
    if (!why.empty()) {
      text.leave_out(why);
      continue;
    }
    example.label = text.labels.number(label);
    example.validation = part->second == "val";
    example.group = id;
    text.examples.push_back(std::move(example));
  }
  return text;
}

}  // namespace qksolve::training

#include "qksolve/results/json_text.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace qksolve::results {

namespace {

constexpr int kDeepest = 100;  // far from where recursion would exhaust the stack

// Walks over a text and tells where it is, whatever copies of it are made.
class Place {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Place(const char* at, const char*& reached) : at_(at), reached_(&reached) {}
  reference operator*() const { return *at_; }
  Place& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Place operator++(int) {
    Place before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Place& other) const { return at_ == other.at_; }
  bool operator!=(const Place& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Json parse_json(const std::string& path, const std::string& text, const std::vector<std::string>& known,
                std::size_t first_line) {
  const char *const begin = text.data(), *const end = begin + text.size(), *reached = begin;
  const auto refuse = [&](const std::string& what) {
    const auto line = first_line + static_cast<std::size_t>(std::count(begin, reached, '\n'));
    throw ContentError(path + ": line " + std::to_string(line) + what);
  };
  std::vector<std::set<std::string>> keys;  // of the objects around the place that is read
  const auto check = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth > kDeepest) refuse(": lists or objects are nested too deeply");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto key = value.get<std::string>();
    if (!keys.back().insert(key).second) refuse(": the key '" + key + "' is given twice");
    if (depth == 1 && !known.empty() && std::find(known.begin(), known.end(), key) == known.end())
      refuse(": unknown key '" + key + "', expected one of " + list(known));
    return true;
  };
  try {
    return Json::parse(Place(begin, reached), Place(end, reached), check);
  } catch (const Json::parse_error&) {
    refuse(" is not valid JSON (truncated?)");
  } catch (const Json::out_of_range&) {
    refuse(" is not valid JSON, a number is out of range");
  }
  return {};
}

}  // namespace qksolve::results

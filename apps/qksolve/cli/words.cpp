#include "cli/words.hpp"

#include <algorithm>
#include <numeric>

#include "cli/numbers.hpp"
#include "cli/usage.hpp"

namespace qksolve::app {

namespace {

// Levenshtein distance, to name the nearest known key.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : separator) + word;
  return joined;
}

void require_word(const std::string& option, const std::string& word,
                  const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end())
    throw UsageError(option + ": '" + word + "' is not allowed, expected " +
                     (allowed.size() == 1 ? allowed[0] : "one of " + join(allowed, ", ")));
}

std::vector<std::string> parse_words(const std::string& option, const std::string& text,
                                     const std::vector<std::string>& allowed) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ',')) {
    require_word(option, word, allowed);
    if (std::find(words.begin(), words.end(), word) != words.end())
      throw UsageError(option + ": '" + text + "' is not allowed, expected each word once");
    words.push_back(word);
  }
  return words;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t smallest = 2 + word.size() / 3;
  for (const std::string& candidate : known)
    if (const std::size_t d = distance(candidate, word); d < smallest) {
      smallest = d;
      nearest = candidate;
    }
  return nearest.empty() ? "" : ", did you mean '" + nearest + "'?";
}

}  // namespace qksolve::app

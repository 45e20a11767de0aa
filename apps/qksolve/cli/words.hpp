// Words of the command line and of configuration files.
#pragma once

#include <string>
#include <vector>

namespace qksolve::app {

std::string join(const std::vector<std::string>& words, const std::string& separator);

// Throws UsageError naming `option`, the word and what is allowed.
void require_word(const std::string& option, const std::string& word,
                  const std::vector<std::string>& allowed);

// `a,b,c`, each word of `allowed` at most once. Throws UsageError likewise.
std::vector<std::string> parse_words(const std::string& option, const std::string& text,
                                     const std::vector<std::string>& allowed);

// ", did you mean 'x'?" with the word of `known` that is nearest to `word`; empty if none is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace qksolve::app

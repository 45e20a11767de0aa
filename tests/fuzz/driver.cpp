// Runs a fuzz target on the files of a folder and on changes of them, the same ones every time.
// Usage: fuzz_TARGET FOLDER COUNT [FIRST]: all files, then inputs FIRST to FIRST + COUNT - 1. Or fuzz_TARGET
// FILE: that input alone. Where the target ends the process the input is left in finding_TARGET in the
// working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "fuzz/target.hpp"
#include "qksolve/numerics/random_integers.hpp"
#include "qksolve/results/result.hpp"

// Of the sanitizers, where they are linked.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using qksolve::numerics::RandomIntegers;

constexpr std::size_t kLargestInput = std::size_t{1} << 15;
constexpr unsigned kLongestSeconds = 30;  // an input that takes longer is a finding
constexpr std::uint64_t kStream = 5;

std::string finding_name, current;

void leave_finding() {
  const int file = open(finding_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const std::array<std::string_view, 3> message{"the input is in ", finding_name, "\n"};
  if (file < 0 || write(file, current.data(), current.size()) < 0) return;
  for (const std::string_view part : message)
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) return;
}

void on_signal(int signal) {
  leave_finding();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run_target(std::string input) {
  current = std::move(input);
  alarm(kLongestSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

// What readers treat in ways of their own, and the words of the files.
std::vector<std::string> dictionary(const std::vector<std::string>& seeds) {
  std::vector<std::string> words{
      "null",  "true",  "{}",      "[]",      "\"\"",         "-0",   "0",   "-1",
      "1e308", "1e309", "1e-400",  "NaN",     "inf",          "0x10", "1_0", "9223372036854775808",
      "[[",    "]]",    "{",       "}",       "\"",           ",",    ":",   "=",
      "\n",    "\n\n",  "\\u0000", "\\ud800", "\xef\xbb\xbf", "\xff", "`",   "\x1b"};
  words.emplace_back(1, '\0');
  auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_.+-", c);
  };
  for (const std::string& seed : seeds)
    for (auto first = seed.begin(); (first = std::find_if(first, seed.end(), in_word)) != seed.end();) {
      const auto end = std::find_if_not(first, seed.end(), in_word);
      words.emplace_back(first, end);
      first = end;
    }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// The bounds of the piece around `at` between characters for which `ends` holds.
template <class Ends>
std::pair<std::size_t, std::size_t> piece(const std::string& text, std::size_t at, Ends ends) {
  std::size_t first = at, end = at;
  while (first > 0 && !ends(text[first - 1])) --first;
  while (end < text.size() && !ends(text[end])) ++end;
  return {first, end};
}

std::string changed(const std::vector<std::string>& seeds, const std::vector<std::string>& words,
                    std::uint64_t number) {
  RandomIntegers random({0, 0, 0, kStream}, number);
  auto place = [&](const std::string& text) { return random.below(text.size() + 1); };
  auto range = [&](const std::string& text, std::size_t longest) {
    const std::size_t first = place(text);
    return std::pair(first, random.below(std::min(text.size() - first, longest) + 1));
  };
  std::string text = seeds[random.below(seeds.size())];
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::string& word = words[random.below(words.size())];
    switch (random.below(9)) {
      case 0:  // a byte
        if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
        break;
      case 1:  // a bit
        if (!text.empty()) text[random.below(text.size())] ^= static_cast<char>(1U << random.below(8));
        break;
      case 2:
        text.insert(place(text), word);
        break;
      case 3: {  // a word in place of another
        const auto [first, end] =
            piece(text, place(text), [](char c) { return std::strchr(" ,:=[]{}\"\n", c); });
        text.replace(first, end - first, word);
        break;
      }
      case 4: {
        const auto [first, length] = range(text, 64);
        text.erase(first, length);
        break;
      }
      case 5: {  // a chunk to another place
        const auto [first, length] = range(text, 256);
        const std::string chunk = text.substr(first, length);
        text.insert(place(text), chunk);
        break;
      }
      case 6: {  // a line twice, or away
        const auto [first, end] = piece(text, place(text), [](char c) { return c == '\n'; });
        const std::string line = text.substr(first, end + 1 - first);
        if (random.below(2) == 0)
          text.erase(first, line.size());
        else
          text.insert(first, line);
        break;
      }
      case 7: {  // the end of another file
        const std::string& other = seeds[random.below(seeds.size())];
        text = text.substr(0, place(text)) + other.substr(place(other));
        break;
      }
      default:  // cut
        if (random.below(4) == 0) text.resize(place(text));
    }
  }
  if (text.size() > kLargestInput) text.resize(kLargestInput);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 2) {
    std::cerr << "usage: " << words[0] << " FOLDER COUNT [FIRST], or " << words[0] << " FILE\n";
    return 2;
  }
  std::string name = std::filesystem::path(words[0]).filename();
  finding_name = "finding_" + name.substr(name.find('_') + 1);
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(leave_finding);
  else
    std::signal(SIGSEGV, on_signal);
  for (const int signal : {SIGABRT, SIGALRM, SIGFPE, SIGILL}) std::signal(signal, on_signal);

  std::vector<std::string> files;
  if (std::filesystem::is_directory(words[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(words[1])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(words[1]);
  }
  std::vector<std::string> seeds;
  for (const std::string& file : files) {
    seeds.push_back(qksolve::results::read_file(file));
    run_target(seeds.back());
  }
  const std::uint64_t count = words.size() > 2 ? std::stoull(words[2]) : 0;
  const std::uint64_t first = words.size() > 3 ? std::stoull(words[3]) : 0;
  const std::vector<std::string> dictionary_words = dictionary(seeds);
  for (std::uint64_t i = first; i < first + count; ++i) run_target(changed(seeds, dictionary_words, i));
  std::cout << name << ": " << seeds.size() << " files and " << count << " changes of them\n";
  return 0;
}

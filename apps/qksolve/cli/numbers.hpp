// Strict reading of numbers from the command line, independent of the locale.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace qksolve::app {

// What a real option allows: an interval whose ends may be left out.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false, open_high = false;

  bool contains(double value) const;
  std::string text() const;  // "in [0, 1]", "> 0"
};
inline constexpr Bounds kPositive{0.0, std::numeric_limits<double>::infinity(), true, true};

// All of these throw UsageError naming `option`, the text and what is allowed.

// A finite decimal number: `.3`, `3.`, `1e-3`. No nan, inf, hexadecimal, blanks or trailing characters. Never
// -0.
double parse_real(const std::string& option, std::string_view text, const Bounds& bounds);

// A plain decimal integer without leading zeros, exponent or sign other than '-'.
std::int64_t parse_integer(const std::string& option, std::string_view text, std::int64_t low,
                           std::int64_t high);

// `a,b,c`, each value once.
std::vector<std::int64_t> parse_integers(const std::string& option, std::string_view text, std::int64_t low,
                                         std::int64_t high);

// `a,b,c` or `start:stop:count` (both ends included, count >= 2, start < stop). No value twice.
std::vector<double> parse_grid(const std::string& option, std::string_view text, const Bounds& bounds);

// `a,b,c`, repetitions allowed.
std::vector<double> parse_reals(const std::string& option, std::string_view text, const Bounds& bounds);

// The pieces between commas; empty pieces are kept.
std::vector<std::string> split(std::string_view text, char separator);

// The shortest text that reads back as the same double.
std::string to_text(double value);

}  // namespace qksolve::app

#include "cli/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/usage.hpp"

namespace qksolve::app {

namespace {

[[noreturn]] void refuse(const std::string& option, std::string_view text, const std::string& allowed) {
  throw UsageError(option + ": '" + std::string(text) + "' is not allowed, expected " + allowed);
}

}  // namespace

bool Bounds::contains(double value) const {
  return (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
}

std::string Bounds::text() const {
  if (std::isinf(low) && std::isinf(high)) return "of any size";
  if (std::isinf(high)) return (open_low ? "> " : ">= ") + to_text(low);
  if (std::isinf(low)) return (open_high ? "< " : "<= ") + to_text(high);
  return std::string("in ") + (open_low ? "(" : "[") + to_text(low) + ", " + to_text(high) +
         (open_high ? ")" : "]");
}

double parse_real(const std::string& option, std::string_view text, const Bounds& bounds) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      !bounds.contains(value))
    refuse(option, text, "a real number " + bounds.text());
  return value == 0 ? 0 : value;  // -0 is 0
}

std::int64_t parse_integer(const std::string& option, std::string_view text, std::int64_t low,
                           std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::to_string(value) != text ||
      value < low || value > high)
    refuse(option, text,
           "a plain decimal integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

std::vector<std::int64_t> parse_integers(const std::string& option, std::string_view text, std::int64_t low,
                                         std::int64_t high) {
  std::vector<std::int64_t> values;
  for (const std::string& piece : split(text, ',')) {
    values.push_back(parse_integer(option, piece, low, high));
    if (std::count(values.begin(), values.end(), values.back()) > 1) refuse(option, text, "each value once");
  }
  return values;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<double> parse_reals(const std::string& option, std::string_view text, const Bounds& bounds) {
  std::vector<double> values;
  for (const std::string& piece : split(text, ',')) values.push_back(parse_real(option, piece, bounds));
  return values;
}

std::vector<double> parse_grid(const std::string& option, std::string_view text, const Bounds& bounds) {
  if (text.find(':') == std::string_view::npos) {
    std::vector<double> values = parse_reals(option, text, bounds);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      refuse(option, text, "each value once");
    return values;
  }
  const std::vector<std::string> pieces = split(text, ':');
  if (pieces.size() != 3) refuse(option, text, "start:stop:count or a list a,b,c");
  const double start = parse_real(option, pieces[0], bounds), stop = parse_real(option, pieces[1], bounds);
  if (!(start < stop)) refuse(option, text, "start:stop:count with start < stop");
  std::int64_t count = 0;
  try {
    count = parse_integer(option, pieces[2], 2, 1000000);
  } catch (const UsageError&) {
    refuse(option, text, "start:stop:count with a plain integer count from 2 to 1000000");
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(i + 1 == count
                         ? stop
                         : start + (stop - start) * static_cast<double>(i) / static_cast<double>(count - 1));
  // Neither overflow nor values that rounding makes equal.
  if (std::adjacent_find(values.begin(), values.end(), [](double a, double b) { return !(a < b); }) !=
      values.end())
    refuse(option, text, "start:stop:count whose values can be told apart");
  return values;
}

std::string to_text(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

}  // namespace qksolve::app

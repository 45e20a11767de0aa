#include "qksolve/results/printable.hpp"

namespace qksolve::results {

std::string printable(const std::string& text) {
  std::string line;
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
  };
  const auto escape = [&](std::size_t i) {
    line += "\\x";
    line += "0123456789abcdef"[byte(i) / 16];
    line += "0123456789abcdef"[byte(i) % 16];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0) {
      escape(i);
      escape(++i);
    } else if (byte(i) < 0x20 || byte(i) == 0x7f) {
      escape(i);
    } else {
      line += text[i];
    }
  }
  return line;
}

}  // namespace qksolve::results

#include "qksolve/results/figures/figure.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "qksolve/results/printable.hpp"

namespace qksolve::results {

namespace {

// Lengths in cm.
constexpr double kWidth = 8.6, kLeft = 1.45, kRight = 0.3, kTop = 0.25, kBottom = 1.05;
constexpr double kColourBox = 1.75;  // right of a panel with one
constexpr double kSharedGap = 0.36, kGap = 1.25, kTitle = 0.35;
constexpr double kKeyLine = 0.42;

std::string number(double value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

std::string fixed(double value, int digits) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
  return {buffer, end};
}

// The way of all text into a script. What is between backticks would be run, also in quotes; a line would
// end.
std::string in_quotes(const std::string& text) {
  std::string inside;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      inside += {'\\', c};
    } else if (c == '`' || code < 0x20 || code == 0x7f) {
      inside += '\\';
      for (const int shift : {6, 3, 0}) inside += static_cast<char>('0' + ((code >> shift) & 7));
    } else {
      inside += c;
    }
  }
  return '"' + inside + '"';
}

// The name of a file in the folder of the script: gnuplot takes "|name" and "<name" for commands, "-" and "~"
// for other things than a name.
std::string file_in_quotes(const std::string& name) {
  const bool ordinary = !name.empty() && std::isalnum(static_cast<unsigned char>(name[0])) != 0;
  return in_quotes(ordinary ? name : "./" + name);
}

// A text that may have marks for fonts and subscripts. gnuplot's SVG keeps the blanks beside them only where
// it finds two in a row.
std::string label(const std::string& text) {
  return in_quotes(text.find_first_of("{_^") == std::string::npos ? text : text + "{/*0.1   }");
}

// A letter of the sizes and lines that are right in print, whatever the unit of the terminal.
std::string terminal(const std::string& output, double height) {
  const std::string type = std::filesystem::path(output).extension().string();
  auto pixels = [](double cm, double per_inch) { return fixed(cm / 2.54 * per_inch, 0); };
  if (type == ".pdf")
    return "pdfcairo size " + fixed(kWidth, 2) + "cm," + fixed(height, 2) +
           "cm font \"sans-serif,8\" fontscale 0.75 linewidth 1.6 pointscale 1 dashlength 0.7 enhanced";
  if (type == ".png")
    return "pngcairo size " + pixels(kWidth, 300) + "," + pixels(height, 300) +
           " font \"sans-serif,8\" fontscale 3.125 linewidth 3.4 pointscale 3.8 dashlength 0.7 enhanced";
  return "svg size " + pixels(kWidth, 96) + "," + pixels(height, 96) +
         " font \"sans-serif,10.67\" linewidth 1.1 dashlength 0.7 enhanced background \"white\"";
}

// The title of an entry of the key, with marks for fonts and subscripts.
std::string marked_title(const KeyEntry& entry) {
  const std::string separator = entry.symbol.empty() || entry.title.empty() ? "" : ", ";
  return entry.symbol + separator + plain(entry.title);
}

// Letters that it shows, the marks left out.
std::size_t shown_letters(const KeyEntry& entry) {
  std::string text = marked_title(entry);
  for (const std::string mark : {"{/:Italic ", "_", "^", "{", "}", "\\"})
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.erase(at, mark.size());
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

struct Layout {
  const Figure& figure;
  std::size_t rows, key_rows = 0;
  double width, top, gap, column_gap, height;

  explicit Layout(const Figure& f)
      : figure(f), rows((f.panels.size() + f.columns - 1) / f.columns), width(panel_width(f)) {
    std::size_t longest = 1;
    for (const KeyEntry& entry : f.key) longest = std::max(longest, shown_letters(entry));
    const double entry_width = 0.95 + 0.145 * static_cast<double>(longest);
    const auto key_columns = std::max<std::size_t>(1, static_cast<std::size_t>((kWidth - 0.4) / entry_width));
    key_rows = (f.key.size() + key_columns - 1) / key_columns;
    const bool titles =
        std::any_of(f.panels.begin(), f.panels.end(), [](const Panel& p) { return !p.title.empty(); });
    gap = (f.shared_axes ? kSharedGap : kGap) + (titles ? kTitle : 0.0);
    column_gap = f.shared_axes ? kSharedGap : kLeft;
    top = kTop + kKeyLine * static_cast<double>(key_rows) + (key_rows > 0 ? 0.1 : 0.0) +
          (titles ? kTitle : 0.0);
    height = top + static_cast<double>(rows) * f.panel_height + static_cast<double>(rows - 1) * gap + kBottom;
  }
  double left(std::size_t i) const {
    return kLeft + static_cast<double>(i % figure.columns) * (width + column_gap);
  }
  double upper(std::size_t i) const {
    const std::size_t row = i / figure.columns;
    return top + static_cast<double>(row) * (figure.panel_height + gap);
  }
  bool numbers_x(std::size_t i) const {
    return !figure.shared_axes || i + figure.columns >= figure.panels.size();
  }
  bool numbers_y(std::size_t i) const { return !figure.shared_axes || i % figure.columns == 0; }
  // Panels side by side share the box of the first row.
  bool has_colour_box(std::size_t i) const {
    return !figure.panels[i].colour_label.empty() &&
           (figure.columns == 1 || i + 1 == std::min(figure.columns, figure.panels.size()));
  }
  std::string x(double cm) const { return fixed(cm / kWidth, 4); }
  std::string y(double cm_from_top) const { return fixed(1.0 - cm_from_top / height, 4); }
};

std::string frame(const Layout& layout, std::size_t i) {
  const Panel& panel = layout.figure.panels[i];
  const double left = layout.left(i), right = left + layout.width, upper = layout.upper(i),
               lower = upper + layout.figure.panel_height;
  std::string text = "set lmargin at screen " + layout.x(left) + "; set rmargin at screen " +
                     layout.x(right) + "; set tmargin at screen " + layout.y(upper) +
                     "; set bmargin at screen " + layout.y(lower) + "\n";
  std::string letter;
  if (layout.figure.panels.size() > 1)
    letter.append("(").append(1, static_cast<char>('a' + i % 26)).append(") ");
  if (!panel.title.empty())
    text += "set title " + label("{/*0.9 " + letter + plain(panel.title) + "}") + " offset 0,-0.7\n";
  else if (!letter.empty())
    text += "set label 1 " + in_quotes(letter) + " at screen " + layout.x(left - kLeft + 0.08) + ", screen " +
            layout.y(upper + 0.12) + " left\n";
  if (layout.numbers_x(i))
    text += "set xlabel " + label(panel.x_label) + " offset 0,0.6\n";
  else
    text += "set format x \"\"\n";
  // Labels at a fixed place: those of stacked panels stand in one line, however wide the numbers are.
  if (layout.numbers_y(i))
    text += "set label 2 " + label(panel.y_label) + " at screen " + layout.x(left - kLeft + 0.28) +
            ", graph 0.5 center rotate\n";
  else
    text += "set format y \"\"\n";
  if (layout.has_colour_box(i))
    text += "set colorbox user origin screen " + layout.x(right + 0.2) + ", screen " + layout.y(lower) +
            " size screen " + layout.x(0.25) + ", screen " +
            fixed(layout.figure.panel_height / layout.height, 4) + "\nset cblabel " +
            label(panel.colour_label) + " offset -0.5,0\n";
  else
    text += "unset colorbox\n";
  return text;
}

}  // namespace

const std::string& line_colour(std::size_t i) {
  static const std::array<std::string, 7> colours{colour::blue,   colour::vermillion, colour::green,
                                                  colour::orange, colour::purple,     colour::sky,
                                                  colour::black};
  return colours[i % colours.size()];
}

namespace {

constexpr std::array<std::array<int, 3>, 9> kCividis{{{0, 34, 78},
                                                      {26, 56, 111},
                                                      {64, 77, 107},
                                                      {94, 97, 110},
                                                      {124, 123, 120},
                                                      {155, 147, 119},
                                                      {188, 174, 108},
                                                      {222, 203, 86},
                                                      {254, 232, 56}}};

std::string hexadecimal(const std::array<int, 3>& colour) {
  std::string text = "#";
  for (const int value : colour) {
    text += "0123456789ABCDEF"[value / 16];
    text += "0123456789ABCDEF"[value % 16];
  }
  return text;
}

std::string palette(const std::vector<std::string>& colours) {
  std::string text = "set palette defined (";
  for (std::size_t i = 0; i < colours.size(); ++i)
    text.append(i > 0 ? ", " : "").append(std::to_string(i)).append(" \"" + colours[i] + "\"");
  return text + ")";
}

}  // namespace

std::string sequential_colour(double place) {
  // The last eighth is too light for a line on white.
  const double position = std::clamp(place, 0.0, 1.0) * static_cast<double>(kCividis.size() - 2);
  const auto below = std::min(static_cast<std::size_t>(position), kCividis.size() - 3);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = static_cast<int>(std::lround(std::lerp(static_cast<double>(kCividis[below][i]),
                                                      static_cast<double>(kCividis[below + 1][i]),
                                                      position - static_cast<double>(below))));
  return hexadecimal(mixed);
}

std::string cividis_palette() {
  std::vector<std::string> colours;
  std::transform(kCividis.begin(), kCividis.end(), std::back_inserter(colours), hexadecimal);
  return palette(colours);
}

std::string red_blue_palette() {
  return palette({"#B2182B", "#EF8A62", "#FDDBC7", "#F7F7F7", "#D1E5F0", "#67A9CF", "#2166AC"});
}

std::string green_brown_palette() {
  return palette({"#01665E", "#5AB4AC", "#C7EAE5", "#F5F5F5", "#F6E8C3", "#D8B365", "#8C510A"});
}

std::string Scale::column(int index) const {
  const std::string name = std::to_string(index);
  return factor == 1 ? name : "($" + name + "*" + number(factor) + ")";
}

Scale scale_for(double largest) {
  if (!(largest > 0)) return {};
  const int exponent = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
  if (exponent >= -1 && exponent <= 3) return {};
  return {std::pow(10.0, -exponent), " (10^{" + std::to_string(exponent) + "})"};
}

std::string plain(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text))
    escaped += std::string("_^{}@&~\\").find(c) == std::string::npos ? std::string{c} : std::string{'\\', c};
  return escaped;
}

double panel_width(const Figure& figure) {
  const bool colour_box = std::any_of(figure.panels.begin(), figure.panels.end(),
                                      [](const Panel& panel) { return !panel.colour_label.empty(); });
  const auto columns = static_cast<double>(figure.columns);
  return (kWidth - kLeft - (colour_box ? kColourBox : kRight) -
          (columns - 1) * (figure.shared_axes ? kSharedGap : kLeft)) /
         columns;
}

std::string gnuplot_script(const Figure& figure, const std::string& output, const std::string& table) {
  const Layout layout(figure);
  std::string script =
      "# A figure of qksolve plot; gnuplot 5.4 or later, run in the folder of the table.\n"
      "set terminal " +
      terminal(output, layout.height) + "\n" + "set output " + file_in_quotes(output) + "\n" +
      "set encoding utf8\n"
      "table = " +
      file_in_quotes(table) +
      "\n"
      "common = \"set tics nomirror scale 0.5; set border 31 linewidth 0.6; set bars 0.5; set "
      "pointintervalbox 0.01; "
      "set xtics offset 0,0.3; set ytics offset 0.4,0; set cbtics offset -0.8,0 scale 0.3; unset key; set "
      "autoscale xfix\"\n"
      "set multiplot\n";
  std::size_t block = 0;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const Panel& panel = figure.panels[i];
    script += "\nreset\neval common\n";
    for (const std::string& setting : panel.settings) script += setting + "\n";
    script += frame(layout, i);
    if (i == 0 && !figure.key.empty())
      script += "set key at screen " + layout.x(0.4) + ", screen " + layout.y(0.1) +
                " left top Left reverse vertical maxrows " + std::to_string(layout.key_rows) +
                " samplen 2 spacing 1.05 width -2\n";
    script += "plot \\\n";
    std::string separator;
    for (const Series& series : panel.series) {
      for (const std::string& layer : series.layers) {
        script += separator + "  table index " + std::to_string(block) + " " + layer + " notitle";
        separator = ", \\\n";
      }
      ++block;
    }
    if (i == 0)
      for (const KeyEntry& entry : figure.key)
        script += separator + "  keyentry " + entry.style + " title " + label(marked_title(entry));
    script += "\n";
  }
  return script + "\nunset multiplot\nunset output\n";
}

std::string gnuplot_table(const Figure& figure) {
  std::string text;
  std::size_t block = 0;
  for (const Panel& panel : figure.panels)
    for (const Series& series : panel.series) {
      if (block > 0) text += "\n\n";
      text.append("# ").append(std::to_string(block)).append(": " + printable(series.name) + "\n#");
      for (const std::string& column : series.columns) text += " " + column;
      text += "\n";
      for (const auto& row : series.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) text.append(i > 0 ? " " : "").append(number(row[i]));
        text += "\n";
      }
      ++block;
    }
  return text;
}

}  // namespace qksolve::results

// A figure as data: panels of series, written as a gnuplot script and the table that it reads.
#pragma once

#include <string>
#include <vector>

namespace qksolve::results {

// One block of the table and how gnuplot draws it.
struct Series {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  // finite numbers; an empty row interrupts a line
  std::vector<std::string> layers;        // "using 1:2 with lines ...", drawn one over the other
};

// Axis labels have marks for fonts and subscripts; titles and names are shown letter by letter.
struct Panel {
  std::string title, x_label, y_label;
  std::vector<std::string> settings;  // gnuplot commands for this panel
  std::vector<Series> series;
  std::string colour_label;  // of its colour box; empty: it has none
};

struct KeyEntry {
  std::string title, style;  // "with lines ..."
  std::string symbol = {};   // before the title, with marks for fonts and subscripts
};

struct Figure {
  std::vector<Panel> panels;
  std::vector<KeyEntry> key;  // above the panels
  std::size_t columns = 1;    // of panels
  double panel_height = 3.4;  // cm
  bool shared_axes = false;   // panels side by side and one over the other have the same axes, numbered once
};

// Colours for lines that everybody can tell apart (Okabe & Ito, jfly.uni-koeln.de/color).
namespace colour {
inline const std::string black = "#000000", orange = "#E69F00", sky = "#56B4E9", green = "#009E73",
                         yellow = "#F0E442", blue = "#0072B2", vermillion = "#D55E00", purple = "#CC79A7";
}
// The i-th of seven, without the yellow that is too light for a line.
const std::string& line_colour(std::size_t i);
// A place in [0, 1] of the sequential map of `cividis_palette` that is dark enough for a line.
std::string sequential_colour(double place);

// Settings of a panel's palette: cividis (Nunez, Anderton & Renslow, PLoS ONE 2018); diverging maps of
// ColorBrewer that the colour-blind can read, red-white-blue and green-white-brown.
std::string cividis_palette();
std::string red_blue_palette();
std::string green_brown_palette();

// "using 1:($2*1e3):($3*1e3)" and what to write behind the axis label, so that no tick needs an exponent.
struct Scale {
  double factor = 1;
  std::string label;  // "" or " (10^{-3})"

  std::string column(int index) const;
};
// For values up to `largest` in size.
Scale scale_for(double largest);

// Any text as gnuplot shows it letter by letter, whatever marks for fonts and subscripts or control
// characters it has.
std::string plain(const std::string& text);

// Width in cm of a panel, for square ones.
double panel_width(const Figure& figure);

// The script writes `output` (its extension svg, pdf or png selects the format) and reads `table`; both are
// names relative to the script's own folder. Texts of the figure and names of files become strings that stand
// for nothing but themselves: none of them is run, whatever it holds. Width: one column, 8.6 cm, letters of 8
// points.
std::string gnuplot_script(const Figure& figure, const std::string& output, const std::string& table);

// Blocks in the order of the series, each with its name and columns as comments; round-trip digits.
std::string gnuplot_table(const Figure& figure);

}  // namespace qksolve::results

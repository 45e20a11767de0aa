// From a figure to a file, by gnuplot.
#pragma once

#include <stdexcept>
#include <string>

#include "qksolve/results/figures/figure.hpp"

namespace qksolve::results {

// gnuplot is not installed, or could not draw.
class GnuplotError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes the script and the table of a figure beside `path`: fig.gp and fig.dat for fig.svg. Running gnuplot
// on the script in its folder makes the figure. Throws FileError.
void write_script(const Figure& figure, const std::string& path);

// Makes the figure and returns the warnings of gnuplot. `path` ends in .svg, .pdf or .png, and is there
// completely or not at all. Throws FileError if it cannot be written, GnuplotError, for a missing gnuplot
// with the name of its package.
std::string draw(const Figure& figure, const std::string& path);

}  // namespace qksolve::results

// Runs gnuplot on a script and prepares the SVG that it gives for a place inside an HTML page.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tabane::lab {

struct Drawing {
  std::string svg;       // empty: not drawn
  std::string error;     // why not, in one sentence
  bool missing = false;  // the program itself is not there
  bool hangs = false;    // it was killed, because it did not end in time
};

// Runs the script STEM.gp, which reads STEM.dat and writes STEM.svg, in a temporary directory that
// is removed again. program: looked up in PATH. limit: a program that runs longer is killed.
Drawing run_gnuplot(const std::string& stem, const std::string& script, const std::string& data,
                    const std::string& program = "gnuplot",
                    std::chrono::milliseconds limit = std::chrono::seconds(60));

// Returns the drawing as an svg element that scales with its container and takes its colours from
// the page: black becomes the colour of the text, the palette of plot.h becomes CSS variables
// with the printed colour as fallback, the background goes. Ids get `prefix`, so that several can
// share a page. title: for those who cannot see it.
std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view title);

}  // namespace tabane::lab

// Runs gnuplot on a script.
#pragma once

#include <chrono>
#include <string>

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

}  // namespace tabane::lab

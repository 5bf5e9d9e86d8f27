// Errors of several lines: a sentence, and reasons or what a command has printed.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tabane::program {

class MoreLines {
 public:
  explicit MoreLines(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }
  virtual ~MoreLines() = default;
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

template <class Error>
class WithLines : public Error, public MoreLines {
 public:
  WithLines(const std::string& sentence, const std::string& text)
      : Error(sentence), MoreLines(text) {}
};

}  // namespace tabane::program

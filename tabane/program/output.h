// Records and errors on their way to the user and back: results as JSON to stdout or a file, a
// report to a directory, a record from a file, errors of several lines.
#pragma once

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/output_file.h"
#include "tabane/lab/record/record.h"
#include "tabane/program/args.h"

namespace tabane::program {

// The option --json[=FILE]; FILE "-" is stdout.
class JsonOption {
 public:
  Option row();
  bool given() const { return file_.has_value(); }
  // Also if FILE is a name of what stdout is, such as /dev/stdout.
  bool to_stdout() const;
  // What write() makes or replaces; empty: no file.
  std::string file() const { return given() && !to_stdout() ? *file_ : std::string(); }
  // throws: core::UsageError if the file given cannot be written; nothing is measured then.
  // errors: write_error() may write there, too, from now on.
  void check(bool errors = true) const;
  // As `errors` of check(), for verbs that first find out whether they read or write the file.
  void allow_errors() const;
  // Writes to stdout or the file if the option was given. throws: core::SystemError.
  void write(const lab::Json& json) const;
  // The same of a text that is too long to stand in memory.
  void write(const core::Produce& produce) const;

 private:
  std::optional<std::string> file_;
};

// Where the verb that was called has --json and has written nothing by it, writes a record of the
// error that ends the program in place of the results; not to a stdout that is the verb's OUT, and
// to a file only once the verb has found it fit. A record that cannot be written either is left
// out.
void write_error(const Given& given, const std::string& sentence, int exit_code);

// For options whose FILE may be stdout: "-", or a name of what stdout is, such as /dev/stdout.
bool is_stdout(std::string_view file);
// Of a file that may be stdout, or empty: none. throws: as require_writable_file().
void require_writable_text(std::string_view flag, const std::string& file);
// Writes to stdout or the file, if there is one. throws: core::SystemError.
void write_text(const std::string& file, const std::string& text);

// throws: core::UsageError naming the flag if there can be no file of that name.
void require_writable_file(std::string_view flag, const std::filesystem::path& path);

// Makes the directory if it is missing. throws: core::UsageError naming the flag if files cannot be
// made in it.
void require_writable_directory(const std::filesystem::path& directory,
                                std::string_view flag = "--output");

// What an error says beyond its sentence: reasons, or what a command has printed.
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

// Reads a survey, study, bench or comparison of any schema version that this program knows.
// throws: core::UsageError naming the file and what is wrong with it; core::SystemError.
lab::Record read_record(const std::string& file);

}  // namespace tabane::program

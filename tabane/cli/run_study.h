// What all studies share on the command line: options, progress, tables, JSON and the page.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tabane/cli/output.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/progress.h"

namespace tabane::cli {

struct StudyOptions {
  bool quiet = false, wide = false;
  JsonOption json;
  std::string output;  // directory of the page and the figures; empty: none

  // Adds --quick, with this help, and what all studies have: -o, --json, -q, --wide.
  void add_to(CLI::App& command, bool& quick, const std::string& quick_help);
};

// A table of a record in at most `width` columns.
std::string table_text(const lab::Rows& rows, std::size_t width);

// Prints title, source, tables, sentences and what was not measured.
void print_study(const lab::Record& record, bool wide);

// Prints a record's warnings on stderr: what was seen, what it may mean, what to do.
void print_warnings(const lab::Record& record);

// Runs run(hooks) and shows the record that it returns, if it returns one; what was measured before
// Ctrl-C, too. print_more: what stands after it on stdout.
void run_study(const StudyOptions& options,
               const std::function<std::optional<lab::Record>(const lab::Hooks&)>& run,
               const std::function<void()>& print_more = {});

// A verb below `tabane study`. Its options are declared here alone: the record gets those that were
// given as its command line. What they fill must live as long as the command.
class StudyVerb {
 public:
  StudyVerb(CLI::App& studies, const char* name, const char* what, const char* examples);

  void add_common(bool& quick, const char* quick_help);  // as StudyOptions::add_to()
  template <class T>
  CLI::Option* add(const char* flags, const char* value, T& target, const std::string& help) {
    return command_->add_option(flags, target, help)->type_name(value);
  }
  template <class T>
  CLI::Option* add_list(const char* flags, const char* value, std::vector<T>& target,
                        const std::string& help) {
    return add(flags, value, target, help)->delimiter(',');
  }
  // A number from 1 on.
  template <class Number>
  CLI::Option* add_count(const char* flags, Number& target, const std::string& help) {
    return add(flags, "N", target, help)->check(CLI::PositiveNumber);
  }
  template <class Number>
  CLI::Option* add_count(const char* flags, Number& target, const std::string& help,
                         std::type_identity_t<Number> most) {
    return add(flags, "N", target, help)->check(CLI::Range(Number{1}, most));
  }
  // Typed with units: sizes "64K", a time "10s" of 1 to 3600 seconds.
  CLI::Option* add_size(const char* flags, std::uint64_t& bytes, const std::string& help);
  CLI::Option* add_sizes(const char* flags, const char* value, std::vector<std::uint64_t>& bytes,
                         const std::string& help);
  CLI::Option* add_time(const char* flags, double& seconds, const std::string& help);

  using Run =
      std::function<std::optional<lab::Record>(const core::Topology&, const lab::Hooks& hooks)>;
  // instead: returns true if the command was called for something else, and has done it.
  void runs(Run run, std::function<bool()> instead = {});
  CLI::App* operator->() { return command_; }
  CLI::App& operator*() { return *command_; }

 private:
  CLI::App* command_;
  std::shared_ptr<StudyOptions> options_ = std::make_shared<StudyOptions>();
};

}  // namespace tabane::cli

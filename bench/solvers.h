// Verbs of tabane that solve something, as contenders: whole programs that report how long that
// took.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bench/bench.h"
#include "tabane/core/temporary_file.h"

namespace tabane::bench {

// arguments: the verb and its options, apart from --json, which goes to `json`. last: gets the
// record of the last run. launcher: the words before the program. The seconds are those that the
// program reports; a run whose check fails ends the bench.
Contender solver_run(const Settings& settings, const std::filesystem::path& json,
                     const std::string& name, const std::string& arguments, double amount,
                     std::shared_ptr<lab::Json> last = {}, const std::string& launcher = "");

// What the parts of the topic "solvers" share.
struct Solvers {
  using Last = std::shared_ptr<lab::Json>;

  explicit Solvers(Panel& of) : panel(of) {}

  // solver_run() in this folder.
  Contender run(const std::string& name, const std::string& arguments, double amount,
                Last last = {}, const std::string& launcher = "") const;
  // A program that was built next to this one, with two threads on two PUs.
  Contender peer(const std::string& name, const std::string& program, int n, double amount,
                 double target, const std::string& version) const;
  // Reports the share of a limit that was measured in the same run.
  void tell_share(const std::string& question, const std::string& figure,
                  const std::string& arguments, double least) const;

  Panel& panel;
  core::ScratchFolder folder{"solvers"};
};

Topic solvers_topic(std::function<void(Panel&)> run);

}  // namespace tabane::bench

// The options of commands that measure on ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tabane/lab/campaign/ranks.h"

namespace tabane::cli {

inline comm::TransportKind transport_named(const std::string& name) {
  return name == "shm"   ? comm::TransportKind::shm
         : name == "mpi" ? comm::TransportKind::mpi
                         : comm::TransportKind::automatic;
}

// Adds --transport and -n/--processes to a command; they fill `options`, which must live as long as
// the command.
inline void add_rank_options(CLI::App& command, lab::RankOptions& options) {
  command
      .add_option_function<std::string>(
          "--transport",
          [&options](const std::string& name) { options.transport = transport_named(name); },
          "Send messages by shm, mpi or auto: mpi under its launcher (default auto)")
      ->check(CLI::IsMember({"auto", "shm", "mpi"}))
      ->type_name("NAME");
  command
      .add_option("-n,--processes", options.most_ranks,
                  "Use at most N ranks (default: 4 times the PUs; over MPI all that it has)")
      ->check(CLI::Range(2, lab::kMostRanksForked))
      ->type_name("N");
}

}  // namespace tabane::cli

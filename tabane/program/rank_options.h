// The options of commands that measure on ranks.
#pragma once

#include <string>
#include <vector>

#include "tabane/lab/campaign/ranks.h"
#include "tabane/program/args.h"

namespace tabane::program {

inline comm::TransportKind transport_named(const std::string& name) {
  return name == "shm"   ? comm::TransportKind::shm
         : name == "mpi" ? comm::TransportKind::mpi
                         : comm::TransportKind::automatic;
}

// --transport and -n/--processes of a verb; they fill `options`.
inline std::vector<Option> rank_rows(lab::RankOptions& options) {
  return {{"--transport NAME",
           [&options](const Words& names) { options.transport = transport_named(names.back()); },
           "Send messages by shm, mpi or auto: mpi under its launcher (default auto)",
           {.choices = {"auto", "shm", "mpi"}}},
          {"-n,--processes N",
           &options.most_ranks,
           "Use at most N ranks (default: 4 times the PUs; over MPI all that it has)",
           {.range = {2, lab::kMostRanksForked}}}};
}

}  // namespace tabane::program

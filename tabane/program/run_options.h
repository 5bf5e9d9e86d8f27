// Where commands and verbs run: the options of `tabane run` that say where and on what, for all
// verbs that start commands; the options of verbs that measure on ranks; verbs whose work several
// ranks share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/program/args.h"

namespace tabane::comm {
class Comm;
}
namespace tabane::core {
struct Placement;
}

namespace tabane::program {

// The value of a variable of this process; null: it is not set.
std::optional<std::string> own_variable(const std::string& name);

// The options; they fill `request`.
std::vector<Option> run_rows(RunRequest& request);

// Reads "-c 0-3 --malloc jemalloc". throws: core::UsageError naming what is wrong.
RunRequest run_request_of(const std::string& options);

// throws: core::UsageError if a command cannot read the file that --input names.
void require_readable_input(const std::string& file);

// Lets a command run as planned: in its places, on its memory, with its environment.
void apply(const RunPlan& plan, lab::ChildCommand& command);

comm::TransportKind transport_named(const std::string& name);

// Warns on stderr if ranks on shared memory are more than the PUs.
void warn_of_turns(const core::Placement& placement);

// --transport and -n/--processes of a verb; they fill `options`.
std::vector<Option> rank_rows(lab::RankOptions& options);

// Calls rank_0 with the ranks if this process is the first of several, or with null if it is alone,
// and returns what it returns. Calls `other` in the other processes, which say nothing: returns
// 0. A rank that is lost costs nothing once rank_0 has returned; rank_0 says in `lost` that it
// was, if it knows. throws: what rank_0 throws;
// core::UsageError if an MPI launcher has started this process and MPI cannot be used, or a batch
// system has started it as one of several tasks without MPI.
int on_ranks(const std::function<int(comm::Comm* ranks, bool& lost)>& rank_0,
             const std::function<void(comm::Comm& ranks)>& other);

}  // namespace tabane::program

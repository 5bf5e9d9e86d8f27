// Ping-pongs that need ranks of MPI: between two ranks of an MPI launcher, by messages over MPI and
// on two hosts by TCP, too; over the size or, of one size, over time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/core/helper_process.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

inline constexpr std::uint64_t kWatchedBytes = std::uint64_t{1} << 20;

enum class LinkTask {
  sizes,     // messages of all sizes, and the CPU time of those of kWatchedBytes
  watch,     // the rate of messages of kWatchedBytes over time
  products,  // something else than messages: the caller answers that
  answer     // one byte: whether the ranks are there
};

struct LinkRequest {
  double seconds = 0;  // that it may take, about; 0: nothing more is asked
  LinkTask task = LinkTask::sizes;
};

// What one way gave for one size; or, with a reason, why it gives nothing.
struct LinkSamples {
  std::string way;  // "tcp", "mpi"; empty: all
  std::uint64_t bytes = 0;
  std::vector<double> samples = {};  // half round trips, in the order of time
  std::string reason = {};
  // CPU time of both ranks for a byte while they took the one sample; null: not measured.
  std::optional<double> cpu_s_per_byte = {};
  int bits = 0, ranks = 0;  // of a product
};
Json to_json(const LinkSamples& samples);

// Gets samples as they come; returns whether more are wanted.
using LinkSink = std::function<bool(const LinkSamples&)>;

// Measures between ranks 0 and 1 of the world; all ranks call it with the same request, and `sink`
// is called on rank 0. hosts: none, or the names by which the hosts of ranks 0 and 1 are to find
// each other.
// throws: core::LostError.
void measure_link(comm::Comm& world, const std::vector<std::string>& hosts,
                  const LinkRequest& request, const LinkSink& sink);

// Starts `program`, which has to write what measure_link() gives, a line of JSON each, and an empty
// line at the end. between_calls: called at least ten times a second. Ends the program if `sink`
// wants no more, or if one of the two throws.
// throws: core::LostError if the program ends too soon or says nothing for long, with what it wrote
// to stderr.
void ask_link(core::HelperProgram program, const LinkSink& sink,
              const std::function<void()>& between_calls);

}  // namespace tabane::lab

// The study process-thread: threads only, processes only and teams of both at allocation-heavy
// work, what forks cost, and how good the chosen processes × threads are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/study.h"

namespace tabane::lab {

// What is empty or 0 is chosen.
struct ProcessThreadOptions {
  bool quick = false;
  std::vector<std::string> workloads;   // names; empty: all
  std::vector<std::string> allocators;  // names; empty: all that are installed
  unsigned runs = 0;                    // of each point; 0: as many as the time allows
  std::uint64_t text_bytes = 0;         // of the generated corpus
  std::string text_directory;           // count the words of these files instead
};

// The legal names of workloads, in the order in which they are measured.
std::vector<std::string> process_thread_workloads();

// Answers the requests of the study, one at a time. Lives in a process of its own, for each
// allocator, that is small and has no other threads; every measurement is made in a child of it.
class ProcessThreadMeter {
 public:
  ProcessThreadMeter();
  ~ProcessThreadMeter();
  // Never throws: an error is part of the answer.
  Json answer(const Json& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How the study reaches meters.
struct ProcessThreadMeters {
  using Ask = std::function<Json(const Json& request)>;
  // Starts a meter under this allocator; it ends with the last copy of Ask. throws:
  // core::UsageError if the allocator is not known or not installed; core::SystemError. Ask throws
  // core::LostError if the meter is gone.
  std::function<Ask(const std::string& allocator)> start;
  std::vector<std::string> allocators;  // that may be there; the first is the baseline
};

// throws: core::UsageError for options that cannot be, core::VerificationError if a result is
// wrong, core::SystemError, core::LostError.
Study run_process_thread(const core::Topology& topology, const ProcessThreadOptions& options,
                         const ProcessThreadMeters& meters, const SurveyHooks& hooks = {});

}  // namespace tabane::lab

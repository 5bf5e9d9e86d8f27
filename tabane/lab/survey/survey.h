// The survey: runs probes on this machine and collects everything that the report shows, and what
// it says of its figures: views of several probes, sentences, advice, the checklist.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

struct SurveyOptions {
  std::vector<std::string> only;  // patterns; empty: all probes
  bool quick = false;
  std::string command_line;
};

// Checks that a survey of these patterns can run on this machine.
// throws: core::UsageError for unknown patterns, and if the topology is that of another machine.
void check_survey(const core::Topology& topology, std::span<const std::string> only);

// Runs these probes for a study: adds what they find to its record, with views and advice.
// throws: as check_survey(), before anything runs.
void add_probes(Record& record, const core::Topology& topology, std::span<const std::string> only,
                const Hooks& hooks = {});

// Runs the survey. The record is complete unless stop_requested became true.
// throws: as check_survey(), before anything runs.
Record run_survey(const core::Topology& topology, const SurveyOptions& options,
                  const Hooks& hooks = {});

// ---- what it says of the figures of a record ----

// Adds the views that need results of several probes, the shares of limits and the roofline, or
// replaces them, and puts all views into the order of the page.
void present(Record& record);

// Whether a result tells of tabane's own loops or messages rather than of the machine.
inline bool is_of_tabane(std::string_view result) {
  return result.starts_with("simd.") || result.starts_with("comm.");
}

// The twelve rules of Hoefler and Belli, filled in from the record.
std::vector<ChecklistRow> fill_checklist(const Record& record);

// Three sentences in plain words: what the machine is good at, what limits it, what looks wrong.
std::vector<std::string> sentences(const Record& record);

inline constexpr std::size_t kMostAdvice = 5;

// At most kMostAdvice pieces of advice, the greatest gain first; empty: there is nothing to change,
// or too little was measured. Every gain is a ratio of figures of this record.
std::vector<Advice> advise(const Record& record);

// Whether the record has what advise() looks at: then no advice is an answer.
bool can_advise(const Record& record);

// ---- figures that cannot all be true ----

// A figure of memory of which a part came from a cache.
inline constexpr const char* kPartlyCache = "partly_cache";

struct Contradiction {
  std::string id;                  // stable: "slower_together"
  std::string seen;                // the pair of figures, and what they should be
  std::vector<std::string> names;  // of the results
};

// Pairs of figures whose intervals are more than 3 % apart in the wrong order:
// - all cores together slower than one of them;
// - a level of the memory slower than one farther away;
// - copying or a triad faster than the reading, or the writing, in it can be;
// - the same quantity different in two probes, also if only each median is outside the other's
//   interval;
// a share of a limit above 103 %: the roof is too low; and a figure of memory that half of the data
// make 3 % greater.
std::vector<Contradiction> contradictions(const Record& record);

// The names of all results in contradictions: no sentence praises them or reckons with them.
std::set<std::string> doubtful_results(const Record& record);

// The machine as a picture: packages, NUMA nodes, caches, cores and PUs as lstopo draws them, with
// what a survey has measured of them.
//
// Returns an SVG file, light and dark. What `record` does not have is left out.
std::string topology_svg(const core::Topology& topology, const Record& record);

}  // namespace tabane::lab

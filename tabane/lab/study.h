// A study: one of the reports run again on this machine, its tables with the report's figures
// beside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/record.h"
#include "tabane/lab/survey.h"

namespace tabane::lab {

// One demonstration of the report as text, ready to be laid out.
struct StudyTable {
  std::string title;
  std::string remark;                          // what the figures show, in one or two sentences
  std::vector<std::vector<std::string>> rows;  // the first is the head
};

struct Study {
  std::string name;
  std::string title;
  std::string source;  // the report
  std::vector<StudyTable> tables;
  SurveyRecord record;  // the figures measured, with raw samples
};

Json to_json(const Study& study);

// The four demonstrations of the HA8000 guide: clock-level timing, running on a chosen CPU, memory
// in a chosen place, SIMD. throws: as run_survey().
Study run_ha8000(const core::Topology& topology, bool quick, const SurveyHooks& hooks = {});

// What the study aes-folder measures; what is empty or 0 is chosen.
struct AesFolderOptions {
  bool quick = false;
  std::vector<std::uint64_t> files;  // numbers of files
  std::vector<std::uint64_t> sizes;  // of each file, bytes
  std::vector<unsigned> threads;     // the number of PUs is always measured too
  unsigned runs = 0;      // of each point; 0: up to 100 (quick: 10), fewer where a run is long
  std::string directory;  // for the files; empty: a memory file system
};

// A directory encrypted file by file: the report's program, the same with dynamic scheduling,
// tabane's CBC and GCM, and plain copying as the limit, measured in turn; then what the report's
// program spends its time on and what coincides with its slow runs. record.sentences tells where
// the files were, record.skipped what did not fit. Leaves no files behind.
// throws: core::UsageError for options that cannot be, also if nothing fits into the place;
// core::SystemError; core::VerificationError if an output is wrong.
Study run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                     const SurveyHooks& hooks = {});

// Writes the figures of a study as .svg, .gp and .dat into directory (made if missing).
// Returns a remark for the user (figures left out because of gnuplot, or none at all), or null.
// throws: core::SystemError naming the file that cannot be written.
std::optional<std::string> write_study_figures(const Study& study,
                                               const std::filesystem::path& directory);

}  // namespace tabane::lab

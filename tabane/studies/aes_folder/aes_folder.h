// The study aes-folder: a directory encrypted file by file, by the report's program and by tabane,
// beside plain copying as the limit; what the program spends its time on, and what coincides with
// its slow runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tabane/lab/study/study.h"
#include "tabane/studies/aes_folder/aes_folder_device.h"
#include "tabane/studies/aes_folder/aes_folder_directory.h"
#include "tabane/studies/aes_folder/aes_folder_program.h"

namespace tabane::lab {

// What is empty or 0 is chosen.
struct AesFolderOptions {
  bool quick = false;
  std::vector<std::uint64_t> files = {};  // numbers of files
  std::vector<std::uint64_t> sizes = {};  // of each file, bytes
  std::vector<unsigned> threads = {};     // the number of PUs is always measured too
  unsigned runs = 0;           // of each point; 0: up to 100 (quick: 10), fewer where a run is long
  std::string directory = {};  // for the files; empty: a memory file system
};

// record.sentences tells where the files were, record.skipped what did not fit or failed. Leaves no
// files behind.
// throws: core::UsageError for options that cannot be, also if nothing fits into the place;
// core::VerificationError if an output is wrong; core::Error if everything failed.
Record run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                      const Hooks& hooks = {});

namespace aes_folder {

// What is encrypted: so many files of one size.
struct Folder {
  std::uint64_t files = 0, bytes = 0;  // bytes: of each file

  std::string label() const;  // "100 x 4 MiB"
  // kind: "implementation" or "variant".
  Factors point(const char* kind, const char* name, const Level& threads) const;
  friend bool operator==(const Folder&, const Folder&) = default;
};

struct Bench {
  Scratch& scratch;
  const FolderKey& key;
  const DeviceBench* device = nullptr;  // null: no coprocessor is measured
};

// ---- points {implementation, files, bytes, threads} ----

inline constexpr const char* kAutomatic = "automatic";  // threads: the implementation chooses

struct Implementation {
  const char* name;   // the level of the factor
  const char* title;  // "OpenMP static"
  bool chooses;       // how many threads, if it is asked to
  bool on_device;     // always chooses
  // Works on the input once and returns the number of threads. threads: 0: chosen.
  unsigned (*run)(const Bench& bench, unsigned threads);
};
std::span<const Implementation> implementations();

// All implementations with all numbers of threads, and those that choose with their own; the
// coprocessor where there is one, and a CPU in its place only on folders that do not take too long.
// bench: outlives the contenders.
std::vector<Contender> contenders(const Bench& bench, const Folder& folder,
                                  const std::vector<unsigned>& threads);

// Runs every implementation once and checks what it wrote: both versions of the report's program
// and tabane's CBC give the same bytes, GCM passes tabane's own verification, copies are equal.
// throws: core::VerificationError; Stopped.
void check_outputs(Visit& visit, const Bench& bench, const Folder& folder, unsigned threads);

// ---- points {variant, files, bytes, threads} ----

inline constexpr const char* kProgram = "program";  // the variant that is the program itself
inline constexpr const char* kDynamic = "schedule_dynamic";
inline constexpr const char* kMemoryKept = "memory_kept";
inline constexpr const char* kCopying = "copying_alone";

// One thing after the other that the program goes without; each variant is also without those
// before it.
struct Removal {
  Without what;
  const char* variant;
  const char* title;  // of what is gone
};
inline constexpr Removal kRemovals[] = {
    {Without::fresh_buffers, "without_fresh_buffers", "fresh buffers"},
    {Without::writing, "without_writing", "writing files"},
    {Without::reading, "without_reading", "reading files"},
    {Without::chain, "without_chain", "waiting in the chain"},
    {Without::cipher, "without_cipher", "AES"}};

// Measures the report's program, with removals and with single changes, in turn.
void measure_causes(Visit& visit, const Bench& bench, const Folder& folder, unsigned threads,
                    const Effort& effort);

// ---- what is shown ----

// Which values lie beyond Tukey's far fence above the median; NaN, not known, does not.
std::vector<bool> unusually_high(const std::vector<double>& values);

// Adds limits to the results, and tables and charts. pus: the threads of copying as the limit.
void add_views(Record& record, const Points& points, unsigned pus);

}  // namespace aes_folder
}  // namespace tabane::lab

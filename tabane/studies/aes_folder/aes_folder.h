// The study aes-folder: a directory encrypted file by file, by the report's program and by tabane,
// with plain copying as the limit; what the program spends its time on, and what coincides with
// its slow runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/temporary_file.h"
#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/secret.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab {

// What is empty or 0 is chosen.
struct AesFolderOptions {
  bool quick = false;
  std::vector<std::uint64_t> files = {};  // numbers of files
  std::vector<std::uint64_t> sizes = {};  // of each file, bytes
  std::vector<unsigned> threads = {};     // the number of PUs is always measured too
  unsigned runs = 0;           // of each point; 0: up to 100 (quick: 10), fewer where a run is long
  std::string directory = {};  // for the files; empty: a memory file system
  std::string also = {};       // another for the report's program and copying; empty: none
};

// record.sentences says where the files were, record.skipped what did not fit or failed. Leaves no
// files behind.
// throws: core::UsageError for options that cannot be, also if nothing fits into the place;
// core::VerificationError if an output is wrong; core::Error if everything failed.
Record run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                      const Hooks& hooks = {});

namespace aes_folder {

// ---- files ----

// A directory with an input and an output directory in it, and two for encrypted input. Removes
// what a killed study left next to it.
class Scratch {
 public:
  // throws: core::SystemError naming the directory.
  explicit Scratch(const std::string& place);

  std::string in() const { return (folder_ / "in").string(); }
  std::string out() const { return (folder_ / "out").string(); }
  std::string sealed() const { return (folder_ / "sealed").string(); }  // by CBC
  std::string sealed_by_gcm() const { return (folder_ / "gcm").string(); }

  // Empties all four, and fills the input with `files` files of `bytes` random bytes each.
  // throws: core::SystemError, as when the place is full.
  void fill_input(std::uint64_t files, std::uint64_t bytes);
  void empty_output();

 private:
  core::ScratchFolder folder_;
};

// SHA-256 of the names and contents of a directory's files, as 64 hexadecimal digits.
// throws: core::SystemError naming what cannot be read.
std::string digest_of_directory(const std::string& directory);

// ---- the report's program ----
//
// Written anew, and in versions from which one thing after the other is taken away, so that the
// differences show what each of them costs. AES-128-CBC with PKCS#7 padding through OpenSSL's EVP
// calls; a whole file in one allocation and its cipher text in another; OpenMP over the files; the
// same key and initial vector for all.

struct FolderKey {
  std::array<std::byte, 16> key{}, iv{};
};

enum class Schedule { fixed, dynamic };  // OpenMP's static and dynamic

// What is left out of the program; each value leaves out everything before it too.
enum class Without {
  nothing,
  fresh_buffers,  // the threads keep buffers that were touched before
  writing,        // no output files
  reading,        // no input files either
  chain,          // the same bytes as several independent chains, which share the AES pipelines
  cipher,         // threads that start, share out the files and end
};

// Buffers and ciphers that the threads keep. The buffers have been touched, and begin at a page:
// see crypto::PageBuffer.
struct KeptBuffers {
  // largest: of the files, bytes.
  KeptBuffers(unsigned threads, std::size_t largest, const FolderKey& key);

  struct OfThread {
    explicit OfThread(const FolderKey& key) : cipher(key.key) {}
    crypto::PageBuffer plain, sealed;
    crypto::CbcCipher cipher;
  };
  std::size_t largest;
  std::deque<OfThread> threads;
};

// Encrypts every regular file of directory `in` to a file of the same name in directory `out`.
// kept: for at least `threads` threads and the largest file; null: nothing is left out. Without
// reading, every file is as large as the largest.
// throws: core::SystemError naming a file that failed; core::Error if OpenSSL or OpenMP fails.
void encrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads, Schedule schedule, Without without = Without::nothing,
                    KeptBuffers* kept = nullptr);

// The other way round, with static scheduling. throws: as encrypt_folder(), also if a file is none
// of its outputs.
void decrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads);

// Copies every regular file as cp does: inside the kernel where it can, else by reading and
// writing. throws: as encrypt_folder().
void copy_folder(const std::string& in, const std::string& out, unsigned threads);

// ---- what is measured ----

// What is encrypted: a number of files of one size.
struct Folder {
  std::uint64_t files = 0, bytes = 0;  // bytes: of each file

  std::string label() const;  // "100 x 4 MiB"
  // kind: "implementation" or "variant".
  Factors point(const char* kind, const char* name, const Level& threads) const;
};

inline constexpr const char* kAutomatic = "automatic";   // threads: the implementation chooses
inline constexpr const char* kReport = "report_static";  // the report's program
inline constexpr const char* kCopy = "copy";

struct DeviceBench;
struct FolderBench {
  Scratch& scratch;
  const FolderKey& key;
  const DeviceBench* device = nullptr;  // null: no coprocessor is measured
};

// Points {implementation, files, bytes, threads}.
struct Implementation {
  const char* name;   // the level of the factor
  const char* title;  // "OpenMP static"
  bool chooses;       // how many threads, if it is asked to
  bool on_device;     // always chooses
  bool decrypts;      // what was encrypted before
  // Works on the input once and returns the number of threads. threads: 0: chosen.
  unsigned (*run)(const FolderBench& bench, unsigned threads);
};
std::span<const Implementation> implementations();

struct ThreadCounts {
  std::vector<unsigned> report;  // of the report's program
  std::vector<unsigned> others;  // of all others
  unsigned pus = 1;              // of decryption
};

// All implementations with their numbers of threads, and those that choose with their own; the
// coprocessor where the bench has one. bench: outlives the contenders.
std::vector<Contender> contenders(const FolderBench& bench, const Folder& folder,
                                  const ThreadCounts& threads);

// Makes the input of those that decrypt.
void seal_input(const FolderBench& bench, unsigned threads);

// Runs every implementation once and checks what it wrote: both versions of the report's program
// and tabane's CBC give the same bytes, GCM passes tabane's own verification, copies and what was
// decrypted are equal to the input.
// throws: core::VerificationError; Stopped.
void check_outputs(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads);

// Points {variant, files, bytes, threads}: the report's program, what it takes without one thing
// after the other, and with a single change.
struct Variant {
  const char* name;               // the level of the factor
  const char* removed = nullptr;  // in addition to what the one before goes without; null: nothing
  Without without = Without::nothing;
  Schedule schedule = Schedule::fixed;
  bool memory_kept =
      false;  // the allocator neither maps large blocks one by one nor gives any back
};
inline constexpr const char* kProgram = "program";
inline constexpr const char* kDynamic = "schedule_dynamic";
inline constexpr const char* kMemoryKept = "memory_kept";
inline constexpr const char* kCopying = "copying_alone";
inline constexpr Variant kVariants[] = {
    {kProgram},
    {"without_fresh_buffers", "fresh buffers", Without::fresh_buffers},
    {"without_writing", "writing files", Without::writing},
    {"without_reading", "reading files", Without::reading},
    {"without_chain", "waiting in the chain", Without::chain},
    {"without_cipher", "AES", Without::cipher},
    {.name = kDynamic, .schedule = Schedule::dynamic},
    {.name = kMemoryKept, .memory_kept = true}};

// Measures all variants, and copying alone, in turn.
void measure_variants(Visit& visit, const FolderBench& bench, const Folder& folder,
                      unsigned threads, const Effort& effort);

// Points {place, program, files, bytes, threads}: the report's program and copying in both
// directories, in turn, and over the output of the run before, as the report's runs were.
inline constexpr const char* kHere = "main";  // the place: the study's own directory
inline constexpr const char* kAlso = "also";  // the other
Factors place_factors(const char* place, const char* program, const Folder& folder,
                      const Level& threads);
// here, also: outlive the contenders.
std::vector<Contender> place_contenders(const FolderBench& here, const FolderBench& also,
                                        const Folder& folder, const std::vector<unsigned>& threads);

// ---- the coprocessor ----
//
// Where its time goes, and how many chains of which length it would take to beat the CPU. In
// memory, without files.

// Of a number of chains of one length, each as a file would be. who: "device" or "cpu".
Factors chain_factors(const char* who, const Folder& chains);

inline constexpr const char* kToDevice = "to_device_s";  // seen beside the device's times
inline constexpr const char* kKernel = "kernel_s";
inline constexpr const char* kFromDevice = "from_device_s";

// The default coprocessor, and the CPU with all its engines on the same data.
struct DeviceBench {
  std::string about;  // "NAME (PLATFORM), GPU of 132 units, 139 GiB"
  bool is_cpu = false;
  std::vector<Contender> contenders =
      {};                            // both on all chains; first a launch with hardly any work
  std::function<void()> check = {};  // throws: core::VerificationError if they differ in the bytes
};
// Null: there is no coprocessor, or it does not work; then `why` says so. lengths: of chains,
// bytes; empty: chosen.
std::optional<DeviceBench> open_device_bench(const FolderKey& key, const std::vector<unsigned>& pus,
                                             const std::vector<std::uint64_t>& lengths, bool quick,
                                             std::string& why);

// ---- ciphers of today ----

// Of a buffer in memory that one core encrypts, without files.
Factors cipher_factors(const char* cipher, std::uint64_t bytes);
inline constexpr const char* kCbc = "AES-128-CBC";  // the report's

// Sizes of a buffer with each cipher, each of which is checked first.
// throws: core::VerificationError; core::Error if OpenSSL lacks one.
std::vector<Contender> cipher_contenders(const FolderKey& key, bool quick);
// Adds rates over the size of a buffer.
void add_cipher_views(const StudyViews& views);

// ---- what is shown ----

// A row of the reports' tables: 100 runs of one size and number of threads, in seconds.
struct PublishedRuns {
  Folder folder;
  double threads = 0;
  std::optional<double> mean;  // null: not legible
  double minimum = 0, maximum = 0;
  double normal_runs = 100;                // those below the mean + 1 s …
  std::optional<double> normal_mean = {};  // … and their mean
};
const std::vector<PublishedRuns>& published_runs(const Record& report);

// The samples that are not 1 s longer than their mean, as the report calls them.
std::vector<double> normal_runs(const Point& point);

// Adds limits to the results, and tables and charts. pus: the threads of copying as the limit.
void add_views(Record& record, const Points& points, unsigned pus);
// Those of slow runs and of what coincides with them, and the chart of the runs in which outliers
// of the report's program lost most time.
void add_outlier_tables(const StudyViews& views);
void add_order_of_runs(const StudyViews& views);
// The table of both directories, and what it says about slow runs as a sentence.
void add_places(const StudyViews& views, const std::string& directory);

// The fewest chains, between the counts that were measured, from which on a is at most b; null:
// never. counts: rising.
std::optional<double> crossover(const std::vector<double>& counts, const std::vector<double>& a,
                                const std::vector<double>& b);

// Adds the table, the figure and the answer as a sentence. about: of the device; empty: none was
// measured.
void add_device_views(Record& record, const Points& points, const std::string& about);

// What the views share.

std::array<const Record*, 2> reports();  // of the host, of its coprocessor
// What was seen with the samples; NaN where nothing was noted.
std::vector<double> beside(const Point& point, const char* name);
// Also where they were chosen.
double threads_of(const Point& point);
// The limit: copying the row's folder with at most so many threads, as many as are fastest. Null:
// it was not measured.
const Point* fastest_copy(const Points& points, const Factors& row, double threads);
// Rows of tables: the folders with a point of that kind, small files first; files: their number;
// 0: any.
std::vector<Factors> folders(const Points& points, const char* kind, double files = 0);
std::string folder_name(const Factors& row);                   // "files100.bytes4194304"
Entry folder_label(const Points& points, const Factors& row);  // "100 x 4 MiB"
// The point of the row's folder with the least mean of normal runs among imposed numbers of
// threads.
Pick best_of(const std::string& who);

}  // namespace aes_folder
}  // namespace tabane::lab

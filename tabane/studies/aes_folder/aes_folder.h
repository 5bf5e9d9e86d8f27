// The study aes-folder: a directory encrypted file by file, by the report's program and by tabane,
// with plain copying as the limit; what the program spends its time on, and what coincides with
// its slow runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/temporary_file.h"
#include "tabane/crypto/cbc_cipher.h"
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
};

// record.sentences says where the files were, record.skipped what did not fit or failed. Leaves no
// files behind.
// throws: core::UsageError for options that cannot be, also if nothing fits into the place;
// core::VerificationError if an output is wrong; core::Error if everything failed.
Record run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                      const Hooks& hooks = {});

namespace aes_folder {

// ---- where the files are ----

struct FileLocation {
  std::string directory;
  bool in_memory = false;  // tmpfs or ramfs
  bool wanted = false;     // by the user
  std::uint64_t free_bytes = 0;
};

// Finds where files are written: `wanted`, or if it is empty /dev/shm, or if that is not a writable
// memory file system the system's directory for temporary files.
// throws: core::UsageError if `wanted` is not a directory in which files can be made.
FileLocation find_location(const std::string& wanted);

// A directory with an input and an output directory in it. Removes what a killed study left
// next to it.
class Scratch {
 public:
  // throws: core::SystemError naming the directory.
  explicit Scratch(const std::string& place);

  std::string in() const { return (folder_ / "in").string(); }
  std::string out() const { return (folder_ / "out").string(); }

  // Replaces the input by `files` files of `bytes` random bytes each.
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

// Encrypts every regular file of directory `in` to a file of the same name in directory `out`.
// throws: core::SystemError naming a file that failed; core::Error if OpenSSL or OpenMP fails.
void encrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads, Schedule schedule);

// Copies every regular file as cp does: inside the kernel where it can, else by reading and
// writing. throws: as encrypt_folder().
void copy_folder(const std::string& in, const std::string& out, unsigned threads);

// What is left out of the program; each value leaves out everything before it too.
enum class Without {
  nothing,
  fresh_buffers,  // the threads keep buffers that were touched before
  writing,        // no output files
  reading,        // no input files either
  chain,          // the same bytes as several independent chains, which share the AES pipelines
  cipher,         // threads that start, share out the files and end
};

// Buffers and ciphers that the threads keep.
class KeptBuffers {
 public:
  // Allocates and touches two buffers a thread. largest: of the files, bytes.
  KeptBuffers(unsigned threads, std::size_t largest, const FolderKey& key);
  ~KeptBuffers();
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

  struct PerThread {
    std::vector<std::byte> memory;
    std::span<std::byte> plain, sealed;
    std::unique_ptr<crypto::CbcCipher> cipher;
  };
  PerThread& of(int thread) { return threads_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<PerThread> threads_;
};

// Does encrypt_folder() with static scheduling and without something. kept: for at least `threads`
// threads and the largest file. throws: as encrypt_folder().
void encrypt_folder_without(Without what, const std::string& in, const std::string& out,
                            const FolderKey& key, unsigned threads, KeptBuffers& kept);

// Ends the threads that OpenMP keeps and gives back the memory that the allocator keeps, so that
// the next run starts as a program does.
void start_afresh();

// How the allocator deals with large blocks.
enum class LargeBlocks {
  as_it_adjusts,  // as glibc sets itself once a block of that size was freed
  kept,           // neither mapped one by one nor given back
};
// Returns false where the allocator has no such setting. largest: bytes of the largest block.
bool set_allocator(LargeBlocks how, std::size_t largest);

// ---- the coprocessor ----
//
// Where its time goes, and how many chains of which length it would take to beat the CPU. In
// memory, without files.

// A number of chains of one length, each as a file would be.
struct Chains {
  std::uint64_t count = 0, bytes = 0;  // bytes: of each

  std::string label() const;  // "256 x 64 KiB"
  // who: "device" or "cpu".
  Factors point(const char* who) const;
  friend bool operator==(const Chains&, const Chains&) = default;
};

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

// ---- folders ----

// What is encrypted: a number of files of one size.
struct Folder {
  std::uint64_t files = 0, bytes = 0;  // bytes: of each file

  std::string label() const;  // "100 x 4 MiB"
  // kind: "implementation" or "variant".
  Factors point(const char* kind, const char* name, const Level& threads) const;
  friend bool operator==(const Folder&, const Folder&) = default;
};

struct FolderBench {
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
  unsigned (*run)(const FolderBench& bench, unsigned threads);
};
std::span<const Implementation> implementations();

// All implementations with all numbers of threads, and those that choose with their own; the
// coprocessor where there is one, and a CPU in its place only on folders that do not take too long.
// bench: outlives the contenders.
std::vector<Contender> contenders(const FolderBench& bench, const Folder& folder,
                                  const std::vector<unsigned>& threads);

// Runs every implementation once and checks what it wrote: both versions of the report's program
// and tabane's CBC give the same bytes, GCM passes tabane's own verification, copies are equal.
// throws: core::VerificationError; Stopped.
void check_outputs(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads);

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
void measure_causes(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads,
                    const Effort& effort);

// ---- what is shown ----

inline constexpr const char* kReport = "report_static";  // the report's program
inline constexpr const char* kCopy = "copy";
std::array<const Record*, 2> reports();

// What was seen with the samples; NaN where nothing was noted.
std::vector<double> beside(const Point& point, const char* name);
// Also where they were chosen.
double threads_of(const Point& point);
// Returns which values are beyond Tukey's far fence above the median; NaN, not known, is not.
std::vector<bool> unusually_high(const std::vector<double>& values);

// Rows of tables: the folders with a point of that kind, small files first; files: their number;
// 0: any.
std::vector<Factors> folders(const Points& points, const char* kind, double files = 0);
// "files100.bytes4194304", "100 x 4 MiB"
std::string folder_name(const Factors& row);
Entry folder_label(const Points& points, const Factors& row);
// The point of the row's folder with the least mean among imposed numbers of threads.
Pick best_of(const std::string& who);

// Adds tables of slow runs, and what coincides with them.
void add_outlier_tables(const StudyViews& views);
// Adds the chart of the runs in which outliers of the report's program lost most time.
void add_order_of_runs(const StudyViews& views);

// Adds limits to the results, and tables and charts. pus: the threads of copying as the limit.
void add_views(Record& record, const Points& points, unsigned pus);

// The fewest chains, between the counts that were measured, from which on a is at most b; null:
// never. counts: rising.
std::optional<double> crossover(const std::vector<double>& counts, const std::vector<double>& a,
                                const std::vector<double>& b);

// Adds the table, the figure and the answer as a sentence. about: of the device; empty: none was
// measured.
void add_device_views(Record& record, const Points& points, const std::string& about);

}  // namespace aes_folder
}  // namespace tabane::lab

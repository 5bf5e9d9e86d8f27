// The coprocessor in the study aes-folder: where its time goes, and how many chains of which length
// it would take to beat the CPU. In memory, without files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"
#include "tabane/studies/aes_folder/aes_folder_program.h"

namespace tabane::lab::aes_folder {

// So many chains of one length, each as a file would be.
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
class DeviceBench {
 public:
  // Null: there is no coprocessor, or it does not work; then `why` tells. lengths: of chains,
  // bytes; empty: chosen.
  static std::unique_ptr<DeviceBench> open(const FolderKey& key, const std::vector<unsigned>& pus,
                                           const std::vector<std::uint64_t>& lengths, bool quick,
                                           std::string& why);
  ~DeviceBench();

  const std::string& about() const;  // "NAME (PLATFORM), GPU of 132 units, 139 GiB"
  bool is_cpu() const;
  // What is measured; the first is a launch with hardly any work.
  const std::vector<Chains>& works() const;
  // Both on these chains, in turn.
  std::vector<Contender> contenders(const Chains& chains);
  // throws: core::VerificationError if the two do not give the same bytes.
  void check(const Chains& chains);

 private:
  struct State;
  explicit DeviceBench(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// ---- what is shown ----

// The fewest chains, between the counts that were measured, from which on a is at most b; null:
// never. counts: rising.
std::optional<double> crossover(const std::vector<double>& counts, const std::vector<double>& a,
                                const std::vector<double>& b);

// Adds the table, the figure and the answer as a sentence. about: of the device; empty: none was
// measured.
void add_device_views(Record& record, const Points& points, const std::string& about);

}  // namespace tabane::lab::aes_folder

// How a tree is cut into units of work, and by how many threads it is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tabane/tools/encrypt/file_records.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

inline constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;  // a unit of its own

// Several whole files, or one piece of a large one.
struct Unit {
  std::uint32_t first_file = 0;
  std::uint32_t files = 1;
  std::uint32_t piece = 0, pieces = 1;  // of the one file
};

struct PlanOptions {
  unsigned threads = 0;          // 0: chosen
  unsigned pus = 1;              // that this process may use
  bool can_split = false;        // whether pieces of a file are independent
  std::uint64_t piece_unit = 1;  // a piece is a multiple of this
};

struct Plan {
  PlanOptions options;  // that it was made with
  unsigned threads = 1;
  std::uint64_t piece_bytes = 0;  // of every piece but the last of a file
  std::vector<Unit> units;        // large ones first, so that the threads end together
};

// Of its part of the input.
std::uint64_t bytes_of(const Unit& unit, const Tree& tree, const Plan& plan);

Plan make_plan(const Tree& tree, const PlanOptions& options);

// The number of threads that pays for this work: starting one must not take longer than what it
// takes over.
unsigned choose_threads(std::uint64_t files, std::uint64_t bytes, unsigned pus);

// The files that one thread encrypts as chains, side by side.
struct OpenChains {
  std::size_t files = 0;
  std::uint64_t bytes_left = 0;  // of them
};

// Whether a thread takes a further file of `bytes` bytes now. It takes its share of what is left
// and no more, so that no thread waits while another has several; a share of less than twice its
// lanes is taken as a whole, so that no lane is empty before the others.
// share: bytes left in the job, divided by its threads.
bool takes_chain(const OpenChains& open, std::uint64_t bytes, std::uint64_t share,
                 std::size_t lanes);

// A file that several ranks do in pieces: rank 0 has made its output, and gives it its name when
// all pieces are written.
struct Joint {
  char temporary[32] = {};  // the output's name until then; empty: nothing is written
  std::array<std::byte, kFileSaltBytes> salt{};  // of a file that is sealed
  std::uint64_t bytes = 0;                       // of the input, as rank 0 has seen it
  std::int64_t seconds = 0, nanoseconds = 0;     // of its last change
  std::uint64_t attempt = 0;                     // pieces of earlier ones count no more
};

// A unit on its way to a thread or another rank, and back with what became of it. One thread at a
// time.
struct Share {
  std::uint64_t unit = 0;  // in the plan
  bool is_joint = false;   // a piece of such a file
  Joint joint;

  bool done = false;                                    // the piece
  std::array<std::byte, crypto::kTagBytes> last_tag{};  // of the file, if it is the last piece
  std::uint64_t files = 0, bytes = 0;                   // of whole files: done
  std::uint64_t files_kept = 0, bytes_kept = 0;         // complete and current already
  std::vector<std::pair<std::uint32_t, FileRecord>> records;  // for the manifest

  auto fields() {
    return std::tie(unit, is_joint, joint, done, last_tag, files, bytes, files_kept, bytes_kept,
                    records);
  }
};

// Gives the units of a plan to the threads of a process that works with others.
class UnitSource {
 public:
  virtual ~UnitSource() = default;
  // Returns null if there is none any more, or if the job stops. A unit is done with when the last
  // pointer to it goes. Thread-safe.
  virtual std::shared_ptr<Share> next() = 0;
  // Called every millisecond from the thread that called run_job_threads(). Must not throw.
  virtual void tick() = 0;
};

}  // namespace tabane::encrypt

// What a rank of a job that several ranks do is given: a unit of the plan, and what becomes of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tabane/tools/encrypt/file_records.h"

namespace tabane::encrypt {

// A file that several ranks do in pieces: rank 0 has made its output, and gives it its name when
// all pieces are written. It is sent as it stands, so there are no gaps in it.
struct Joint {
  char temporary[32] = {};  // the output's name until then; empty: nothing is written
  std::array<std::byte, kFileSaltBytes> salt{};  // of a file that is sealed
  std::uint64_t bytes = 0;                       // of the input, as rank 0 has seen it
  std::int64_t seconds = 0, nanoseconds = 0;     // of its last change
  std::uint64_t attempt = 0;                     // pieces of earlier ones count no more
};

// One thread at a time.
struct Share {
  std::size_t unit = 0;        // in the plan
  std::optional<Joint> joint;  // if the unit is a piece of such a file

  bool done = false;                                    // the piece
  std::array<std::byte, crypto::kTagBytes> last_tag{};  // of the file, if it is the last piece
  std::uint64_t files = 0, bytes = 0;                   // of whole files: done
  std::uint64_t files_kept = 0, bytes_kept = 0;         // complete and current already
  std::vector<std::pair<std::uint32_t, FileRecord>> records;  // for the manifest
};

}  // namespace tabane::encrypt

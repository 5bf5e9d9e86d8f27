// For tests of many launches: their settings, and how each rank ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tabane/team/fork.h"

namespace tabane::comm {

// Returns what the environment sets for a run by hand (how long, which seed), or `otherwise`.
inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, which sets nothing
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

// How each rank ended, seen by the launching process, whether ranks are threads or processes.
class Ends {
 public:
  enum End { none, begun, finished, lost, wrong };
  explicit Ends(int ranks)
      : ranks_(ranks), block_(static_cast<std::size_t>(ranks) * sizeof(One), "test") {}

  // Each rank for itself. checked: messages or calls. text: its first 487 bytes.
  void note(int rank, End end, std::uint64_t checked = 0, const std::string& text = "") {
    One& one = at(rank);
    one.checked = checked;
    std::strncpy(one.text, text.c_str(), sizeof one.text - 1);
    one.end = end;
  }

  End end(int rank) const { return at(rank).end; }
  std::string text(int rank) const { return at(rank).text; }
  std::uint64_t checked() const {  // by all ranks
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += at(rank).checked;
    return sum;
  }
  int count(End end) const {
    int count = 0;
    for (int rank = 0; rank < ranks_; ++rank) count += at(rank).end == end ? 1 : 0;
    return count;
  }

 private:
  struct One {
    std::atomic<End> end;
    std::uint64_t checked;
    char text[488];
  };
  One& at(int rank) const { return reinterpret_cast<One*>(block_.data())[rank]; }

  int ranks_;
  team::SharedBlock block_;
};

}  // namespace tabane::comm

// What the kernel says about processes and threads under /proc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::team {

// Takes the text up to the next separator, and the separator, from the front.
std::string_view take_until(std::string_view& text, char separator);

// Takes blanks, the word after them, and the blank after it.
std::string_view take_word(std::string_view& text);

// "    12 kB" as 12288; 0 if it does not begin with a number.
std::uint64_t kib(std::string_view text);

// The number after `key` at the start of a line, "Rss:   12 kB" as 12288; 0 if there is none.
std::uint64_t kib_field(std::string_view text, std::string_view key);

// "4711 (worker)" from a thread's stat line; null if the thread is ending or the line is not one. A
// joined thread may still be listed, since the kernel wakes the joiner before it takes the thread
// away; it runs no code of the program any more.
std::optional<std::string> running_thread(const std::string& stat);

// Nanoseconds for which the threads of this process that are there now have been ready to run while
// others were on their PUs. 0 where the kernel does not count it.
// cost: some microseconds for each thread.
std::uint64_t queued_ns();

struct SharedMemory {
  std::uint64_t resident = 0;      // sum over the processes
  std::uint64_t proportional = 0;  // sum of PSS: what they occupy together
  std::uint64_t private_ = 0;      // sum of USS
  double shared_share() const;     // 1 - private / resident; 0 if nothing is resident
};
// Reads smaps_rollup of the processes, without those that are gone. throws: core::SystemError if
// the system does not let this process look.
SharedMemory shared_memory(std::span<const pid_t> pids);

// Names the other threads of this process, "4711 (worker)". Empty if the calling thread is alone;
// joined threads do not count. throws: core::SystemError if /proc cannot be read.
std::vector<std::string> other_threads();

// The loaded libraries that keep pools of threads, "libgomp"; their threads have the program's
// name.
std::vector<std::string> pool_libraries();

}  // namespace tabane::team

// Starting a program as cheaply as the system allows.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::lab {

struct Spawn {
  const char* file;
  char* const* arguments;                     // each ended by null
  char* const* variables;                     // the whole environment
  std::array<int, 3> streams = {-1, -1, -1};  // its standard input, output and error; -1: as here
  const char* folder = nullptr;               // where it works; null: as here
  // It starts in a copy of this process's memory, which takes longer: its peak begins at what is
  // copied, and not at all that this process has ever held.
  bool copied = false;
};

// Starts the program in a session of its own, without a terminal, and returns its process. It is
// killed when the calling thread ends, also by SIGKILL of this process; what it has started itself
// is not. Returns -1 with errno if it cannot be started.
//
// posix_spawn() knows no way to ask for that end, and sets every signal's handler by two system
// calls, which is a tenth of the time of a program that does nothing.
pid_t spawn(const Spawn& what);

// What a copy of this process holds before it becomes a program; infinite if it cannot be made.
double bytes_of_copy();

// The streams of a measured command: opened before it starts, read while it runs.

// The end of a text of unlimited length, and if wanted the hash of all of it.
class KeptText {
 public:
  KeptText(std::size_t most_bytes, bool hashed);
  void add(std::string_view bytes);
  std::string text() const;
  // XXH3 of 128 bits, in hexadecimal: distinguishes outputs, unless somebody forged them.
  std::string hash() const;

 private:
  std::size_t most_;
  std::string text_;  // at most twice as long
  struct Hash;
  std::unique_ptr<Hash, void (*)(Hash*)> hash_;  // null: not wanted
};

// A pipe whose writing end a command has, and this process, too, so that the command's end is not
// news of the pipe: waking for it would take time from a command that is about to end.
class PipeReader {
 public:
  // most_bytes: 0: what is read is thrown away. throws: core::SystemError.
  PipeReader(std::size_t most_bytes, bool hashed);

  int writing_end() const { return writing_.get(); }
  int reading_end() const { return reading_.get(); }
  // Takes what is there, without waiting; of much the first megabytes.
  void read_some();
  KeptText& kept() { return kept_; }

 private:
  ssize_t take();

  core::Descriptor reading_, writing_;
  core::Descriptor nothing_;  // where most_bytes is 0
  KeptText kept_;
};

}  // namespace tabane::lab

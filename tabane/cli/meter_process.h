// This program started once more, under another allocator, to measure for a study.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tabane/lab/record.h"

namespace tabane::cli {

class MeterProcess {
 public:
  // allocator: glibc, jemalloc, mimalloc or tcmalloc. arguments: those that make this program call
  // serve_meter(). throws: core::UsageError if the allocator is not known or not installed,
  // core::SystemError.
  MeterProcess(const std::string& allocator, const std::vector<std::string>& arguments);
  // Ends the process and waits for it.
  ~MeterProcess();
  MeterProcess(const MeterProcess&) = delete;
  MeterProcess& operator=(const MeterProcess&) = delete;

  // Sends a request and waits for the answer. throws: core::LostError if the process is gone.
  lab::Json ask(const lab::Json& request);

 private:
  std::string read_line();

  std::string allocator_;
  int socket_ = -1;
  pid_t pid_ = 0;
  std::string buffer_;  // received, and not yet asked for
};

// Answers requests, a line each, from standard input until its end.
void serve_meter();

}  // namespace tabane::cli

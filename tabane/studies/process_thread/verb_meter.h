// This program started once more, under another allocator, to measure for a study.
#pragma once

#include <string>
#include <vector>

#include "tabane/core/helper_process.h"
#include "tabane/lab/record/record.h"

namespace tabane::program {

class MeterProcess {
 public:
  // allocator: glibc, jemalloc, mimalloc or tcmalloc. arguments: those that make this program call
  // serve_meter(). throws: core::UsageError if the allocator is not known or not installed,
  // core::SystemError.
  MeterProcess(const std::string& allocator, const std::vector<std::string>& arguments);

  // Sends a request and waits for the answer. throws: core::LostError if the process is gone.
  lab::Json ask(const lab::Json& request);

 private:
  core::HelperProcess process_;
};

// Answers requests, a line each, from standard input until its end.
void serve_meter();

}  // namespace tabane::program

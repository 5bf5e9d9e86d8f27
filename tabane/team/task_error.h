// The error that a team throws in the caller when one of its tasks threw.
#pragma once

#include <cstddef>
#include <string>

#include "tabane/core/error.h"

namespace tabane::team {

// what() holds the number of the task and the message of its exception.
class TaskError : public core::Error {
 public:
  TaskError(std::size_t task, const std::string& message)
      : Error("task " + std::to_string(task) + " failed: " + message), task_(task) {}
  std::size_t task() const { return task_; }

 private:
  std::size_t task_;
};

}  // namespace tabane::team

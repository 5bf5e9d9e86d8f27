// The errors of teams alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::team {

// A task threw. what() holds the number of the task and the message of its exception.
class TaskError : public core::Error {
 public:
  TaskError(std::size_t task, const std::string& message)
      : Error("task " + std::to_string(task) + " failed: " + message), task_(task) {}
  std::size_t task() const { return task_; }

 private:
  std::size_t task_;
};

// The system has refused to fork a process of a team.
class ForkRefused : public core::SystemError {
 public:
  ForkRefused(std::string_view operand, int code) : SystemError("fork", operand, code) {}
};

// Other threads of this process forbid a fork.
class OtherThreads : public core::UsageError {
 public:
  // others: as running_threads() names them.
  OtherThreads(const std::string& message, std::string others)
      : UsageError(message), others_(std::move(others)) {}
  const std::string& others() const { return others_; }

 private:
  std::string others_;
};

}  // namespace tabane::team

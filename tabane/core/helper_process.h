// A program started as a helper: it is sent lines and answers in lines, over a socket that is its
// standard input and output.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/core/file.h"

namespace tabane::core {

// Added to the environment of this process, where they replace variables of the same name.
using Variables = std::vector<std::pair<std::string, std::string>>;

// All variables as NAME=value.
std::vector<std::string> environment_with(const Variables& variables);

// As execve wants them, ending with null.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

struct HelperProgram {
  std::string name;                  // for messages
  std::vector<std::string> command;  // program and arguments; not empty
  std::string file = {};             // what is started; empty: command[0], looked for in PATH
  Variables variables = {};
};

class HelperProcess {
 public:
  // Starts the program; its messages go to stderr. throws: SystemError if it cannot be started.
  explicit HelperProcess(const HelperProgram& program);
  // Ends the program's input, and waits until it has ended.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // line: without its end. throws: LostError if the program has ended.
  void send_line(std::string_view line);
  // Waits for a line; returns it without its end. throws: LostError if the program ends before it.
  std::string read_line();
  // Waits until read_line() has something to read, or the program has ended. Returns false if
  // neither happens within this time.
  bool answers_within(double seconds);
  // Sends SIGTERM.
  void terminate();
  // Ends the program's input and waits so long for its end, then sends SIGTERM and waits a second,
  // then SIGKILL. Afterwards nothing else may be called.
  void end_within(double seconds);

 private:
  [[noreturn]] void lost(std::string_view phase) const;
  bool has_ended_within(double seconds);

  std::string name_;
  Descriptor socket_;
  pid_t pid_ = 0;         // 0: it has ended
  std::string received_;  // and not yet read as lines
};

}  // namespace tabane::core

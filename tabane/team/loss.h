// How the other processes of a team learn that one was lost.
#pragma once

#include <sys/types.h>

namespace tabane::team {

// The code of a process whose end another wait has taken, where the kernel does not keep it.
inline constexpr int kEndUnknown = -1;

struct Loss {
  int process = 0;
  pid_t pid = 0;
  bool by_signal = false;
  int code = 0;  // the signal, the exit status, or kEndUnknown
};

// Without a listener, the loss of a process ends the others at once. With one, they are told and
// may go on for grace_seconds. An exception in one of them is treated in the same way.
struct LossListener {
  // Called in the process that noticed the loss, perhaps several times for one loss and perhaps in
  // exit(), so it must not allocate. It must be callable, and context readable, in all processes of
  // the team.
  void (*lost)(void* context, const Loss& loss) = nullptr;
  void* context = nullptr;
  double grace_seconds = 5;
};

}  // namespace tabane::team

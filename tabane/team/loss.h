// What the other processes of a team may hear when one is lost.
#pragma once

#include <sys/types.h>

namespace tabane::team {

struct Loss {
  int process = 0;
  pid_t pid = 0;
  bool by_signal = false;
  int code = 0;  // the signal or the exit status
};

// With a listener the loss of a process does not end the others at once: they are told, and may go
// on until grace_seconds have passed. The same holds after an exception in one of them.
struct LossListener {
  // Called in the process that noticed, perhaps in a signal handler, perhaps several times for one
  // loss: async-signal-safe. Must be callable and context readable in all processes of the team.
  void (*lost)(void* context, const Loss& loss) = nullptr;
  void* context = nullptr;
  double grace_seconds = 5;
};

}  // namespace tabane::team

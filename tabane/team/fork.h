// Forks one child that runs a function, and waits for it. Only this module calls fork.
#pragma once

#include <sys/types.h>

#include <functional>

namespace tabane::team {

// Forks a child and returns its pid. The child runs body and uses its return value as exit status;
// an exception ends it with status 125. It runs neither the caller's atexit handlers nor the
// destructors of static objects. throws: core::SystemError if the system refuses to fork.
pid_t fork_child(const std::function<int()>& body);

// As waitpid(), but no signal interrupts it.
pid_t wait_for(pid_t pid, int& status);

// Waits for the child. Returns its exit status, or 128 + signal.
// throws: core::SystemError if pid is not a child of this process.
int wait_for_child(pid_t pid);

}  // namespace tabane::team

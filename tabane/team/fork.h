// One forked child that runs a function and is waited for. The only place that calls fork.
#pragma once

#include <sys/types.h>

#include <functional>

namespace tabane::team {

// Forks; the child runs body and ends with its return value as exit status, without running the
// caller's atexit handlers or destructors of static objects; an exception ends it with status 125.
// Returns the child's pid. throws: core::SystemError if the system refuses to fork.
pid_t fork_child(const std::function<int()>& body);

// Waits for the child. Returns its exit status, or 128 + signal.
// throws: core::SystemError if pid is not a child of this process.
int wait_for_child(pid_t pid);

}  // namespace tabane::team

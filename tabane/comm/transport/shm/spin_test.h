// How threads of a test wait for each other where they are to meet within nanoseconds.
#pragma once

#include <thread>

namespace tabane::comm::shm {

// Polls; now and then lets others run, who may be what it waits for.
template <class Ready>
void spin_until(const Ready& ready) {
  for (unsigned polls = 1; !ready(); ++polls) {
    if (polls % 256 == 0) std::this_thread::yield();
  }
}

// Some nanoseconds, so that meetings differ.
inline void linger(unsigned times) {
  for (; times > 0; --times) asm volatile("");
}

}  // namespace tabane::comm::shm

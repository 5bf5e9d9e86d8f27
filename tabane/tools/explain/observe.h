// What the threads of a command do while it runs undisturbed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tabane/core/system_files.h"
#include "tabane/tools/explain/evidence.h"

namespace tabane::lab::explain {

// One look at a thread. Times are since it started.
struct ThreadLook {
  pid_t process = 0, thread = 0;
  std::string name;
  Doing doing = Doing::other;  // never runnable: one look does not tell it from running
  double cpu_seconds = 0, queue_seconds = 0;
};

// Looks at all threads of the processes that this thread has started, and of those that they have
// started, unless they are in the session of this process.
std::vector<ThreadLook> look_at_children_of(pid_t thread, const core::SystemFiles& files);

// Looks at the commands of the calling thread many times a second, on a thread of its own, for at
// most 2 % of a PU's time.
class Watch {
 public:
  explicit Watch(core::SystemFiles files = core::SystemFiles());

  int looks() const { return looks_; }
  // Ends it. Adds to threads and moments; the files are regular ones that were open.
  void finish(Observed& observed, std::set<std::string>& open_files);

 private:
  struct Track {
    ThreadSeen seen;
    double queue_seconds = 0;
  };
  void run(const std::stop_token& stop);
  void look(double seconds);
  void look_for_files(const std::vector<ThreadLook>& looks);

  core::SystemFiles files_;
  pid_t parent_;
  std::atomic<int> looks_{0};
  std::map<pid_t, Track> tracks_;
  std::vector<Moment> moments_;
  std::set<std::string> open_files_;
  std::jthread thread_;
};

}  // namespace tabane::lab::explain

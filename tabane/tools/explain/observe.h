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

// Looks at the commands of the calling thread many times a second, on a thread of its own, for at
// most 2 % of a PU's time: at all processes that it has started, unless they are in the session of
// this process, and at those that they have started.
class Watch {
 public:
  Watch();

  int looks() const { return looks_; }
  // Ends it. Adds to threads and moments; the files are regular ones that were open.
  void finish(Observed& observed, std::set<std::string>& open_files);

 private:
  struct Track {
    ThreadSeen seen;
    double queue_seconds = 0;
  };
  void run(const std::stop_token& stop);
  void look_at_children(const std::string& task, Looks& now);
  void look_at_process(const std::string& process, Looks& now);
  void look_at_thread(const std::string& folder, pid_t thread, Looks& now);
  void look_for_files(const std::string& folder);

  core::SystemFiles files_;
  pid_t parent_;
  std::atomic<int> looks_{0};
  std::map<pid_t, Track> tracks_;
  ThreadSeen* runs_ = nullptr;  // the one that a look has seen last
  std::vector<Moment> moments_;
  std::set<std::string> open_files_;
  std::jthread thread_;
};

}  // namespace tabane::lab::explain

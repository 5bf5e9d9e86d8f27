// A job that several ranks do: rank 0's view of the others, that is, who they are, what they need
// to know, and what becomes of what they are given; and what the others do, which worker.cc has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/letters.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/plan.h"

namespace tabane::encrypt {

class Coordinator {
 public:
  // ranks: this is rank 0 of them, the others are in serve_rank_0(). Null, or only one: nobody
  // works for it.
  explicit Coordinator(comm::Comm* ranks);
  ~Coordinator();  // lets go whoever still waits
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  bool alone() const { return !mail_; }
  // Says that nobody is needed.
  void let_go();

  // This and the next: 1 and those of this process, if nobody works for it. Wait until all have
  // come.
  int ranks();
  unsigned pus();

  // Does the units of this rank's plan that the source gives.
  using OwnThreads = std::function<void(const Plan& own, UnitSource& units)>;
  // Does the job with all ranks; returns how many threads they were together. cut: what the plan
  // was made with. engine: opens files.
  unsigned run(JobState& job, const Places& places, const Plan& plan, const PlanOptions& cut,
               crypto::Engine engine, const Hooks& hooks, const OwnThreads& threads);

  // Whether a rank ended, or says nothing any more; then nobody can wait for the others.
  bool lost() const { return lost_; }
  // Who was lost or could not help, and why.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  void meet();
  Start start_of(const JobState& job, const Places& places, const PlanOptions& cut) const;
  void send_starts(Start start, const JobState& job);

  comm::Comm* comm_;
  std::unique_ptr<RankMail> mail_;  // null: nobody works for it
  std::vector<Hello> hellos_;       // by rank, once all have come
  std::vector<unsigned> threads_;   // the same
  bool started_ = false, lost_ = false;
  std::vector<std::string> remarks_;
};

// Does what rank 0, which is in run_job() with the same request, gives this rank; returns when
// there is nothing more, or when a rank was lost: then rank 0 goes on alone. request: its keys and
// places come from rank 0. hooks: progress is not told. What goes wrong here rank 0 tells.
void serve_rank_0(Request request, const Hooks& hooks, comm::Comm& ranks);

// For rank 0 instead of run_job(), if there is no job: lets go those who are in serve_rank_0().
void release_workers(comm::Comm& ranks);

}  // namespace tabane::encrypt

// A job that several ranks do: rank 0's view of the others, that is, who they are, what they need
// to know, and what becomes of what they are given; and what the others do, which worker.cc has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/letters.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/threads.h"

namespace tabane::encrypt {

class Coordinator : public Crew {
 public:
  // ranks: this is rank 0 of them, the others are in serve_rank_0(). Null, or only one: nobody
  // works for it.
  explicit Coordinator(comm::Comm* ranks);
  ~Coordinator() override { Coordinator::let_go(); }  // whoever still waits
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  void let_go() override;
  // These two wait until all have come.
  unsigned processes() override;
  unsigned pus() override;
  void work(JobState& job, const Places& places, const Plan& plan, CopyPairs* copies,
            JobReport& outcome) override;

 private:
  void meet();
  void share_out(JobState& job, const Places& places, const Plan& plan, JobReport& outcome);
  Start start_of(const JobState& job, const Places& places, const Plan& plan) const;
  void send_starts(Start start, const JobState& job);

  comm::Comm* comm_;
  std::unique_ptr<RankMail> mail_;  // null: nobody works for it
  std::vector<Hello> hellos_;       // by rank, once all have come
  std::vector<unsigned> threads_;   // the same
  bool started_ = false;
  std::vector<std::string> remarks_;  // who was lost or could not help, and why
};

// Does what rank 0, which is in run_job() with the same request, gives this rank; returns when
// there is nothing more, or when a rank was lost: then rank 0 goes on alone. request: its keys and
// places come from rank 0. hooks: progress is not told. What goes wrong here rank 0 tells.
void serve_rank_0(Request request, const Hooks& hooks, comm::Comm& ranks);

// For rank 0 instead of run_job(), if there is no job: lets go those who are in serve_rank_0().
void release_workers(comm::Comm& ranks);

}  // namespace tabane::encrypt

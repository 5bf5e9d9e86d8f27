// Who does the units of a job: the threads of a process, and perhaps others.
#pragma once

#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// Does the units of the plan, with the job's device if it has one; returns when all are done or the
// job has stopped. Calls its hooks from the calling thread, ten times a second. copies: if not
// null, gets what copying takes beside; not from encrypting with CBC, where files of several units
// are on their way at once. source: gives the units; null: they are all done here. throws: what a
// thread could not attribute to a file.
void run_job_threads(JobState& job, const Plan& plan, CopyPairs* copies,
                     UnitSource* source = nullptr);

// Who works on a job: this process; who lets others take part of it derives from this.
class Crew {
 public:
  virtual ~Crew() = default;

  // Says that nobody else is needed.
  virtual void let_go() {}

  // How many processes there are, and the PUs that they may use.
  virtual unsigned processes() { return 1; }
  virtual unsigned pus();

  // Does the plan as run_job_threads() does, and tells who did it. copies: left alone if others
  // take part.
  virtual void work(JobState& job, const Places& places, const Plan& plan, CopyPairs* copies,
                    JobReport& outcome);
};

}  // namespace tabane::encrypt

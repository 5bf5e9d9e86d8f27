#include "bench/crew.h"

#include "tabane/core/error.h"
#include "tabane/core/placement.h"

namespace tabane::bench {

Crew::Crew(std::span<const unsigned> pus)
    : start_(static_cast<std::ptrdiff_t>(pus.size() + 1)),
      done_(static_cast<std::ptrdiff_t>(pus.size() + 1)) {
  for (std::size_t i = 0; i < pus.size(); ++i) threads_.emplace_back(&Crew::work, this, i, pus[i]);
}

Crew::~Crew() {
  job_ = nullptr;
  start_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run(const Job& job) {
  job_ = &job;
  start_.arrive_and_wait();
  done_.arrive_and_wait();
}

void Crew::work(std::size_t worker, unsigned pu) {
  try {
    core::bind_this_thread({&pu, 1});
  } catch (const core::SystemError&) {
    // Unbound it still does its part.
  }
  for (;;) {
    start_.arrive_and_wait();
    if (!job_) return;
    (*job_)(worker);
    done_.arrive_and_wait();
  }
}

}  // namespace tabane::bench

#include "tabane/core/pinned_pool.h"

#include <utility>

#include "tabane/core/binding.h"

namespace tabane::core {

PinnedPool::PinnedPool(std::span<const unsigned> pus) {
  unfinished_ = static_cast<unsigned>(pus.size());
  try {
    for (std::size_t i = 0; i < pus.size(); ++i) {
      threads_.emplace_back([this, i, pu = pus[i]] { serve(i, pu); });
    }
    wait_for_all();  // until every thread is bound
  } catch (...) {
    run({});
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

PinnedPool::~PinnedPool() {
  work_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void PinnedPool::run(const std::function<void(std::size_t)>& work) {
  unfinished_ = static_cast<unsigned>(threads_.size());
  work_ = work ? &work : nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  if (work) wait_for_all();
}

void PinnedPool::wait_for_all() {
  for (unsigned left = unfinished_.load(); left != 0; left = unfinished_.load()) {
    unfinished_.wait(left);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void PinnedPool::finish_one() {
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_all();
}

void PinnedPool::serve(std::size_t index, unsigned pu) {
  const auto guarded = [this](const auto& step) {
    try {
      step();
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
  };
  guarded([&] { bind_this_thread(std::span(&pu, 1)); });
  unsigned seen = 0;
  finish_one();
  for (;;) {
    round_.wait(seen);
    seen = round_.load();
    if (work_ == nullptr) return;
    guarded([&] { (*work_)(index); });
    finish_one();
  }
}

}  // namespace tabane::core

#include "tabane/tools/epub/workers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tabane/core/crew.h"

namespace tabane::epub {
namespace {

// Calls work without the lock, and then, also if it throws, `after` with the lock: whoever waits
// for this work must not wait for ever.
template <typename Work, typename After>
void do_unlocked(std::unique_lock<std::mutex>& lock, const Work& work, const After& after) {
  lock.unlock();
  try {
    work();
  } catch (...) {
    lock.lock();
    after();
    throw;
  }
  lock.lock();
  after();
}

}  // namespace

void Workers::run(std::size_t books, const Book& book, const std::function<void()>& tick) {
  constexpr std::chrono::milliseconds kTick(100);
  core::run_crew(
      threads_, [&](std::size_t worker) { serve(worker, books, book); }, kTick, tick);
}

// Parts come before new books: fewer books are open at once.
void Workers::serve(std::size_t worker, std::size_t books, const Book& book) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!queue_.empty()) {
      do_part(queue_.begin(), worker, lock);
    } else if (next_book_ < books) {
      const std::size_t mine = next_book_++;
      ++open_books_;
      const auto close = [this] {
        --open_books_;
        changed_.notify_all();
      };
      do_unlocked(
          lock, [&] { book(mine, worker); }, close);
    } else if (open_books_ > 0) {
      changed_.wait(lock);
    } else {
      return;
    }
  }
}

void Workers::add(const void* owner, Part part) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({owner, std::move(part)});
  changed_.notify_all();
}

void Workers::do_part(std::deque<Queued>::iterator which, std::size_t worker,
                      std::unique_lock<std::mutex>& lock) {
  const Queued mine = std::move(*which);
  queue_.erase(which);
  ++running_[mine.owner];
  const auto end = [&] {
    if (--running_[mine.owner] == 0) running_.erase(mine.owner);
    changed_.notify_all();
  };
  do_unlocked(
      lock, [&] { mine.part(worker); }, end);
}

void Workers::wait(const void* owner, std::size_t worker, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  while (!done()) {
    const auto mine = std::ranges::find(queue_, owner, &Queued::owner);
    if (mine != queue_.end()) {
      do_part(mine, worker, lock);
    } else {
      changed_.wait(lock);
    }
  }
}

void Workers::drop(const void* owner) {
  std::unique_lock lock(mutex_);
  std::erase_if(queue_, [&](const Queued& each) { return each.owner == owner; });
  changed_.wait(lock, [&] { return !running_.contains(owner); });
}

}  // namespace tabane::epub

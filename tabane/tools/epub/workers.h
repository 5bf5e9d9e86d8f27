// The threads of a job on many books. Each book has one thread that reads and writes it; threads
// without a book do parts of others' books.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace tabane::epub {

class Workers {
 public:
  // worker: which thread it is, from 0.
  using Part = std::function<void(std::size_t worker)>;
  using Book = std::function<void(std::size_t book, std::size_t worker)>;

  explicit Workers(unsigned threads) : threads_(threads) {}
  unsigned threads() const { return threads_; }

  // Calls book(0 … books - 1), each in one thread. Calls tick from this thread, ten times a second.
  // throws: std::system_error if the system starts no thread; the first exception of a book, once
  // the other threads have done the rest.
  void run(std::size_t books, const Book& book, const std::function<void()>& tick);

  // Adds a part of a book, which some thread does. owner: tells the books apart. A part that throws
  // ends its thread, and counts as ended: its owner must not wait() for it, but may drop().
  void add(const void* owner, Part part);
  // Does parts of this owner until done() holds. done: true for good once its parts are done.
  void wait(const void* owner, std::size_t worker, const std::function<bool()>& done);
  // Takes back the owner's parts that nobody has begun, and waits for the others.
  void drop(const void* owner);

 private:
  struct Queued {
    const void* owner;
    Part part;
  };
  void serve(std::size_t worker, std::size_t books, const Book& book);
  void do_part(std::deque<Queued>::iterator which, std::size_t worker,
               std::unique_lock<std::mutex>& lock);

  const unsigned threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::map<const void*, std::size_t> running_;  // parts
  std::size_t next_book_ = 0, open_books_ = 0;
};

}  // namespace tabane::epub

#include "tabane/tools/epub/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "tabane/core/threads.h"

namespace tabane::epub {
namespace {

// Calls work without the lock, and then `after` with the lock, also if work throws, so that nobody
// waits for ever.
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

// A part is large enough for a thread, and small enough not to keep the others waiting.
constexpr std::size_t kPartBytes = std::size_t{2} << 20;
constexpr std::size_t kPartPieces = 32;
constexpr std::size_t kJobBytes = std::size_t{128} << 20;  // in memory at most, more or less

std::size_t weight(const Entry& entry) { return std::max(entry.bytes, entry.stored); }

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

void Workers::add(const void* owner, BookPart part) {
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

crypto::CbcCipher& WorkerTools::cipher(std::uint64_t book, const Key& key) {
  if (!cipher_ || book_ != book) {
    cipher_ = std::make_unique<crypto::CbcCipher>(key.bytes());
    book_ = book;
  }
  return *cipher_;
}

std::span<std::byte> WorkerTools::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return std::span(scratch_).first(bytes);
}

std::size_t BooksJob::window(std::size_t books) const {
  const std::size_t at_once = std::clamp<std::size_t>(books, 1, workers.threads());
  return std::max<std::size_t>(kJobBytes / at_once, kWholeBytes);
}

std::span<std::byte> Piece::renew(std::size_t size) {
  bytes = std::make_unique_for_overwrite<std::byte[]>(kRoom + size + kRoom);
  begin = kRoom;
  end = kRoom + size;
  return content();
}

// Hands a piece's bytes to the archive.
class Pipeline::Output : public Content {
 public:
  Output(Pipeline& pipeline, std::size_t index) : pipeline_(pipeline), index_(index) {}

  Shape shape() override { return pipeline_.finished(index_).shape; }
  std::size_t read(std::span<std::byte> bytes) override {
    const auto rest = pipeline_.finished(index_).content().subspan(at_);
    const std::size_t count = std::min(bytes.size(), rest.size());
    std::memcpy(bytes.data(), rest.data(), count);
    at_ += count;
    return count;
  }
  void close() override { pipeline_.release(index_); }

 private:
  Pipeline& pipeline_;
  const std::size_t index_;
  std::size_t at_ = 0;
};

std::unique_ptr<Content> Pipeline::add(const Entry& entry, const EncryptedResource& how) {
  auto piece = std::make_unique<Piece>();
  piece->entry = &entry;
  piece->how = &how;
  pieces_.push_back(std::move(piece));
  return std::make_unique<Output>(*this, pieces_.size() - 1);
}

void Pipeline::read_ahead(std::size_t until) {
  std::size_t first = next_, bytes = 0;
  while (next_ < pieces_.size()) {
    Piece& piece = *pieces_[next_];
    if (next_ > until && in_memory_ + weight(*piece.entry) > window_) break;
    job_.go_on();
    book_.archive.read_stored(*piece.entry, piece.renew(piece.entry->stored).data());
    in_memory_ += weight(*piece.entry);
    bytes += weight(*piece.entry);
    ++next_;
    if (bytes < kPartBytes && next_ - first < kPartPieces) continue;
    submit(first, next_);
    first = next_;
    bytes = 0;
  }
  if (first < next_) submit(first, next_);
}

void Pipeline::submit(std::size_t first, std::size_t last) {
  std::vector<Piece*> part;
  for (std::size_t i = first; i < last; ++i) part.push_back(pieces_[i].get());
  job_.workers.add(this, [this, part = std::move(part)](std::size_t worker) {
    try {
      transform_(book_, part, job_.tools[worker]);
    } catch (...) {
      for (Piece* const piece : part) piece->problem = std::current_exception();
    }
    for (Piece* const piece : part) piece->ready = true;
  });
}

Piece& Pipeline::finished(std::size_t index) {
  Piece& piece = *pieces_[index];
  if (piece.ready) {
    if (piece.problem) std::rethrow_exception(piece.problem);
    return piece;
  }
  if (next_ <= index || in_memory_ < window_ / 2) read_ahead(index);
  job_.workers.wait(this, worker_, [&] { return piece.ready.load(); });
  job_.go_on();
  if (piece.problem) std::rethrow_exception(piece.problem);
  return piece;
}

void Pipeline::release(std::size_t index) {
  Piece& piece = *pieces_[index];
  if (!piece.bytes) return;
  piece.bytes.reset();
  in_memory_ -= weight(*piece.entry);
  job_.bytes_done += piece.entry->stored;
}

}  // namespace tabane::epub

// Which pages of a piece of shared memory are taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tabane::comm::shm {

// One bit a page, in shared memory itself. No locks: a process that dies in the middle leaves pages
// taken, but stops nobody. Runs are claimed from their first word on, so that of several that
// overlap one always wins.
class PageSet {
 public:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t words_for(std::size_t pages) { return (pages + 63) / 64; }

  // words: words_for(pages) of them, zero at first.
  PageSet(std::span<Word> words, std::size_t pages) : words_(words), pages_(pages) {}

  // Returns the first page of a run that was free, or nothing if there is none; count > 0. While
  // others take and give back at the same time, a run may be missed that they touch. What was
  // written to the pages before they were given back, this rank sees, or overwrites.
  std::optional<std::size_t> take(std::size_t count);
  void give_back(std::size_t first, std::size_t count);

 private:
  std::optional<std::size_t> find(std::size_t count) const;
  bool claim(std::size_t first, std::size_t count);

  std::span<Word> words_;
  std::size_t pages_;
};

}  // namespace tabane::comm::shm

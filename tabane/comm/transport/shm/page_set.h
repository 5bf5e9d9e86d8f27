// Which pages of a piece of shared memory are taken.
#pragma once

#include <algorithm>
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
  std::optional<std::size_t> take(std::size_t count) {
    while (const std::optional<std::size_t> first = find(count)) {
      if (claim(*first, count)) return first;
    }
    return {};
  }
  // release: with the acquire in claim(), also where others have claimed and left the word
  // meanwhile, for they change it by one instruction each.
  void give_back(std::size_t first, std::size_t count) {
    while (count > 0) {
      const WordPart part = part_at(first, count);
      words_[part.word].fetch_and(~part.mask, std::memory_order_release);
      first += part.count;
      count -= part.count;
    }
  }

 private:
  // The part of a run that is in one word.
  struct WordPart {
    std::size_t word, count;
    std::uint64_t mask;
  };

  static WordPart part_at(std::size_t page, std::size_t count) {
    const std::size_t shift = page % 64, here = std::min(count, 64 - shift);
    return {page / 64, here,
            (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << shift};
  }

  // relaxed: a guess, which claim() settles.
  std::optional<std::size_t> find(std::size_t count) const {
    std::size_t free = 0;
    for (std::size_t page = 0; page < pages_; ++page) {
      const std::uint64_t word = words_[page / 64].load(std::memory_order_relaxed);
      if (page % 64 == 0 && ~word == 0) {
        free = 0;
        page += 63;
        continue;
      }
      free = (word >> page % 64 & 1) != 0 ? 0 : free + 1;
      if (free == count) return page + 1 - count;
    }
    return {};
  }

  bool claim(std::size_t first, std::size_t count) {
    for (std::size_t page = first, rest = count; rest > 0;) {
      const WordPart part = part_at(page, rest);
      const std::uint64_t before = words_[part.word].fetch_or(part.mask, std::memory_order_acquire);
      if ((before & part.mask) != 0) {
        words_[part.word].fetch_and(~(part.mask & ~before), std::memory_order_relaxed);
        give_back(first, page - first);
        return false;
      }
      page += part.count;
      rest -= part.count;
    }
    return true;
  }

  std::span<Word> words_;
  std::size_t pages_;
};

}  // namespace tabane::comm::shm

#include "tabane/comm/transport/shm/page_set.h"

#include <algorithm>

namespace tabane::comm::shm {
namespace {

// The part of a run that is in one word.
struct WordPart {
  std::size_t word, count;
  std::uint64_t mask;
};

WordPart part_at(std::size_t page, std::size_t count) {
  const std::size_t shift = page % 64, here = std::min(count, 64 - shift);
  return {page / 64, here,
          (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << shift};
}

}  // namespace

std::optional<std::size_t> PageSet::take(std::size_t count) {
  while (const std::optional<std::size_t> first = find(count)) {
    if (claim(*first, count)) return first;
  }
  return {};
}

// release: with the acquire in claim(), also where others have claimed and left the word
// meanwhile, for they change it by one instruction each.
void PageSet::give_back(std::size_t first, std::size_t count) {
  while (count > 0) {
    const WordPart part = part_at(first, count);
    words_[part.word].fetch_and(~part.mask, std::memory_order_release);
    first += part.count;
    count -= part.count;
  }
}

// relaxed: a guess, which claim() settles.
std::optional<std::size_t> PageSet::find(std::size_t count) const {
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

bool PageSet::claim(std::size_t first, std::size_t count) {
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

}  // namespace tabane::comm::shm

#include "tabane/studies/process_thread/malloc_map/word_table.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tabane::malloc_map {

WordTable::ShortWord WordTable::short_word(std::string_view word) {
  ShortWord found{.size = word.size()};
  std::memcpy(&found.low, word.data(), std::min<std::size_t>(8, word.size()));
  if (word.size() > 8) std::memcpy(&found.high, word.data() + 8, word.size() - 8);
  return found;
}

void WordTable::add(std::string_view word, std::uint64_t count) {
  if (word.size() <= kShort) return add(short_word(word), count);
  long_words_[std::string(word)] += count;
}

void WordTable::reserve_to_merge(std::size_t words) {
  const std::size_t all = short_words_ + words;
  if (all > slots_.size() / 8 * 7) grow(std::bit_ceil(all + all / 7 + 1));
}

void WordTable::grow(std::size_t slots) {
  decltype(slots_) old(slots);
  old.swap(slots_);
  shift_ = 64 - std::countr_zero(slots);
  for (const Slot& slot : old) {
    if (slot.tag != 0) slots_[place(slot)] = slot;
  }
}

void WordTable::merge(const WordTable& other) {
  reserve_to_merge(other.short_words_);
  constexpr std::size_t kAhead = 32;
  for (std::size_t i = 0; i < other.slots_.size(); ++i) {
    if (i + kAhead < other.slots_.size()) prefetch(other.slots_[i + kAhead].tag);
    if (other.slots_[i].tag != 0) add(other.slots_[i]);
  }
  for (const auto& [word, count] : other.long_words_) long_words_[word] += count;
}

void WordTable::put(team::Bytes& out) const {
  team::put_value(out, long_words_);
  team::put_value(out, std::uint64_t{short_words_});
  const std::size_t begin = out.size();
  out.resize(begin + short_words_ * 3 * sizeof(std::uint64_t));
  std::byte* to = out.data() + begin;
  const auto copy = [&](const std::uint64_t& from) {
    std::memcpy(to, &from, sizeof from);
    to += sizeof from;
  };
  for (const Slot& slot : slots_) {
    if (slot.tag == 0) continue;
    const std::uint64_t size = slot.tag & kSizeBits;
    copy(slot.count << kSizeWidth | size);
    copy(slot.low);
    if (size > 8) copy(slot.high);
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

void WordTable::merge(team::Reader& in) {
  for (const auto& [word, count] : team::get_value<decltype(long_words_)>(in))
    long_words_[word] += count;
  const auto words = team::get_value<std::uint64_t>(in);
  if (words > in.left() / (2 * sizeof(std::uint64_t)))
    throw std::out_of_range("a table of words ends too early");
  reserve_to_merge(words);
  for (std::uint64_t i = 0; i < words; ++i) {
    const auto head = team::get_value<std::uint64_t>(in);
    const std::uint64_t count = head >> kSizeWidth, size = head & kSizeBits;
    const auto low = team::get_value<std::uint64_t>(in);
    add(ShortWord{low, size > 8 ? team::get_value<std::uint64_t>(in) : 0, size}, count);
  }
}

std::uint64_t WordTable::count_of(std::string_view word) const {
  if (word.empty()) return 0;
  if (word.size() <= kShort) {
    const ShortWord wanted = short_word(word);
    return slots_[place({tag_of(wanted), 0, wanted.low, wanted.high})].count;
  }
  const auto found = long_words_.find(std::string(word));
  return found == long_words_.end() ? 0 : found->second;
}

WordTable::Words WordTable::words() const {
  Words all(long_words_.begin(), long_words_.end());
  for (const Slot& slot : slots_) {
    if (slot.tag == 0) continue;
    const char* const letters = reinterpret_cast<const char*>(&slot.low);
    all.emplace_back(std::string_view(letters, slot.tag & kSizeBits), slot.count);
  }
  return all;
}

}  // namespace tabane::malloc_map

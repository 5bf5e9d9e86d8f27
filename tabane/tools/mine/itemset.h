// Items and sets of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace tabane::mine {

// The number of an item: in a file, what the file calls it; in a database, its place among the
// database's items.
using Item = std::uint32_t;

// Itemsets of one length, each with its items ascending, one after the other in one array.
class Itemsets {
 public:
  Itemsets() = default;
  explicit Itemsets(std::size_t length) : length_(length) {}

  std::size_t length() const { return length_; }
  std::size_t size() const { return length_ == 0 ? 0 : items_.size() / length_; }
  bool empty() const { return items_.empty(); }
  std::span<const Item> operator[](std::size_t i) const {
    return {items_.data() + i * length_, length_};
  }
  // itemset: of length() items.
  void push_back(std::span<const Item> itemset) {
    items_.insert(items_.end(), itemset.begin(), itemset.end());
  }
  std::span<const Item> items() const { return items_; }  // of all, one after the other

  bool operator==(const Itemsets&) const = default;

 private:
  std::size_t length_ = 0;
  std::vector<Item> items_;
};

inline Itemsets some_of(const Itemsets& all, std::size_t begin, std::size_t end) {
  Itemsets some(all.length());
  for (std::size_t i = begin; i < end; ++i) some.push_back(all[i]);
  return some;
}

// How many transactions hold all items of an itemset.
struct Supported {
  std::vector<Item> items;
  std::uint64_t support = 0;

  auto fields() { return std::tie(items, support); }
  bool operator==(const Supported&) const = default;
};

}  // namespace tabane::mine

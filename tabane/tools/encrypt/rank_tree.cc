#include "tabane/tools/encrypt/rank_tree.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tabane/comm/collectives.h"

namespace tabane::encrypt {
namespace {

// Whole arrays of millions of files would stand in memory twice.
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

template <class T>
void send_array(const GrowingArray<T>& array, comm::Comm& ranks) {
  std::vector<T> block;
  for (std::size_t at = 0; at < array.size(); at += block.size()) {
    block.resize(std::min(kBlockBytes / sizeof(T), array.size() - at));
    std::copy_n(array.data() + at, block.size(), block.begin());
    comm::broadcast(ranks, block, 0);
  }
}

template <class T>
void receive_array(std::uint64_t size, comm::Comm& ranks, GrowingArray<T>& array) {
  std::vector<T> block;
  while (array.size() < size) {
    block.resize(std::min<std::uint64_t>(kBlockBytes / sizeof(T), size - array.size()));
    comm::broadcast(ranks, block, 0);
    array.append(block.data(), block.size());
  }
}

}  // namespace

std::array<std::uint64_t, 4> sizes_of(const Tree& tree) {
  return {tree.directories.size(), tree.files.size(), tree.links.size(), tree.names.size()};
}

void send_tree(const Tree& tree, comm::Comm& ranks) {
  send_array(tree.directories, ranks);
  send_array(tree.files, ranks);
  send_array(tree.links, ranks);
  send_array(tree.names, ranks);
}

Tree receive_tree(const std::array<std::uint64_t, 4>& sizes, comm::Comm& ranks) {
  Tree tree;
  receive_array(sizes[0], ranks, tree.directories);
  receive_array(sizes[1], ranks, tree.files);
  receive_array(sizes[2], ranks, tree.links);
  receive_array(sizes[3], ranks, tree.names);
  return tree;
}

}  // namespace tabane::encrypt

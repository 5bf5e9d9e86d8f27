#include "tabane/tools/encrypt/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
}  // namespace

std::string Tree::path(std::uint32_t directory) const {
  std::vector<std::uint32_t> chain;
  for (; directory != 0; directory = directories[directory].parent) chain.push_back(directory);
  std::string result;
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    if (!result.empty()) result += '/';
    result += name(directories[*link].name_at);
  }
  return result;
}

std::string Tree::path(std::uint32_t directory, std::uint64_t name_at) const {
  std::string result = path(directory);
  if (!result.empty()) result += '/';
  return result += name(name_at);
}

std::string Tree::path(const TreeFile& file) const { return path(file.directory, file.name_at); }

std::string Tree::path(const TreeLink& link) const { return path(link.directory, link.name_at); }

std::uint64_t Tree::bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TreeFile& file) { return sum + file.bytes; });
}

std::uint64_t packed_time(std::int64_t seconds, std::uint32_t nanoseconds) {
  constexpr std::int64_t kMost = std::int64_t{1} << 33;  // 34 bits for seconds, 30 for the rest
  if (seconds < -kMost || seconds >= kMost) return kNoTime;
  return static_cast<std::uint64_t>(seconds + kMost) << 30 | nanoseconds;
}

std::string read_link(int directory, const char* name) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  for (std::string target(256, '\0'); target.size() <= 2 * kMost;
       target.resize(4 * target.size())) {
    const ssize_t bytes = ::readlinkat(directory, name, target.data(), target.size());
    if (bytes < 0) throw core::SystemError("readlinkat", name, errno);
    if (static_cast<std::size_t>(bytes) == target.size()) continue;  // there may be more
    target.resize(static_cast<std::size_t>(bytes));
    return target;
  }
  throw core::Error("the target of the symbolic link has more than 1 MiB");
}

bool Tree::has_place(const core::FileId& place) const {
  return std::binary_search(places.begin(), places.end(), place);
}

DirectoryOpener::DirectoryOpener(const Tree& tree, int root, bool make, std::size_t keep)
    : tree_(tree),
      root_(new core::Descriptor(root),
            [](core::Descriptor* borrowed) {
              borrowed->release();
              delete borrowed;
            }),
      make_(make),
      keep_(keep) {
  TABANE_ASSERT(keep >= 1);
}

// Returns the innermost directory held on the path, and lists the steps below it.
// Parents have smaller numbers than their children: what is held with a number above that of the
// place reached on the way up is not on the path.
core::SharedDescriptor DirectoryOpener::nearest(std::uint32_t directory) {
  steps_.clear();
  for (; directory != 0; directory = tree_.directories[directory].parent) {
    while (!chain_.empty() && chain_.back().directory > directory) chain_.pop_back();
    if (!chain_.empty() && chain_.back().directory == directory) return chain_.back().opened;
    steps_.push_back(directory);
  }
  chain_.clear();
  return root_;
}

core::Descriptor DirectoryOpener::step(int parent, std::uint32_t directory) const {
  const char* name = tree_.name(tree_.directories[directory].name_at);
  core::Descriptor opened(::openat(parent, name, kOpenDirectory));
  if (!opened.valid() && errno == ENOENT && make_) {
    if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
      throw core::SystemError("mkdirat", tree_.path(directory), errno);
    }
    opened.reset(::openat(parent, name, kOpenDirectory));
  }
  if (!opened.valid() && errno == EACCES && make_) {
    const core::Descriptor closed(::openat(parent, name, kOpenDirectory | O_PATH));
    core::let_owner_work(closed.get());
    opened.reset(::openat(parent, name, kOpenDirectory));
  }
  if (!opened.valid()) throw core::SystemError("openat", tree_.path(directory), errno);
  if (make_ && tree_.has_place(core::identity_of(opened.get()))) {
    throw core::Error(tree_.path(directory) + ": in OUT is a directory of IN, too");
  }
  if (make_) core::let_owner_work(opened.get());
  return opened;
}

core::SharedDescriptor DirectoryOpener::held_or_opened(std::uint32_t directory) {
  if (directory == 0) return root_;
  all_.resize(tree_.directories.size());
  core::SharedDescriptor held = all_[directory];
  if (!held) {
    const auto parent = held_or_opened(tree_.directories[directory].parent);
    held = std::make_shared<const core::Descriptor>(step(parent->get(), directory));
    all_[directory] = held;
  }
  return held;
}

core::SharedDescriptor DirectoryOpener::open(std::uint32_t directory) {
  if (keep_ == kAll) return held_or_opened(directory);
  core::SharedDescriptor reached = nearest(directory);
  for (; !steps_.empty(); steps_.pop_back()) {
    reached = std::make_shared<const core::Descriptor>(step(reached->get(), steps_.back()));
    if (chain_.size() == keep_) chain_.erase(chain_.begin());
    chain_.push_back({steps_.back(), reached});
  }
  return reached;
}

void TreeWalk::enter(std::uint32_t directory) {
  // Returns the range of those that lie in the directory, and goes behind it.
  const auto range = [](std::uint32_t& at, std::size_t end, const auto& lies_here) {
    Range found{at, at};
    while (found.end < end && lies_here(found.end)) ++found.end;
    at = found.end;
    return found;
  };
  Level level{.directory = directory,
              .path_bytes = path_.empty() ? 0 : path_.size() + 1,
              .children = {},
              .files = {},
              .links = {}};
  level.children = range(children_, tree_.directories.size(),
                         [&](std::uint32_t i) { return tree_.directories[i].parent == directory; });
  level.files = range(files_, tree_.files.size(),
                      [&](std::uint32_t i) { return tree_.files[i].directory == directory; });
  level.links = range(links_, tree_.links.size(),
                      [&](std::uint32_t i) { return tree_.links[i].directory == directory; });
  levels_.push_back(level);
}

// Takes the first of the directory's entries that are left; returns false if there is none.
bool TreeWalk::step() {
  Level& level = levels_.back();
  const char* first = nullptr;
  Range* from = nullptr;
  const auto consider = [&](Range& range, EntryKind kind, const auto& entries) {
    if (range.at == range.end) return;
    const char* name = tree_.name(entries[range.at].name_at);
    if (first != nullptr && std::strcmp(name, first) >= 0) return;
    first = name;
    from = &range;
    kind_ = kind;
  };
  consider(level.files, EntryKind::file, tree_.files);
  consider(level.children, EntryKind::directory, tree_.directories);
  consider(level.links, EntryKind::link, tree_.links);
  if (from == nullptr) return false;
  index_ = from->at++;
  if (level.path_bytes > 0) {
    path_.resize(level.path_bytes - 1);
    path_ += '/';
  } else {
    path_.clear();
  }
  path_ += first;
  return true;
}

bool TreeWalk::next() {
  if (!any_) {
    any_ = true;
    enter(0);
    return true;
  }
  while (!levels_.empty()) {
    if (step()) {
      if (kind_ == EntryKind::directory) enter(index_);
      return true;
    }
    levels_.pop_back();
  }
  return false;
}

}  // namespace tabane::encrypt

#include "tabane/tools/encrypt/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kHeldByScan = 32;

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

std::string reason(const char* what, int code) {
  return std::string(what) + ": " + std::strerror(code);
}

// Depth first, with a list instead of recursion. The children of one directory get neighbouring
// numbers, so that an opener that goes through the numbers mostly has the parent at hand.
class Scanner {
 public:
  Scanner(int root, const Selection& selection, Temporaries temporaries, bool own, bool times)
      : root_(root),
        temporaries_(temporaries),
        times_(times),
        own_(own),
        selection_(selection),
        opener_(tree_, root, false, kHeldByScan) {
    tree_.directories.push_back({0, tree_.add_name("")});
  }

  Tree run() {
    std::vector<std::uint32_t> pending = {0};
    while (!pending.empty()) {
      const std::uint32_t directory = pending.back();
      pending.pop_back();
      const std::size_t first_child = tree_.directories.size();
      look_at(directory);
      for (std::size_t child = tree_.directories.size(); child > first_child; --child) {
        pending.push_back(static_cast<std::uint32_t>(child - 1));
      }
    }
    std::sort(tree_.places.begin(), tree_.places.end());
    keep_shared();
    return std::move(tree_);
  }

 private:
  struct Entry {
    std::size_t name_at;  // in entry_names_
    unsigned char type;
  };

  DirectoryStream open_stream(std::uint32_t directory) {
    // The caller's descriptor of the root keeps its own position.
    const int fd = directory == 0 ? ::openat(root_, ".", kOpenDirectory)
                                  : ::fcntl(opener_.open(directory)->get(), F_DUPFD_CLOEXEC, 0);
    core::Descriptor owned(fd);
    DirectoryStream stream(owned.valid() ? ::fdopendir(fd) : nullptr);
    if (!stream) throw core::SystemError("open directory", tree_.path(directory), errno);
    owned.release();
    return stream;
  }

  // Returns 0 or the error after which entries are missing.
  int read_entries(DIR* stream) {
    entries_.clear();
    entry_names_.clear();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) break;
      const char* name = entry->d_name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      entries_.push_back({entry_names_.size(), entry->d_type});
      entry_names_.append(name, std::strlen(name) + 1);
    }
    const int error = errno;
    const char* names = entry_names_.data();
    std::sort(entries_.begin(), entries_.end(), [names](const Entry& a, const Entry& b) {
      return std::strcmp(names + a.name_at, names + b.name_at) < 0;
    });
    return error;
  }

  void look_at(std::uint32_t directory) {
    DirectoryStream stream;
    int error = 0;
    try {
      stream = open_stream(directory);
      error = read_entries(stream.get());
    } catch (const core::SystemError& failed) {
      if (directory == 0) throw;
      fail(tree_.path(directory), reason("directory cannot be opened", failed.code()));
      return;
    }
    tree_.places.push_back(core::identity_of(::dirfd(stream.get())));
    if (directory == 0) device_ = tree_.places.back().device;
    if (selection_.one_file_system() && tree_.places.back().device != device_) {
      ++tree_.excluded;  // what lies in it
      return;
    }
    if (error != 0) {
      if (directory == 0) throw core::SystemError("readdir", "", error);
      fail(tree_.path(directory), reason("directory cannot be read to its end", error));
    }
    if (selection_.needs_paths()) {
      prefix_ = tree_.path(directory);
      if (!prefix_.empty()) prefix_ += '/';
    }
    for (const Entry& entry : entries_) {
      take(directory, ::dirfd(stream.get()), entry_names_.data() + entry.name_at, entry.type);
    }
  }

  void take(std::uint32_t directory, int fd, const char* name, unsigned char type) {
    struct stat status = {};
    status.st_mode = DTTOIF(type);
    const auto look = [&] {
      return ::fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    };
    int error = type == DT_UNKNOWN ? look() : 0;  // first, as rules may be for directories
    if (own_ && directory == 0 && S_ISDIR(status.st_mode) &&
        std::strcmp(name, kOwnDirectory) == 0) {
      tree_.own_directory = true;
      return;
    }
    if (!selection_.takes_all() &&
        selection_.leaves_out(name, prefix_ + name, S_ISDIR(status.st_mode))) {
      ++tree_.excluded;
      return;
    }
    if (type == DT_REG) error = look();
    if (error != 0) {
      fail(tree_.path(directory, name), reason("cannot be looked at", error));
    } else if (is_mounted(status)) {
      ++tree_.excluded;
    } else if (S_ISDIR(status.st_mode)) {
      tree_.directories.push_back({directory, tree_.add_name(name)});
    } else if (S_ISLNK(status.st_mode)) {
      tree_.links.push_back({tree_.add_name(name), directory});
    } else if (!S_ISREG(status.st_mode)) {
      tree_.specials.push_back(tree_.path(directory, name));
    } else if (temporaries_ == Temporaries::leave_out && core::is_leftover(name, status.st_mode)) {
      tree_.temporaries.push_back(tree_.path(directory, name));
    } else {
      take_file(directory, name, status);
    }
  }

  void take_file(std::uint32_t directory, const char* name, const struct stat& status) {
    tree_.files.push_back({tree_.add_name(name), static_cast<std::uint64_t>(status.st_size),
                           directory, status.st_mode & 07777});
    if (status.st_nlink > 1) {
      const auto file = static_cast<std::uint32_t>(tree_.files.size() - 1);
      tree_.shared.push_back({file, {status.st_dev, status.st_ino}});
    }
    if (times_) {
      tree_.times.push_back(
          packed_time(status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)));
    }
  }

  // Whether a file that was looked at is of another file system, if that matters.
  bool is_mounted(const struct stat& status) const {
    return selection_.one_file_system() && S_ISREG(status.st_mode) && status.st_dev != device_;
  }

  void fail(std::string path, std::string what) {
    tree_.failures.push_back({std::move(path), std::move(what)});
  }

  // Other names may lie elsewhere, or be left out.
  void keep_shared() {
    std::vector<SharedFile>& all = tree_.shared;
    std::ranges::sort(all, {}, &SharedFile::place);
    std::vector<SharedFile> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool again = (i > 0 && all[i - 1].place == all[i].place) ||
                         (i + 1 < all.size() && all[i + 1].place == all[i].place);
      if (again) kept.push_back(all[i]);
    }
    std::ranges::sort(kept, {}, &SharedFile::file);
    all = std::move(kept);
  }

  int root_;
  Temporaries temporaries_;
  bool times_;
  bool own_;
  const Selection& selection_;
  dev_t device_ = 0;  // of the root
  Tree tree_;
  DirectoryOpener opener_;
  std::vector<Entry> entries_;
  std::string entry_names_;
  std::string prefix_;  // path of the directory, with the '/' behind it
};

}  // namespace

std::uint64_t Tree::add_name(std::string_view name) {
  const std::uint64_t at = names.size();
  names.append(name.data(), name.size());
  names.append("", 1);
  return at;
}

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

std::string Tree::path(std::uint32_t directory, const char* name) const {
  std::string result = path(directory);
  if (!result.empty()) result += '/';
  return result += name;
}

std::string Tree::path(const TreeFile& file) const {
  return path(file.directory, name(file.name_at));
}

std::string Tree::path(const TreeLink& link) const {
  return path(link.directory, name(link.name_at));
}

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

Tree scan(int root, const Selection& selection, Temporaries temporaries, bool own, bool times) {
  return Scanner(root, selection, temporaries, own, times).run();
}

Tree single_file(const std::string& name, std::uint64_t bytes) {
  Tree tree;
  tree.directories.push_back({0, tree.add_name("")});
  tree.files.push_back({tree.add_name(name), bytes, 0});
  return tree;
}

}  // namespace tabane::encrypt

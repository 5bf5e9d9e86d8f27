#include "tabane/tools/encrypt/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/threads.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kHeldByScan = 32;
constexpr const char* kNotSeen = "cannot be looked at";

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

std::string reason(const char* what, int code) {
  return std::string(what) + ": " + std::strerror(code);
}

// What there is, by names. Depth first, with a list instead of recursion. The children of one
// directory get neighbouring numbers, so that an opener that goes through the numbers mostly has
// the parent at hand.
class Scanner {
 public:
  Scanner(int root, const Selection& selection, Temporaries temporaries, bool own)
      : root_(root),
        temporaries_(temporaries),
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
    const bool may_be_left_out = temporaries_ == Temporaries::leave_out && type == DT_REG;
    if (may_be_left_out && core::is_temporary_name(name)) error = look();
    if (error != 0) {
      fail(tree_.path(directory, name), reason(kNotSeen, error));
    } else if (S_ISDIR(status.st_mode)) {
      tree_.directories.push_back({directory, tree_.add_name(name)});
    } else if (S_ISLNK(status.st_mode)) {
      tree_.links.push_back({tree_.add_name(name), directory});
    } else if (!S_ISREG(status.st_mode)) {
      tree_.specials.push_back(tree_.path(directory, name));
    } else if (temporaries_ == Temporaries::leave_out && core::is_leftover(name, status.st_mode)) {
      tree_.temporaries.push_back(tree_.path(directory, name));
    } else {
      tree_.files.push_back({tree_.add_name(name), 0, directory});
    }
  }

  void fail(std::string path, std::string what) {
    tree_.failures.push_back({std::move(path), std::move(what)});
  }

  int root_;
  Temporaries temporaries_;
  bool own_;
  const Selection& selection_;
  dev_t device_ = 0;  // of the root
  Tree tree_;
  DirectoryOpener opener_;
  std::vector<Entry> entries_;
  std::string entry_names_;
  std::string prefix_;  // path of the directory, with the '/' behind it
};

// Adds to a scan what its files are, by as many threads as pay.
class FilesSeen {
 public:
  FilesSeen(Tree& tree, int root, const Selection& selection, bool times)
      : tree_(tree),
        root_(root),
        one_file_system_(selection.one_file_system()),
        device_(core::identity_of(root).device) {
    for (std::size_t i = 0; times && i < tree.files.size(); ++i) tree.times.push_back(kNoTime);
  }

  void look_at_all(unsigned threads) {
    constexpr std::size_t kWorthAThread = 512, kAtOnce = 64;
    std::atomic<std::size_t> next = 0;  // as fewer threads than these may start
    const auto work = [&](std::size_t) {
      DirectoryOpener directories(tree_, root_, false, kHeldByScan);
      for (std::size_t i; (i = next.fetch_add(kAtOnce)) < tree_.files.size();) {
        const std::size_t end = std::min(i + kAtOnce, tree_.files.size());
        for (; i < end; ++i) look_at(directories, static_cast<std::uint32_t>(i));
      }
    };
    const std::size_t crew = tree_.files.size() / kWorthAThread;
    if (crew < 2 || threads < 2) {
      work(0);
    } else {
      core::run_crew(std::min<std::size_t>(crew, threads), work, std::chrono::seconds(1), [] {});
    }
    drop_lost();
    keep_shared();
  }

 private:
  struct Lost {
    std::uint32_t file;
    bool excluded = false;
    std::string failure = {};  // neither: it is gone since it was listed
  };

  void look_at(DirectoryOpener& directories, std::uint32_t index) {
    TreeFile& file = tree_.files[index];
    struct stat status {};
    int error = 0;
    try {
      const core::SharedDescriptor directory = directories.open(file.directory);
      const char* const name = tree_.name(file.name_at);
      if (::fstatat(directory->get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) error = errno;
    } catch (const core::SystemError& failed) {
      error = failed.code();
    }
    if (error == ENOENT) return lose({index});
    if (error != 0) return lose({.file = index, .failure = reason(kNotSeen, error)});
    if (!S_ISREG(status.st_mode)) {
      return lose({.file = index, .failure = "is no longer a regular file"});
    }
    if (one_file_system_ && status.st_dev != device_) return lose({index, true});
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.mode = status.st_mode & 07777;
    if (!tree_.times.empty()) {
      tree_.times[index] =
          packed_time(status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec));
    }
    if (status.st_nlink < 2) return;
    const std::lock_guard lock(mutex_);
    tree_.shared.push_back({index, {status.st_dev, status.st_ino}});
  }

  void lose(Lost lost) {
    const std::lock_guard lock(mutex_);
    lost_.push_back(std::move(lost));
  }

  void drop_lost() {
    if (lost_.empty()) return;
    std::ranges::sort(lost_, {}, &Lost::file);
    GrowingArray<TreeFile> files;
    GrowingArray<std::uint64_t> times;
    auto lost = lost_.begin();
    for (std::uint32_t i = 0; i < tree_.files.size(); ++i) {
      if (lost == lost_.end() || lost->file != i) {
        files.push_back(tree_.files[i]);
        if (!tree_.times.empty()) times.push_back(tree_.times[i]);
        continue;
      }
      tree_.excluded += lost->excluded;
      if (!lost->failure.empty()) {
        tree_.failures.push_back({tree_.path(tree_.files[i]), lost->failure});
      }
      ++lost;
    }
    for (SharedFile& shared : tree_.shared) {
      const auto behind = std::ranges::lower_bound(lost_, shared.file, {}, &Lost::file);
      shared.file -= static_cast<std::uint32_t>(behind - lost_.begin());
    }
    tree_.files = std::move(files);
    tree_.times = std::move(times);
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

  Tree& tree_;
  const int root_;
  const bool one_file_system_;
  const dev_t device_;
  std::mutex mutex_;  // of lost_ and Tree::shared
  std::vector<Lost> lost_;
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

std::uint64_t Tree::bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TreeFile& file) { return sum + file.bytes; });
}

std::uint64_t packed_time(std::int64_t seconds, std::uint32_t nanoseconds) {
  constexpr std::int64_t kMost = std::int64_t{1} << 33;  // 34 bits for seconds, 30 for the rest
  if (seconds < -kMost || seconds >= kMost) return kNoTime;
  return static_cast<std::uint64_t>(seconds + kMost) << 30 | nanoseconds;
}

core::Descriptor open_entry(int directory, const char* name) {
  return core::Descriptor(
      ::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
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

DirectoryEntry DirectoryOpener::entry(std::uint32_t file) {
  const TreeFile& place = tree_.files[file];
  return {open(place.directory), tree_.name(place.name_at)};
}

Tree scan(int root, const Selection& selection, Temporaries temporaries, bool own, bool times,
          unsigned threads) {
  Tree tree = Scanner(root, selection, temporaries, own).run();
  FilesSeen(tree, root, selection, times).look_at_all(threads);
  return tree;
}

Tree single_file(const std::string& name, std::uint64_t bytes) {
  Tree tree;
  tree.directories.push_back({0, tree.add_name("")});
  tree.files.push_back({tree.add_name(name), bytes, 0});
  return tree;
}

}  // namespace tabane::encrypt

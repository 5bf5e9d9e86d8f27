#include "tabane/tools/encrypt/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenRoot = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

// By a job on a single file or a stream.
std::set<core::FileId> what_is_read(const Tree& tree, int in_root) {
  std::set<core::FileId> read;
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) == 0) read.insert({status.st_dev, status.st_ino});
  if (tree.files.empty()) return read;  // a stream
  if (fstatat(in_root, tree.name(tree.files.front().name_at), &status, 0) == 0) {
    read.insert({status.st_dev, status.st_ino});
  }
  return read;
}

constexpr std::size_t kKeepOpen = 32;  // directories: one step for each on the way up
constexpr timespec kNow{.tv_sec = 0, .tv_nsec = UTIME_NOW};

// throws: core::SystemError.
void finish(int directory, mode_t mode, const timespec& read, const timespec& changed,
            const std::string& path) {
  const timespec times[2] = {read, changed};
  if (fchmod(directory, mode) != 0 || futimens(directory, times) != 0) {
    throw core::SystemError("set mode and times", path, errno);
  }
}

struct DirectoryState {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  std::uint32_t mode = 0;
  bool needed = false;  // taken itself, or something below it
};

class Restorer {
 public:
  Restorer(const WrittenTree& written, TreeManifest& manifest,
           const std::set<std::uint32_t>& failed_files, std::vector<Failure>& failures)
      : written_(written),
        manifest_(manifest),
        failures_(failures),
        out_(tree_, written.out_root, true, kKeepOpen),
        failed_(failed_files),
        states_(tree_.directories.size()) {}

  // taken: whether the job takes what is listed.
  void take(const ManifestEntry* listed, const TreeWalk* found, bool taken) {
    const std::string& path = listed ? listed->path : found->path();
    while (!inside_.empty() && !lies_in(path, inside_.back().path)) inside_.pop_back();
    if (found != nullptr && found->kind() == EntryKind::directory) {
      inside_.push_back({found->path(), found->index()});
      if (listed != nullptr && listed->kind == EntryKind::directory) {
        states_[found->index()] = {
            .seconds = listed->seconds, .nanoseconds = listed->nanoseconds, .mode = listed->mode};
        if (request_.xattrs && taken && !listed->attributes.empty()) {
          attributes_.emplace(found->index(), listed->attributes);
        }
      }
    }
    if (!taken) return;
    for (auto outer = inside_.rbegin(); outer != inside_.rend() && !states_[outer->index].needed;
         ++outer) {
      states_[outer->index].needed = true;
    }
    if (listed->kind == EntryKind::link && found == nullptr) restore_link(*listed);
    if (found == nullptr || found->kind() != EntryKind::file) return;
    if (const auto first = manifest_.first_name_of(found->index())) restore_name(*first, *found);
  }

  // From the leaves up, as writing into a directory changes its time.
  void finish_directories() {
    for (auto i = static_cast<std::uint32_t>(states_.size());
         i-- > (written_.made_root ? 0u : 1u);) {
      const DirectoryState& state = states_[i];
      if (!state.needed) continue;
      try {
        const core::SharedDescriptor directory = out_.open(i);
        give_attributes(directory->get(), i);
        finish(directory->get(), output_mode(state.mode, written_.modes), kNow, time_of(state),
               tree_.path(i));
      } catch (const core::SystemError& error) {
        failures_.push_back({tree_.path(i), error.what()});
      }
    }
  }

 private:
  // Before the mode, which a list of access is within.
  void give_attributes(int directory, std::uint32_t index) {
    const auto extended = attributes_.find(index);
    if (extended == attributes_.end()) return;
    try {
      write_attributes(directory, extended->second, tree_.path(index));
    } catch (const core::SystemError& error) {
      failures_.push_back({tree_.path(index), error.what()});
    }
  }

  struct Inside {
    std::string path;
    std::uint32_t index;
  };

  static bool lies_in(const std::string& inner, const std::string& outer) {
    return outer.empty() || (inner.starts_with(outer) && inner[outer.size()] == '/');
  }
  static timespec time_of(const auto& entry) {
    return {.tv_sec = entry.seconds, .tv_nsec = entry.nanoseconds};
  }

  void restore_link(const ManifestEntry& link) {
    try {
      const std::string& parent = inside_.back().path;
      const std::string name = link.path.substr(parent.empty() ? 0 : parent.size() + 1);
      if (name.find('/') != name.npos) throw core::Error("its directory is missing");
      make_link(out_.open(inside_.back().index)->get(), name, link);
    } catch (const core::Error& error) {
      failures_.push_back({link.path, error.what()});
    }
  }

  // Of the file `first`, which has another name, too.
  void restore_name(std::uint32_t first, const TreeWalk& found) {
    const TreeFile &named = tree_.files[first], &again = tree_.files[found.index()];
    try {
      if (failed_.contains(first) || manifest_.differs(tree_.path(named))) {
        throw core::Error("is the same file as " + tree_.path(named) + ", which is not restored");
      }
      const core::SharedDescriptor from = out_.open(named.directory),
                                   to = out_.open(again.directory);
      if (request_.key_files.find(to->get(), tree_.name(again.name_at)) != nullptr) {
        throw core::Error("a file of keys that this job reads is there, which nothing replaces");
      }
      link_file(from->get(), tree_.name(named.name_at), to, tree_.name(again.name_at));
    } catch (const core::Error& error) {
      failures_.push_back({found.path(), error.what()});
    }
  }

  void link_file(int from, const char* first, const core::SharedDescriptor& home,
                 const char* name) const {
    const int to = home->get();
    const auto make = [&] { return linkat(from, first, to, name, 0) == 0; };
    bool made = make();
    struct stat file {
    }, there{};
    if (!made && errno == EEXIST && fstatat(from, first, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
        fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0) {
      if (file.st_dev == there.st_dev && file.st_ino == there.st_ino) return;
      if (!request_.replaces() || !S_ISREG(there.st_mode)) throw core::Error("something is there");
      made = unlinkat(to, name, 0) == 0 && make();
    }
    if (made) return;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK) {
      throw core::SystemError("make a further name of the file", name, errno);
    }
    copy_file(from, first, home, name);
  }

  // Where files have one name only, as on FAT, or have as many as they can.
  void copy_file(int from, const char* first, const core::SharedDescriptor& home,
                 const char* name) const {
    const core::Descriptor in(openat(from, first, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (!in.valid() || fstat(in.get(), &status) != 0) throw core::SystemError("open", first, errno);
    core::OutputFile out(home, name, 0600);
    std::vector<std::byte> block(std::size_t{256} << 10);
    for (std::uint64_t at = 0, read = block.size(); read == block.size(); at += read) {
      read = core::read_all_at(in.get(), block.data(), block.size(), at, first);
      core::write_all_at(out.fd(), block.data(), read, at, name);
    }
    out.commit(status, {.replace = request_.replaces()});
  }

  void make_link(int directory, const std::string& name, const ManifestEntry& link) const {
    const auto make = [&] { return symlinkat(link.target.c_str(), directory, name.c_str()) == 0; };
    if (!make()) {
      if (errno != EEXIST) throw core::SystemError("make the link", link.path, errno);
      struct stat there {};
      if (fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISLNK(there.st_mode)) {
        throw core::Error("something that is no symbolic link is there");
      }
      if (read_link(directory, name.c_str()) != link.target) {
        if (!request_.replaces()) throw core::Error("another symbolic link is there");
        if (unlinkat(directory, name.c_str(), 0) != 0 || !make()) {
          throw core::SystemError("replace the link", link.path, errno);
        }
      }
    }
    const timespec times[2] = {kNow, time_of(link)};
    if (utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
      throw core::SystemError("set the times", link.path, errno);
    }
  }

  const WrittenTree& written_;
  const Request& request_ = written_.request;
  const Tree& tree_ = written_.tree;
  TreeManifest& manifest_;
  std::vector<Failure>& failures_;
  DirectoryOpener out_;
  const std::set<std::uint32_t>& failed_;
  std::vector<DirectoryState> states_;
  std::map<std::uint32_t, std::vector<Attribute>> attributes_;  // of directories
  std::vector<Inside> inside_;  // directories that an entry lies in, from the outermost on
};

}  // namespace

std::size_t remove_leftovers_beside(const Tree& in, int in_root, int out_root) {
  return core::remove_own_leftovers(out_root, what_is_read(in, in_root));
}

Leftovers remove_leftovers_of(const Tree& written, int out_root) {
  DirectoryOpener directories(written, out_root, false);
  // Files of IN that have such a name themselves.
  std::set<std::pair<std::uint32_t, std::string>> own;
  for (const TreeFile& file : written.files) {
    const char* const name = written.name(file.name_at);
    if (core::is_temporary_name(name)) own.emplace(file.directory, name);
  }
  Leftovers found;
  if (const core::Descriptor home = open_home(out_root, false); home.valid()) {
    const auto removes_all = [](const std::string&) { return false; };
    found.removed += core::remove_leftovers(home.get(), removes_all, &found.doubtful);
  }
  for (std::uint32_t i = 0; i < written.directories.size(); ++i) {
    try {
      const core::SharedDescriptor directory = directories.open(i);
      if (written.has_place(core::identity_of(directory->get()))) continue;  // refused later
      std::vector<std::string> doubtful;
      const auto is_own = [&](const std::string& name) { return own.contains({i, name}); };
      found.removed += core::remove_leftovers(directory->get(), is_own, &doubtful);
      for (const std::string& name : doubtful) {
        found.doubtful.push_back(std::filesystem::path(written.path(i)) / name);
      }
    } catch (const core::SystemError&) {
      continue;  // not made yet, or told when a file goes there
    }
  }
  return found;
}

OutputRoot open_output_root(const std::string& path, bool is_tree, const std::string& shown) {
  OutputRoot root;
  root.made = is_tree && mkdir(path.c_str(), kUnfinishedRoot) == 0;
  if (is_tree && !root.made && errno != EEXIST) {
    throw core::SystemError("make the directory", shown, errno);
  }
  root.directory.reset(open(path.c_str(), kOpenRoot));
  if (!root.directory.valid()) throw core::SystemError("open", path, errno);
  // Single files may go into one directory side by side.
  if (!is_tree) {
    JobLock::require_free(root.directory.get(), shown);
  } else {
    root.made = root.made || is_unfinished(root.directory.get());
  }
  return root;
}

void finish_stream(core::Descriptor& stream, bool fsync, const std::string& name) {
  // EINVAL, EROFS: there is nothing to wait for.
  if (fsync && ::fsync(stream.get()) != 0 && errno != EINVAL && errno != EROFS) {
    throw core::SystemError("fsync", name, errno);
  }
  stream.close(name);
}

void restore(const WrittenTree& written, TreeManifest& manifest,
             const std::set<std::uint32_t>& failed_files, std::vector<Failure>& failures) {
  Restorer restorer(written, manifest, failed_files, failures);
  const Selection& selection = written.request.selection;
  manifest.merge_with(written.tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    restorer.take(listed, found,
                  listed && selection.takes(listed->path, listed->kind == EntryKind::directory));
  });
  restorer.finish_directories();
}

void finish_directories(const WrittenTree& written, std::vector<Failure>& failures) {
  const Tree& tree = written.tree;
  DirectoryOpener in(tree, written.in_root, false, kKeepOpen);
  DirectoryOpener out(tree, written.out_root, true, kKeepOpen);
  const std::uint32_t first = written.made_root ? 0 : 1;
  for (auto i = static_cast<std::uint32_t>(tree.directories.size()); i-- > first;) {
    try {
      const core::SharedDescriptor from = in.open(i), to = out.open(i);
      struct stat source {};
      if (fstat(from->get(), &source) != 0) continue;
      finish(to->get(), output_mode(source.st_mode, written.modes), source.st_atim, source.st_mtim,
             tree.path(i));
    } catch (const core::Error& error) {
      const std::string path = tree.path(i);
      // A directory that could not be read is told already.
      if (std::ranges::find(failures, path, &Failure::path) == failures.end()) {
        failures.push_back({path, error.what()});
      }
    }
  }
}

void close_root(int root, std::vector<Failure>& failures) {
  if (fchmod(root, 0700) == 0) return;
  failures.push_back({"", core::SystemError("set mode", "", errno).what()});
}

}  // namespace tabane::encrypt

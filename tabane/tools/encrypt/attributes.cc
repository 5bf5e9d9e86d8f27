#include "tabane/tools/encrypt/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/growing_array.h"

namespace tabane::encrypt {
namespace {

struct DirectoryState {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  std::uint32_t mode = 0;
  bool needed = false;  // taken itself, or something below it
};

class Restorer {
 public:
  Restorer(const Tree& tree, int out_root, const Restoring& how, std::vector<Failure>& failures)
      : how_(how), failures_(failures), out_(tree, out_root, true, kKeepOpen) {
    for (std::size_t i = 0; i < tree.directories.size(); ++i) states_.push_back({});
  }

  // taken: whether the job takes what is listed.
  void take(const ManifestEntry* listed, const TreeWalk* found, bool taken) {
    const std::string& path = listed ? listed->path : found->path();
    while (!inside_.empty() && !lies_in(path, inside_.back().path)) inside_.pop_back();
    if (found != nullptr && found->kind() == EntryKind::directory) {
      inside_.push_back({found->path(), found->index()});
      if (listed != nullptr && listed->kind == EntryKind::directory) {
        states_[found->index()] = {
            .seconds = listed->seconds, .nanoseconds = listed->nanoseconds, .mode = listed->mode};
      }
    }
    if (!taken) return;
    for (auto outer = inside_.rbegin(); outer != inside_.rend() && !states_[outer->index].needed;
         ++outer) {
      states_[outer->index].needed = true;
    }
    if (listed->kind == EntryKind::link && found == nullptr) restore_link(*listed);
  }

  // From the leaves up, as writing into a directory changes its time.
  void finish_directories(const Tree& tree) {
    for (std::size_t i = states_.size(); i-- > (how_.root_attributes ? 0u : 1u);) {
      if (!states_[i].needed) continue;
      const auto index = static_cast<std::uint32_t>(i);
      try {
        const core::SharedDescriptor directory = out_.open(index);
        const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, time_of(states_[i])};
        if (fchmod(directory->get(), output_mode(states_[i].mode, how_.modes)) != 0 ||
            futimens(directory->get(), times) != 0) {
          throw core::SystemError("set mode and times", tree.path(index), errno);
        }
      } catch (const core::SystemError& error) {
        failures_.push_back({tree.path(index), error.what()});
      }
    }
  }

 private:
  static constexpr std::size_t kKeepOpen = 32;
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
        if (!how_.replace_links) throw core::Error("another symbolic link is there");
        if (unlinkat(directory, name.c_str(), 0) != 0 || !make()) {
          throw core::SystemError("replace the link", link.path, errno);
        }
      }
    }
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, time_of(link)};
    if (utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
      throw core::SystemError("set the times", link.path, errno);
    }
  }

  const Restoring& how_;
  std::vector<Failure>& failures_;
  DirectoryOpener out_;
  GrowingArray<DirectoryState> states_;
  std::vector<Inside> inside_;  // directories that an entry lies in, from the outermost on
};

}  // namespace

// Calling umask() changes it for a moment, in which another thread may make a file.
mode_t process_umask() {
  constexpr std::string_view kField = "\nUmask:\t";
  const std::string status = core::read_file("/proc/self/status");
  const auto at = status.find(kField);
  if (at == std::string::npos) throw core::Error("/proc/self/status does not tell the umask");
  const char* const begin = status.data() + at + kField.size();
  mode_t mask = 0;
  std::from_chars(begin, status.data() + status.size(), mask, 8);
  return mask;
}

mode_t output_mode(mode_t source, const ModePolicy& policy) {
  constexpr mode_t kAll = 07777, kPermissions = 0777, kOwner = 0700;
  if (policy.preserve) return source & kAll;
  if (!policy.opens) return source & kPermissions;
  return source & (policy.authenticated ? kPermissions : kOwner) & ~policy.mask;
}

void restore_links_and_directories(TreeManifest& manifest, const Tree& tree,
                                   const Selection& selection, int out_root, const Restoring& how,
                                   std::vector<Failure>& failures) {
  Restorer restorer(tree, out_root, how, failures);
  manifest.merge_with(tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    restorer.take(listed, found,
                  listed && selection.takes(listed->path, listed->kind == EntryKind::directory));
  });
  restorer.finish_directories(tree);
}

void finish_directories(const Tree& tree, int in_root, int out_root, bool made_root,
                        const ModePolicy& modes, std::vector<Failure>& failures) {
  constexpr std::size_t kKeepOpen = 32;  // one step a directory on the way up
  DirectoryOpener in(tree, in_root, false, kKeepOpen);
  DirectoryOpener out(tree, out_root, true, kKeepOpen);
  for (auto i = static_cast<std::uint32_t>(tree.directories.size()); i-- > (made_root ? 0u : 1u);) {
    try {
      const core::SharedDescriptor from = in.open(i), to = out.open(i);
      struct stat source {};
      if (fstat(from->get(), &source) != 0) continue;
      const timespec times[2] = {source.st_atim, source.st_mtim};
      if (fchmod(to->get(), output_mode(source.st_mode, modes)) != 0 ||
          futimens(to->get(), times) != 0) {
        throw core::SystemError("set mode and times", tree.path(i), errno);
      }
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

WritableForNow::WritableForNow(int directory) : directory_(directory) {
  if (fstat(directory, &before_) == 0) core::let_owner_work(directory);
}

WritableForNow::~WritableForNow() {
  struct stat now {};
  if (fstat(directory_, &now) == 0 && now.st_mode != before_.st_mode) {
    static_cast<void>(fchmod(directory_, before_.st_mode & 07777));
  }
}

}  // namespace tabane::encrypt

#include "tabane/tools/encrypt/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
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

constexpr std::size_t kMostOfXattr = std::size_t{64} << 10;  // of a value, and of all names

class Restorer {
 public:
  Restorer(const TreeManifest& manifest, const Tree& tree, int out_root, const Restoring& how,
           std::vector<Failure>& failures)
      : manifest_(manifest),
        tree_(tree),
        how_(how),
        failures_(failures),
        out_(tree, out_root, true, kKeepOpen) {
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
        if (how_.extended && taken && !listed->attributes.empty()) {
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
    for (std::size_t i = states_.size(); i-- > (how_.root_attributes ? 0u : 1u);) {
      if (!states_[i].needed) continue;
      const auto index = static_cast<std::uint32_t>(i);
      try {
        const core::SharedDescriptor directory = out_.open(index);
        const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, time_of(states_[i])};
        give_attributes(directory->get(), index);
        if (fchmod(directory->get(), output_mode(states_[i].mode, how_.modes)) != 0 ||
            futimens(directory->get(), times) != 0) {
          throw core::SystemError("set mode and times", tree_.path(index), errno);
        }
      } catch (const core::SystemError& error) {
        failures_.push_back({tree_.path(index), error.what()});
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

  // Of the file `first`, which has another name, too.
  void restore_name(std::uint32_t first, const TreeWalk& found) {
    const TreeFile &named = tree_.files[first], &again = tree_.files[found.index()];
    try {
      if (!how_.is_restored(first)) {
        throw core::Error("is the same file as " + tree_.path(named) + ", which is not restored");
      }
      const core::SharedDescriptor from = out_.open(named.directory),
                                   to = out_.open(again.directory);
      if (how_.key_files.find(to->get(), tree_.name(again.name_at)) != nullptr) {
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
      if (!how_.replaces || !S_ISREG(there.st_mode)) throw core::Error("something is there");
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
    out.commit(status, {.replace = how_.replaces});
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
        if (!how_.replaces) throw core::Error("another symbolic link is there");
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

  const TreeManifest& manifest_;
  const Tree& tree_;
  const Restoring& how_;
  std::vector<Failure>& failures_;
  DirectoryOpener out_;
  GrowingArray<DirectoryState> states_;
  std::map<std::uint32_t, std::vector<Attribute>> attributes_;  // of directories
  std::vector<Inside> inside_;  // directories that an entry lies in, from the outermost on
};

}  // namespace

bool is_unfinished(int root) {
  struct stat status {};
  return fstat(root, &status) == 0 && (status.st_mode & 07777) == kUnfinishedRoot;
}

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

std::vector<Attribute> read_attributes(int file, const std::string& path) {
  std::vector<Attribute> attributes;
  std::string names(kMostOfXattr, '\0'), value(kMostOfXattr, '\0');
  const ssize_t listed = flistxattr(file, names.data(), names.size());
  if (listed < 0 && errno == ENOTSUP) return attributes;
  if (listed < 0) throw core::SystemError("flistxattr", path, errno);
  std::size_t total = 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(listed);) {
    const std::string name(names.c_str() + at);
    at += name.size() + 1;
    if (!is_attribute_name(name)) continue;
    const ssize_t bytes = fgetxattr(file, name.c_str(), value.data(), value.size());
    if (bytes < 0) throw core::SystemError("fgetxattr", path, errno);
    attributes.emplace_back(name, value.substr(0, static_cast<std::size_t>(bytes)));
    total += name.size() + attributes.back().second.size();
  }
  if (total > kMostAttributeBytes) {
    throw core::Error("has more than 1 MiB of extended attributes");
  }
  std::ranges::sort(attributes);
  return attributes;
}

void write_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path) {
  for (const auto& [name, value] : attributes) {
    if (fsetxattr(file, name.c_str(), value.data(), value.size(), 0) != 0) {
      throw core::SystemError("set " + name, path, errno);
    }
  }
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
  Restorer restorer(manifest, tree, out_root, how, failures);
  manifest.merge_with(tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    restorer.take(listed, found,
                  listed && selection.takes(listed->path, listed->kind == EntryKind::directory));
  });
  restorer.finish_directories();
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

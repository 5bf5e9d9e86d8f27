#include "tabane/tools/encrypt/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/attributes.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenRoot = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

// By a job on a single file or a stream.
std::set<core::FileId> what_is_read(const Places& places) {
  std::set<core::FileId> read;
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) == 0) read.insert({status.st_dev, status.st_ino});
  const auto& in = places.tree.files;  // none: it is a stream
  if (in.empty()) return read;
  const char* const name = places.tree.name(in.front().name_at);
  if (fstatat(places.in_root.get(), name, &status, 0) == 0) {
    read.insert({status.st_dev, status.st_ino});
  }
  return read;
}

}  // namespace

std::size_t remove_leftovers_beside(const Places& places, int out_root) {
  return core::remove_own_leftovers(out_root, what_is_read(places));
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

OutputRoot open_output_root(const Places& places, const Request& request) {
  OutputRoot root;
  const bool is_tree = places.shape == Shape::tree;
  root.made = is_tree && mkdir(places.out_path.c_str(), kUnfinishedRoot) == 0;
  if (is_tree && !root.made && errno != EEXIST) {
    throw core::SystemError("make the directory", request.out, errno);
  }
  root.directory.reset(open(places.out_path.c_str(), kOpenRoot));
  if (!root.directory.valid()) throw core::SystemError("open", places.out_path, errno);
  // Single files may go into one directory side by side.
  if (!is_tree) {
    JobLock::require_free(root.directory.get(), request.out);
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

}  // namespace tabane::encrypt

// The directory .tabane at the root of a sealed tree, which belongs to tabane: the files in it, and
// the lock that keeps two jobs of one user out of one tree.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::encrypt {

// As failures name them, and below the root.
inline constexpr const char* kManifestPath = ".tabane/manifest";
inline constexpr const char* kKeysPath = ".tabane/keys";

// A mark, which has no content: a job is changing the tree, or was killed.
inline constexpr const char* kIsChanging = ".tabane/changing";
// The name in .tabane of what has this path.
constexpr const char* name_at_home(const char* path) { return path + sizeof ".tabane"; }
inline constexpr const char* kManifestName = name_at_home(kManifestPath);

// Opens the directory .tabane; makes it if it is missing and `make`.
// throws: core::SystemError; core::Error if something else has the name. Returns none that is valid
// if it is missing.
core::Descriptor open_home(int root, bool make);

// Opens a file that tabane keeps in .tabane for reading. path: one of the above, as of the next
// three. throws: as open_home(); core::Error if something is there that is not a regular file.
// Returns none that is valid if it is missing.
core::Descriptor open_own_file(int root, const char* path);

// Returns whether a file is in .tabane.
bool has_own_file(int root, const char* path);
// home: the directory .tabane, open. What is removed is gone afterwards, there before or not.
// throw: core::SystemError.
void make_mark(int home, const char* path);
void remove_own_file(int home, const char* path);

// Returns the names in .tabane that not every sealed tree may have. throws: core::SystemError.
std::vector<std::string> strangers_at_home(int root);

// Reads .tabane/keys; nothing if there is no such file. throws: core::SystemError; DamageError if
// it is longer than any.
std::optional<std::vector<std::byte>> read_keys(int root);

// Writes .tabane/keys, so that it is whole at any moment. fsync: it is on the disk when this
// returns. throws: core::SystemError.
void write_keys(int root, std::span<const std::byte> bytes, bool fsync);

// What a job writes: its lock must not take a name that a file of the user may have, and is a file
// that only its owner can open, as whoever opens it can lock it, too.
enum class LockedTree {
  sealed,  // .tabane/lock
  plain    // a temporary file in the root, known by its text
};

class JobLock {
 public:
  // Waits for no job, and holds nothing where that cannot be: the directory cannot be written to,
  // the file is not this user's alone, or the file system has no such locks. root: outlives the
  // lock; a directory .tabane that a sealed tree lacks is made. throws: core::UsageError naming
  // `path`, the name of the root, if another job of this user holds one of the two; of jobs that
  // begin at the same moment, perhaps to all. cost: lists the root.
  JobLock(int root, LockedTree tree, const std::string& path);
  ~JobLock();  // removes the file, and .tabane if nobody has used it
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  bool holds() const { return lock_.valid() || announced_; }

  // Whether the root, whose path is given, holds nothing but locks of jobs.
  // throws: core::SystemError. cost: lists it.
  bool is_alone_in(const std::filesystem::path& root) const;

  // Whether another job of this user writes the sealed tree. To find out it may hold the lock,
  // shared, for a moment.
  static bool is_held(int root);
  // throws: core::UsageError as above, for a sealed tree, as is_held() finds out.
  static void require_free(int root, const std::string& path);

 private:
  explicit JobLock(int root) : root_(root) {}
  void lock_home(const std::string& path);
  void announce();
  void require_unannounced(const std::string& path) const;

  int root_;
  core::Descriptor home_;
  core::Descriptor lock_;
  std::optional<core::TemporaryFile> announced_;
};

}  // namespace tabane::encrypt

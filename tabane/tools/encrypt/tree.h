// The files below a directory, found without following symbolic links, and reached again by name
// relative to open directories, so that no path is too long and no swapped link leads elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/growing_array.h"

namespace tabane::encrypt {

// Something that went wrong with one file or directory; the others go on.
struct Failure {
  std::string path;             // relative to the root; bytes as the file system has them
  std::string what;             // a sentence: reason, and the offset where there is one
  std::string difference = {};  // from the manifest, for programs: "missing"; or empty
};

struct TreeDirectory {
  std::uint32_t parent;   // its own index for the root
  std::uint64_t name_at;  // in Tree::names
};

struct TreeFile {
  std::uint64_t name_at;  // in Tree::names
  std::uint64_t bytes;
  std::uint32_t directory;
  std::uint32_t mode = 0;  // 07777
};

// A time in 8 bytes, as there may be millions; kNoTime if it lies more than 270 years from 1970.
inline constexpr std::uint64_t kNoTime = ~std::uint64_t{0};
std::uint64_t packed_time(std::int64_t seconds, std::uint32_t nanoseconds);

struct TreeLink {
  std::uint64_t name_at;  // in Tree::names
  std::uint32_t directory;
};

// Files, links and subdirectories of one directory stand together, sorted by the bytes of their
// names; the directories of which they are follow each other in the order of compare_paths().
struct Tree {
  GrowingArray<TreeDirectory> directories;  // parents before children; [0] is the root
  GrowingArray<TreeFile> files;
  // packed_time() of the last change of the files; none if the scan was not asked for them.
  GrowingArray<std::uint64_t> times;
  GrowingArray<TreeLink> links;          // symbolic ones, which nothing here follows
  GrowingArray<char> names;              // each ended by a zero
  std::vector<core::FileId> places;      // of the directories, in ascending order
  std::uint64_t excluded = 0;            // left out
  std::vector<std::string> specials;     // paths of devices, pipes and sockets, left out
  std::vector<std::string> temporaries;  // paths of files with a temporary name, left out
  bool own_directory = false;            // kOwnDirectory is at the root, left out
  std::vector<Failure> failures;         // could not be looked at

  const char* name(std::uint64_t name_at) const { return names.data() + name_at; }
  // "a/b/c" below the root; "" for the root itself.
  std::string path(std::uint32_t directory) const;
  std::string path(const TreeFile& file) const;
  std::string path(const TreeLink& link) const;
  std::uint64_t bytes() const;
  bool has_place(const core::FileId& place) const;

 private:
  std::string path(std::uint32_t directory, std::uint64_t name_at) const;
};

// At the root of a sealed tree this directory is tabane's.
inline constexpr const char* kOwnDirectory = ".tabane";

// Walks what lies below the open directory `root`. excludes: shell patterns (fnmatch) held against
// the name, or, if they contain a '/', against the path below the root; a directory that matches is
// left out with all below it. cost: one fstatat a file or directory; 24 bytes and
// its name a file.
// temporaries: whether files with a temporary name are left out, or are files like others. own:
// leaves out kOwnDirectory at the root. times: keeps Tree::times. throws: core::SystemError only if
// the root itself cannot be read.
enum class Temporaries { take, leave_out };
Tree scan(int root, const std::vector<std::string>& excludes,
          Temporaries temporaries = Temporaries::leave_out, bool own = false, bool times = false);

// Whether a path or a directory that it lies in matches one of scan()'s patterns.
bool is_excluded(const std::vector<std::string>& excludes, const std::string& path);

// Returns the target of a symbolic link in an open directory.
// throws: core::SystemError naming the link; core::Error if the target has more than 1 MiB.
std::string read_link(int directory, const char* name);

// A tree of the one file `name` in the open directory `parent`.
Tree single_file(const std::string& name, std::uint64_t bytes);

// Opens the directories of a tree below another root, one after the other; keeps the last ones
// open. One thread at a time; several may make the same directories at once.
class DirectoryOpener {
 public:
  // make: directories that are missing are made, with mode 0700, and those that are one with a
  // directory of the tree are refused; the owner may change all of them from then on. tree, root:
  // live as long as this. keep: descriptors held, at least 1. Going up from level n costs about n /
  // keep steps a level.
  DirectoryOpener(const Tree& tree, int root, bool make, std::size_t keep = 2);
  // Returns the directory; for the root, `root` itself. throws: core::SystemError naming the path;
  // core::Error if it is refused.
  // cost: one openat for each component below the nearest directory held.
  core::SharedDescriptor open(std::uint32_t directory);

 private:
  struct Held {
    std::uint32_t directory;
    core::SharedDescriptor opened;
  };

  core::SharedDescriptor nearest(std::uint32_t directory);
  core::Descriptor step(int parent, std::uint32_t directory) const;

  const Tree& tree_;
  core::SharedDescriptor root_;  // not closed
  bool make_;
  std::size_t keep_;
  std::vector<Held> chain_;           // the innermost of the path to the last one, outermost first
  std::vector<std::uint32_t> steps_;  // below the nearest one held, innermost first
};

}  // namespace tabane::encrypt

// The files below a directory as a scan finds them, without following symbolic links, and reached
// by name relative to open directories, so that no path is too long and no swapped link leads
// elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/selection.h"

namespace tabane::encrypt {

// Something that went wrong with one file or directory; the others go on.
struct Failure {
  std::string path;             // relative to the root; bytes as the file system has them
  std::string what;             // a sentence: reason, and the offset where there is one
  std::string difference = {};  // from the manifest, for programs: "missing"; or empty
};

// An array of plain values that grows without standing in memory twice: where the system can move
// pages, a large one is not copied. What trees of millions of files are kept in.
template <class T>
requires std::is_trivially_copyable_v<T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { *this = std::move(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    values_ = std::move(other.values_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  // throws: std::bad_alloc; as append().
  void push_back(const T& value) {
    const T copy = value;  // it may stand in here
    append(&copy, 1);
  }
  // values: not of this array.
  void append(const T* values, std::size_t count) {
    if (room_ - size_ < count) grow(count);
    if (count > 0) std::memcpy(values_.get() + size_, values, count * sizeof(T));
    size_ += count;
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };

  void grow(std::size_t more) {
    const std::size_t room = std::max(size_ + more, room_ + room_ / 2 + 16);
    void* const moved = std::realloc(static_cast<void*>(values_.get()), room * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(values_.release());
    values_.reset(static_cast<T*>(moved));
    room_ = room;
  }

  std::unique_ptr<T, Free> values_;
  std::size_t size_ = 0, room_ = 0;
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

// A file that has other names, too; files of one place are one file.
struct SharedFile {
  std::uint32_t file;  // its index
  core::FileId place;
};

// Files, links and subdirectories of one directory stand together, sorted by the bytes of their
// names; the directories of which they are follow each other in the order of a
// manifest.
struct Tree {
  GrowingArray<TreeDirectory> directories;  // parents before children; [0] is the root
  GrowingArray<TreeFile> files;
  // packed_time() of the last change of the files; none if the scan was not asked for them.
  GrowingArray<std::uint64_t> times;
  GrowingArray<TreeLink> links;          // symbolic ones, which nothing here follows
  GrowingArray<char> names;              // each ended by a zero
  std::vector<core::FileId> places;      // of the directories, in ascending order
  std::vector<SharedFile> shared;        // those with several names here, in ascending order
  std::uint64_t excluded = 0;            // left out
  std::vector<std::string> specials;     // paths of devices, pipes and sockets, left out
  std::vector<std::string> temporaries;  // paths of files with a temporary name, left out
  bool own_directory = false;            // kOwnDirectory is at the root, left out
  std::vector<Failure> failures;         // could not be looked at

  const char* name(std::uint64_t name_at) const { return names.data() + name_at; }
  // Adds a name and returns where it is.
  std::uint64_t add_name(std::string_view name);
  // "a/b/c" below the root; "" for the root itself.
  std::string path(std::uint32_t directory) const;
  std::string path(std::uint32_t directory, const char* name) const;  // of what has this name there
  std::string path(const TreeFile& file) const { return path(file.directory, name(file.name_at)); }
  std::string path(const TreeLink& link) const { return path(link.directory, name(link.name_at)); }
  std::uint64_t bytes() const;
  bool has_place(const core::FileId& place) const;
};

// A tree by the names that messages have, and by those that its files are read and written by,
// where these are others; a file has the same index in all of them. Only who fills them in knows
// why the names differ.
struct Trees {
  Tree tree;
  std::optional<Tree> as_read, as_written;

  const Tree& in() const { return as_read ? *as_read : tree; }
  const Tree& out() const { return as_written ? *as_written : tree; }
};

// At the root of a sealed tree this directory is tabane's.
inline constexpr const char* kOwnDirectory = ".tabane";

// Opens what has this name in an open directory for reading; neither follows a link nor waits for
// the writer of a pipe. Returns none that is valid if that cannot be: errno says why.
core::Descriptor open_entry(int directory, const char* name);

// Returns the target of a symbolic link in an open directory.
// throws: core::SystemError naming the link; core::Error if the target has more than 1 MiB.
std::string read_link(int directory, const char* name);

// A file by its name in an open directory.
struct DirectoryEntry {
  core::SharedDescriptor directory;
  std::string name;
};

// Opens the directories of a tree below another root, one after the other; keeps the last ones
// open. One thread at a time; several may make the same directories at once.
class DirectoryOpener {
 public:
  // make: directories that are missing are made, with mode 0700, and those that are one with a
  // directory of the tree are refused; the owner may change all of them from then on. tree, root:
  // live as long as this. keep: descriptors held, at least 1. Going up from level n costs about n /
  // keep steps a level. kAll: each that was opened is held, for files that come in no order.
  static constexpr std::size_t kAll = ~std::size_t{0};
  DirectoryOpener(const Tree& tree, int root, bool make, std::size_t keep = 2);
  // Returns the directory; for the root, `root` itself. throws: core::SystemError naming the path;
  // core::Error if it is refused.
  // cost: one openat for each component below the nearest directory held.
  core::SharedDescriptor open(std::uint32_t directory);
  DirectoryEntry entry(std::uint32_t file);  // the same for the directory that a file lies in

 private:
  struct Held {
    std::uint32_t directory;
    core::SharedDescriptor opened;
  };

  core::SharedDescriptor held_or_opened(std::uint32_t directory);
  core::SharedDescriptor nearest(std::uint32_t directory);
  core::Descriptor step(int parent, std::uint32_t directory) const;

  const Tree& tree_;
  core::SharedDescriptor root_;  // not closed
  bool make_;
  std::size_t keep_;
  std::vector<core::SharedDescriptor> all_;  // with kAll, by number; null: not opened yet
  std::vector<Held> chain_;           // the innermost of the path to the last one, outermost first
  std::vector<std::uint32_t> steps_;  // below the nearest one held, innermost first
};

// Walks what lies below the open directory `root`. cost: one fstatat a file, and each directory
// opened twice; 24 bytes and its name a file.
// temporaries: whether files with a temporary name are left out, or are files like others. own:
// leaves out kOwnDirectory at the root. times: keeps Tree::times. threads: at most, to look at the
// files. throws: core::SystemError only if the root itself cannot be read; std::system_error.
enum class Temporaries { take, leave_out };
Tree scan(int root, const Selection& selection, Temporaries temporaries = Temporaries::leave_out,
          bool own = false, bool times = false, unsigned threads = 1);

// A tree of the one file `name` in the open directory `parent`.
Tree single_file(const std::string& name, std::uint64_t bytes);

}  // namespace tabane::encrypt

// What a tree has beside the content of its files: modes, times, links, extended attributes.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tabane/crypto/keys.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

struct ModePolicy {
  bool opens = false;          // decrypting
  bool authenticated = false;  // modes come from a manifest
  bool preserve = false;       // all bits: set-user, set-group and sticky, too
  mode_t mask = 077;           // of this process
};

// The umask. throws: core::Error if the system does not tell it.
mode_t process_umask();

// The mode of the output of an input of mode `source`: of encrypted ones the input's permissions;
// of decrypted ones the owner's alone, or all if they are authenticated, within the umask; all bits
// if they are to be preserved.
mode_t output_mode(mode_t source, const ModePolicy& policy);

// Of OUT until its job ends: nobody else is let in, and the sticky bit, which means nothing where
// nobody else can write, tells a job that goes on after a kill that OUT is not one that the user
// has made, whose mode is to stay.
inline constexpr mode_t kUnfinishedRoot = 01700;
bool is_unfinished(int root);

// Those of an open file or directory that may be in a manifest, sorted by name; none where the file
// system has none. throws: core::SystemError; core::Error if they are too large for a manifest.
std::vector<Attribute> read_attributes(int file, const std::string& path);
// throws: core::SystemError.
void write_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path);

struct Restoring {
  ModePolicy modes;
  bool replaces;         // what is there: symbolic links with another target, other files
  bool root_attributes;  // the root gets mode and times, too
  bool extended;         // directories get extended attributes
  const crypto::KeyFiles& key_files;                    // which nothing replaces
  std::function<bool(std::uint32_t file)> is_restored;  // whether OUT has a file of the tree
};

// Makes symbolic links and the further names of files; gives directories modes and times.
// tree: the sealed one, whose directories are made below out_root where they are missing. To be
// called when all files are written, so that none is written through a link. What cannot be
// restored is told in failures. selection: of the scan. throws: as TreeManifest::merge_with().
void restore_links_and_directories(TreeManifest& manifest, const Tree& tree,
                                   const Selection& selection, int out_root, const Restoring& how,
                                   std::vector<Failure>& failures);

// Gives the directories, which were made as the files needed them, the modes and times of the
// input; makes those that have no file. From the leaves up, as writing into one changes its time.
// A root that no job has made keeps its own.
void finish_directories(const Tree& tree, int in_root, int out_root, bool made_root,
                        const ModePolicy& modes, std::vector<Failure>& failures);

// With hidden names, the root's mode is in the manifest alone.
void close_root(int root, std::vector<Failure>& failures);

// Lets the owner change a directory for a scope.
class WritableForNow {
 public:
  explicit WritableForNow(int directory);
  ~WritableForNow();
  WritableForNow(const WritableForNow&) = delete;
  WritableForNow& operator=(const WritableForNow&) = delete;

 private:
  int directory_;
  struct stat before_ {};
};

}  // namespace tabane::encrypt

// The manifest of the sealed directory tree that a job writes: made anew, or brought up to date.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/hidden_names.h"
#include "tabane/tools/encrypt/manifest_file.h"

namespace tabane::encrypt {

// What an interrupted job may have left in a sealed tree, and the plain one does not have any more.
struct Stray {
  std::string path;  // in the sealed tree
  bool directory;
  bool of_stranger = false;  // a file that is not sealed with the tree's key
  std::string plain = {};    // its path in the plain tree, if that is another one and is known
};

class OutputManifest {
 public:
  // Takes the manifest of a tree away that --force replaces. Marks one that is changed, until
  // finish(): whoever reads the tree meanwhile, or after a kill, is told. Decides whether the job
  // hides names, as it is asked to or as the tree that it goes on with does: then it is told which
  // tree it writes. Goes on with what the
  // manifest has; with --update, removes what stands in the way of the work, and otherwise names as
  // failures what OUT alone has: until an update could remove it, the mark stays. A dry run of an
  // update changes nothing and only finds what it would remove. throws: core::SystemError;
  // core::Error if the manifest that an update needs is damaged, if there is none to go on with
  // beside files of another tree, or if the mark of hidden names contradicts it;
  // core::UsageError if an update would remove too much.
  // threads: for what can be shared out.
  OutputManifest(JobState& job, const Hooks& hooks, unsigned threads);

  // Paths of what a dry run has found, as the plain tree had them as far as that is known;
  // directories end in '/'.
  std::vector<std::string> would_remove() const;

  // Writes the manifest when all files are written, unless an update would write what is there
  // already. Returns the root, or nothing if that could not be done, which is a failure: also if
  // something of IN could not be read that the manifest before has not. Then there is no manifest,
  // or the mark stays.
  std::optional<ManifestHash> finish(std::vector<Failure>& failures);

  std::uint64_t removed() const { return removed_; }  // files and directories
  // With --update: whether the last job on this tree ended, so that it left no temporary files.
  bool goes_on_from_an_end() const { return job_.request.update && trusts_old_; }

 private:
  void decide_on_names();
  void hide_names(unsigned threads);
  void require_whole_input() const;
  void update_or_name(const Hooks& hooks);
  bool knows_all() const;
  // With --update: whether the manifest has a file as it is, and the sealed one is there with its
  // size and time. Thread-safe; one thread's directories. cost: one fstatat.
  bool keeps(Directories& directories, std::uint32_t file);
  void open_old();
  void hold_against_input();
  void require_files_of_tree() const;
  void name_strays();
  std::vector<Stray> strays() const;
  void find_strays();
  void require_meant(const Hooks& hooks) const;
  void remove_gone();
  void remove(const Stray& gone);
  ManifestHash write(std::vector<Failure>& failures);

  JobState& job_;
  core::SharedDescriptor home_;
  FileRecords records_;
  bool hides_names_ = false;
  StoredNames names_;  // if they are hidden, from then on
  Tree stored_;        // the same
  std::unique_ptr<TreeManifest> old_;
  bool trusts_old_ = false;         // no update was interrupted since it was written
  std::vector<Stray> gone_;         // of the sealed tree, directories before what lies in them
  std::uint64_t listed_files_ = 0;  // in the manifest
  bool keeps_mark_ = false;         // there is something that only an update removes
  std::vector<Failure> failures_;
  std::uint64_t removed_ = 0;
};

}  // namespace tabane::encrypt

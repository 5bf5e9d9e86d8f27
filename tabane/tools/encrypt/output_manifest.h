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

class OutputManifest {
 public:
  // Takes the manifest of a tree away that --force replaces. Marks one that is changed, until
  // finish(): whoever reads the tree meanwhile, or after a kill, is told. Tells the job by which
  // names it writes the tree. Goes on with what the manifest has; with --update, removes what
  // stands in the way of the work, and otherwise names as failures what OUT alone has: until an
  // update could remove it, the mark stays. A dry run of an update changes nothing and only finds
  // what it would remove. throws: as OutputNames; core::SystemError; core::Error if the manifest
  // that an update needs is damaged, or if there is none to go on with beside files of another
  // tree; core::UsageError if an update would remove too much. threads: for what can be shared out.
  OutputManifest(JobState& job, unsigned threads);

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
  void require_whole_input() const;
  void update_or_name();
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
  void require_meant() const;
  void remove_gone();
  void remove(const Stray& gone);
  ManifestHash write(std::vector<Failure>& failures);

  JobState& job_;
  core::SharedDescriptor home_;
  FileRecords records_;
  std::unique_ptr<TreeManifest> old_;
  std::optional<OutputNames> names_;
  bool trusts_old_ = false;         // no update was interrupted since it was written
  std::vector<Stray> gone_;         // of the sealed tree, directories before what lies in them
  std::uint64_t listed_files_ = 0;  // in the manifest
  bool keeps_mark_ = false;         // there is something that only an update removes
  std::vector<Failure> failures_;
  std::uint64_t removed_ = 0;
};

}  // namespace tabane::encrypt

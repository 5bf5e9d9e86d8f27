#include "tabane/tools/encrypt/output_manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

// A file may be where a directory was.
bool is_gone(int error) { return error == ENOENT || error == ENOTDIR; }

[[noreturn]] void throw_damaged(const DamageError& error) {
  throw core::Error(
      "OUT: {}: {}; it is damaged: put back a copy of it, or seal everything anew with "
      "--force; --resume would write one that vouches for whatever is in OUT now",
      kManifestPath, error.what());
}

constexpr const char* kOfSomebodyElse =
    "; what it holds is not of this tree: move it away, decrypt and verify refuse until then";

bool is_sealed_for_tree(DirectoryOpener& directories, const Tree& tree, const TreeFile& file,
                        const TreeSeal& seal) {
  try {
    const auto found =
        header_there(directories.open(file.directory)->get(), tree.name(file.name_at));
    return found && keys_in_tree(found->header, found->bytes, seal.header.tree, seal.key);
  } catch (const core::Error&) {
    return false;
  }
}

// Says which of the strays, in the order of a walk, are not sealed with the tree's key. cost: opens
// what it suspects.
void find_strangers(const Tree& found, int sealed, const TreeSeal& seal,
                    std::vector<Stray>& strays) {
  DirectoryOpener directories(found, sealed, false);
  TreeWalk walk(found);
  auto stray = strays.begin();
  while (stray != strays.end() && walk.next()) {
    if (walk.path() != stray->path) continue;
    stray->of_stranger = !stray->directory &&
                         !is_sealed_for_tree(directories, found, found.files[walk.index()], seal);
    ++stray;
  }
}

}  // namespace

OutputManifest::OutputManifest(JobState& job, unsigned threads)
    : job_(job),
      home_(std::make_shared<const core::Descriptor>(open_home(job.out_root, true))),
      records_(job.tree.files.size(), home_->get()) {
  job.records = &records_;
  job.is_done_without_work = [this](Directories& directories, std::uint32_t file) {
    return keeps(directories, file);
  };
  if (job.request.resume) open_old();
  // First, so that a kill never leaves names to be shown.
  names_.emplace(job.request, job.tree, job.out_root, home_->get(), old_.get());
  if (!job.request.resume) {
    remove_own_file(home_->get(), kManifestPath);
    names_->complete(job.trees, *job.seal, threads);
    return;
  }
  trusts_old_ = old_ && !has_own_file(job.out_root, kIsChanging);
  require_whole_input();
  const bool had_old = old_ != nullptr;
  if (old_) hold_against_input();
  if (!old_) require_files_of_tree();
  if (had_old && !job.request.update) make_mark(home_->get(), kIsChanging);
  job.kept_by = old_.get();
  job.was_interrupted = !trusts_old_;
  names_->complete(job.trees, *job.seal, threads);
  update_or_name();
}

void OutputManifest::require_whole_input() const {
  if (!job_.request.update || job_.tree.failures.empty()) return;
  throw core::Error(
      "IN cannot be read to its end ({}: {}), so nobody knows what was deleted there; nothing "
      "was changed",
      job_.tree.failures[0].path, job_.tree.failures[0].what);
}

// Finds what OUT has and IN has not, for --update to remove.
void OutputManifest::update_or_name() {
  if (!job_.request.update) return name_strays();
  if (!trusts_old_) find_strays();
  if (job_.request.dry_run) return;
  require_meant();
  make_mark(home_->get(), kIsChanging);
  remove_gone();
}

// What an interrupted job may have left in OUT, and IN does not have any more; directories before
// what lies in them. cost: a scan. throws: core::SystemError if the root cannot be read.
std::vector<Stray> OutputManifest::strays() const {
  const Tree found = scan(job_.out_root, {}, Temporaries::leave_out, true);
  std::vector<Stray> strays = names_->strays(found);
  find_strangers(found, job_.out_root, *job_.seal, strays);
  return strays;
}

std::vector<std::string> OutputManifest::would_remove() const {
  std::vector<std::string> paths;
  for (const Stray& gone : gone_) {
    paths.push_back((gone.plain.empty() ? gone.path : gone.plain) + (gone.directory ? "/" : ""));
  }
  return paths;
}

// By the key that the job seals with alone: others may know a key of a slot that fits a manifest.
void OutputManifest::open_old() {
  KeyRing keys{OpeningKeys{}};
  keys.set_tree(job_.seal->header.tree, copy_of(job_.seal->key));
  try {
    old_ = TreeManifest::open(job_.out_root, keys);
  } catch (const DamageError& error) {
    if (!job_.request.update) return;  // a whole one takes its place
    throw_damaged(error);
  }
}

void OutputManifest::hold_against_input() {
  try {
    old_->merge_with(job_.tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
      if (listed == nullptr) return;
      listed_files_ += listed->kind == EntryKind::file;
      const bool stays = found != nullptr && found->kind() == listed->kind;
      if (stays && listed->kind == EntryKind::file) {
        records_.put(found->index(), record_of(*listed));
        names_->keep(found->index(), *listed);
      } else if (!stays) {
        if (auto gone = names_->place_of(*listed)) gone_.push_back(std::move(*gone));
      }
    });
  } catch (const DamageError& error) {
    if (job_.request.update) throw_damaged(error);
    old_.reset();  // as if there were none
    gone_.clear();
    names_->forget();
    records_ = FileRecords(job_.tree.files.size(), home_->get());
  }
}

// Without a manifest nothing but the files shows that .tabane/keys is of this tree: --force may
// have been stopped after it had replaced it, or somebody has put that of another tree there, which
// others can open.
void OutputManifest::require_files_of_tree() const {
  const TreeSeal& seal = *job_.seal;
  const auto other = file_of_another_tree(job_.out_root, seal.header.tree, seal.key);
  if (!other) return;
  throw core::Error(
      "OUT ({}) has no manifest that can be read, and {} in it is not sealed with the key in {}: a "
      "job with --force was stopped before it had replaced all of an older tree, or {} was "
      "exchanged; begin anew with --force",
      job_.request.out, *other, kKeysPath, kKeysPath);
}

// What lies in OUT alone would be told as added by whoever reads the tree.
void OutputManifest::name_strays() {
  gone_.clear();
  if (!job_.tree.failures.empty()) return;  // nobody knows what IN has
  for (const Stray& stray : strays()) {
    keeps_mark_ = keeps_mark_ || !stray.of_stranger;
    failures_.push_back(
        {stray.path, stray.of_stranger ? "is in OUT, but not sealed with its key; remove it"
                     : stray.directory ? "is a directory in OUT, but not in IN; --update removes it"
                                       : "is in OUT, but not in IN; --update removes it"});
  }
}

// Adds what an interrupted job may have left, and the manifest does not have.
void OutputManifest::find_strays() {
  for (Stray& stray : strays()) {
    if (!stray.of_stranger) gone_.push_back(std::move(stray));
  }
  const auto place = [](const Stray& gone) { return std::tie(gone.path, gone.directory); };
  std::ranges::stable_sort(gone_, [&](const Stray& a, const Stray& b) {
    const int order = compare_paths(a.path, b.path);
    return order != 0 ? order < 0 : a.directory < b.directory;
  });
  const auto again = std::ranges::unique(gone_, {}, place);
  gone_.erase(again.begin(), again.end());
}

// An IN that is empty, such as a disk that is not mounted, must not empty OUT.
void OutputManifest::require_meant() const {
  constexpr std::uint64_t kFew = 10;
  const auto files =
      static_cast<std::uint64_t>(std::ranges::count(gone_, false, &Stray::directory));
  const std::uint64_t all = std::max(files, listed_files_);
  if (files <= kFew || 2 * files <= all || job_.request.remove_most) return;
  if (job_.hooks.may_remove(files, all)) return;
  throw core::UsageError(
      "--update would remove {} of {} files in OUT ({}), which IN ({}) does not have; nothing was "
      "changed. --dry-run lists them, and --delete removes them",
      files, all, job_.request.out, job_.request.in);
}

// From the leaves up. Before the work, since a file and a directory may have changed places.
void OutputManifest::remove_gone() {
  for (auto gone = gone_.rbegin(); gone != gone_.rend(); ++gone) {
    try {
      remove(*gone);
    } catch (const core::SystemError& error) {
      const bool holds_more = error.code() == ENOTEMPTY || error.code() == EEXIST;
      failures_.push_back(
          {gone->path, std::string(error.what()) + (holds_more ? kOfSomebodyElse : "")});
      keeps_mark_ = true;  // the manifest that is written will not have it
    }
  }
  gone_.clear();
}

// Component by component, so that no link leads elsewhere. An interrupted job may have put
// something of another kind there already, which has a line of its own if it is gone, too.
void OutputManifest::remove(const Stray& gone) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  core::Descriptor parent(fcntl(job_.out_root, F_DUPFD_CLOEXEC, 0));
  std::size_t from = 0;
  for (std::size_t end; (end = gone.path.find('/', from)) != gone.path.npos; from = end + 1) {
    parent.reset(openat(parent.get(), gone.path.substr(from, end - from).c_str(), kFlags));
    if (!parent.valid() && is_gone(errno)) return;
    if (!parent.valid()) throw core::SystemError("open", gone.path, errno);
  }
  const std::string name = gone.path.substr(from);
  struct stat there {};
  if (fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (is_gone(errno)) return;
    throw core::SystemError("stat", gone.path, errno);
  }
  if (S_ISDIR(there.st_mode) != gone.directory && !trusts_old_) return;
  if (job_.request.key_files.find(parent.get(), name.c_str()) != nullptr) {
    throw core::SystemError("remove the file of keys", gone.path, EBUSY);
  }
  core::let_owner_work(parent.get());
  const int how = gone.directory ? AT_REMOVEDIR : 0;
  if (unlinkat(parent.get(), name.c_str(), how) != 0 && errno != ENOENT) {
    throw core::SystemError("remove", gone.path, errno);
  }
  ++removed_;
}

bool OutputManifest::keeps(Directories& directories, std::uint32_t file) {
  if (!job_.request.update || !old_ || !trusts_old_) return false;
  const FileRecord record = records_.get(file);
  const TreeFile& place = job_.tree.files[file];
  if (!record.known || place.bytes != record.sealed.bytes) return false;
  const std::uint64_t time = packed_time(record.seconds, record.nanoseconds);
  if (time == kNoTime || time != job_.tree.times[file] || place.mode != record.mode) return false;
  struct stat sealed {};
  try {
    const DirectoryEntry lies = directories.out->entry(file);
    if (fstatat(lies.directory->get(), lies.name.c_str(), &sealed, AT_SYMLINK_NOFOLLOW) != 0) {
      return false;
    }
  } catch (const core::SystemError&) {
    return false;  // it is told when the file is opened
  }
  const auto sealed_size = static_cast<std::uint64_t>(sealed.st_size);
  const auto least = sealed_bytes(record.sealed.bytes, kChunkLog2, kHeaderBytes);
  const auto most = sealed_bytes(record.sealed.bytes, kChunkLog2, kSlotsAt + kMostSlotsBytes);
  if (!S_ISREG(sealed.st_mode) || !record.has_time_of(sealed) || sealed_size < least ||
      sealed_size > most) {
    return false;
  }
  ++job_.files_kept;
  job_.bytes_kept += record.sealed.bytes;
  return true;
}

ManifestHash OutputManifest::write(std::vector<Failure>& failures) {
  SealedTree sealed{
      .tree = job_.tree,
      .in_root = job_.in_root,
      .records = records_,
      .seal = *job_.seal,
      .head = {.tree_id = job_.seal->header.tree,
               .generation = old_ ? old_->head().generation + 1 : 1,
               .attributes = job_.request.xattrs || (old_ && old_->head().attributes)},
      .complete = [this](std::uint32_t file, ManifestEntry& entry) { names_->tell(file, entry); }};
  names_->tell(sealed.head);
  if (old_ && job_.request.update && says_the_same(*old_, sealed)) return old_->root();
  return write_manifest(sealed, home_, job_.request.fsync, failures);
}

// A file that could not be sealed is in OUT as the old manifest has it, if that is to be relied on.
bool OutputManifest::knows_all() const {
  if (!job_.tree.failures.empty()) return false;
  const auto failed = job_.failures();
  if (old_ && !trusts_old_ && !failed.empty()) return false;
  return std::ranges::all_of(failed,
                             [&](const auto& file) { return records_.get(file.first).known; });
}

std::optional<ManifestHash> OutputManifest::finish(std::vector<Failure>& failures) {
  failures.insert(failures.end(), failures_.begin(), failures_.end());
  if (!knows_all()) {
    failures.push_back({kManifestPath,
                        "was not written, as not all of IN could be read: OUT is unfinished until "
                        "--resume can read the rest, or what cannot be read is excluded"});
    return std::nullopt;
  }
  try {
    if (keeps_mark_) make_mark(home_->get(), kIsChanging);
    const ManifestHash root = write(failures);
    if (!keeps_mark_) remove_own_file(home_->get(), kIsChanging);
    return root;
  } catch (const core::Error& error) {
    failures.push_back({kManifestPath, error.what()});
    return std::nullopt;
  }
}

}  // namespace tabane::encrypt

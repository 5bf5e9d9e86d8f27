#include "tabane/tools/encrypt/places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;

constexpr int kDirectory = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

// "a/b/" means the same place as "a/b", and "." has a name.
fs::path named(const std::string& path) {
  const fs::path whole = fs::absolute(path);
  return whole.has_filename() ? whole : whole.parent_path();
}

// throws: core::SystemError if it cannot be read.
bool is_empty_directory(const fs::path& path) {
  std::error_code error;
  const bool empty = fs::is_empty(path, error);
  if (error) throw core::SystemError("open", path.string(), error.value());
  return empty;
}

[[noreturn]] void throw_not_empty(const Request& request) {
  throw core::UsageError(
      "OUT ({}) is not empty; --resume keeps what is complete there, --force replaces it",
      request.out);
}

// The directory that OUT is made in must be there.
void require_parent(const fs::path& out) {
  if (fs::is_directory(out.parent_path())) return;
  throw core::UsageError("OUT ({}) cannot be made: there is no directory {}", out.string(),
                         out.parent_path().string());
}

// A disk is more likely named by mistake than meant.
void require_stream(const fs::path& out) {
  if (!fs::is_block_file(out) && !fs::is_socket(out)) return;
  throw core::UsageError("OUT ({}) is neither a regular file, a pipe nor a terminal", out.string());
}

// What a killed job has left shows when it is opened, but not if nothing authenticates it.
Temporaries wanted_temporaries(const Request& request) {
  return request.encrypts() || request.opens_sealed() ? Temporaries::take : Temporaries::leave_out;
}

// At the root of IN nothing may have the name that tabane takes in OUT.
void require_free_name(const Request& request, int in_root) {
  struct stat own {};
  if (!request.keeps_own_name() ||
      fstatat(in_root, kOwnDirectory, &own, AT_SYMLINK_NOFOLLOW) != 0 ||
      request.selection.leaves_out(kOwnDirectory, S_ISDIR(own.st_mode))) {
    return;
  }
  throw core::UsageError(
      "IN ({}) has an entry {}, whose name tabane takes for itself in OUT; is IN "
      "encrypted already? Rename it, or --exclude {}",
      request.in, kOwnDirectory, kOwnDirectory);
}

// A mistyped OUT must not become a new tree, nor what lies there a part of one.
void require_tree_to_update(const Request& request, const fs::path& out) {
  const auto has = [&](const char* path) {
    return access((out / path).c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
  };
  if (has(kManifestPath)) return;
  if (has(kKeysPath)) {
    throw core::UsageError(
        "OUT ({}) has no manifest, which --update goes by: its encryption was interrupted, and "
        "--resume finishes it, or the manifest was removed; then nothing shows which files are "
        "old or exchanged, and --force begins anew",
        request.out);
  }
  throw core::UsageError(
      "OUT ({}) {}, so there is nothing to update; encrypt without --update makes a "
      "new tree",
      request.out, fs::exists(out) ? "is no sealed tree" : "does not exist");
}

// An output as the user knows it: "OUT", and its path, which is absolute.
struct OutputPlace {
  const char* what;
  fs::path path;
};

constexpr int kPath = O_PATH | O_DIRECTORY | O_CLOEXEC;

// The output, if it is a directory that is there, or else the directory that it is made in; then
// the directories that this lies in. Empty if even that is missing.
std::vector<core::FileId> places_of_output(const fs::path& out) {
  core::Descriptor there(open(out.c_str(), kPath));
  if (!there.valid()) there.reset(open(out.parent_path().c_str(), kPath));
  return there.valid() ? core::with_parents(there.get()) : std::vector<core::FileId>();
}

[[noreturn]] void refuse_inside(const OutputPlace& inner, const char* outer,
                                const fs::path& of_path) {
  throw core::UsageError("{} ({}) is inside {} ({}); give another place", inner.what,
                         inner.path.string(), outer, of_path.string());
}

bool contains(const std::vector<core::FileId>& places, const core::FileId& place) {
  return std::ranges::find(places, place) != places.end();
}

// A directory .tabane alone may be a user's.
bool is_root_of_sealed_tree(int directory) {
  try {
    if (const auto keys = read_keys(directory)) {
      decode_keys_file(*keys);
      return true;
    }
  } catch (const core::Error&) {
    // The manifest may be there.
  }
  try {
    return tree_of_manifest(directory).has_value();
  } catch (const core::Error&) {
    return false;
  }
}

// Whether a path leads to the output, which may not be there yet.
bool is_output(const fs::path& path, const Places& places) {
  if (places.out_path.empty()) return false;
  fs::path out = places.out_path;
  if (places.input_kind != InputKind::tree) out /= places.output_name;
  return path.filename() == out.filename() &&
         places_of_output(path.parent_path()) == places_of_output(out.parent_path());
}

// Whether that regular file is there. path: "-" is standard output.
bool is_same_file(const struct stat& file, const std::string& path) {
  struct stat there {};
  const int result = path == kStandardStream ? fstat(core::standard_output().descriptor, &there)
                                             : stat(path.c_str(), &there);
  return S_ISREG(file.st_mode) && result == 0 && there.st_dev == file.st_dev &&
         there.st_ino == file.st_ino;
}

// The nearest sealed tree that a directory lies in, or is; empty: none.
fs::path sealed_tree_of(const fs::path& directory) {
  for (fs::path at = fs::canonical(directory);; at = at.parent_path()) {
    const core::Descriptor opened(open(at.c_str(), kPath));
    if (opened.valid() && is_root_of_sealed_tree(opened.get())) return at;
    if (at == at.parent_path()) return {};
  }
}

// throws: core::UsageError if the directory IN and the directory OUT are one, or one lies inside
// the other.
void require_apart(int in_root, const fs::path& in, const fs::path& out) {
  const std::vector<core::FileId> of_in = core::with_parents(in_root),
                                  of_out = places_of_output(out);
  if (of_out.empty()) return;
  if (fs::exists(out)) {
    if (of_in.front() == of_out.front()) {
      throw core::UsageError("OUT is IN; give another place for the output");
    }
    if (contains(of_in, of_out.front())) refuse_inside({"IN", in}, "OUT", out);
  }
  if (contains(of_out, of_in.front())) refuse_inside({"OUT", out}, "IN", in);
}

// The same of all directories that a scan of IN has seen: a mount of one of them has parents of its
// own.
void require_apart_from_all(const Tree& tree, const fs::path& in, const OutputPlace& out) {
  for (const core::FileId& place : places_of_output(out.path)) {
    if (tree.has_place(place)) refuse_inside(out, "IN", in);
  }
}

// throws: core::UsageError if the directory `in` is, or lies in, a sealed tree that the output
// would lie in, too: nobody could tell it from what a stranger has added there.
void require_outside_sealed_tree(const fs::path& in, const OutputPlace& out) {
  const fs::path tree = sealed_tree_of(in);
  if (tree.empty()) return;
  const core::Descriptor root(open(tree.c_str(), kPath));
  if (root.valid() && contains(places_of_output(out.path), core::identity_of(root.get()))) {
    refuse_inside(out, "the sealed tree that IN belongs to", tree);
  }
}

// throws: core::UsageError if a file that the caller writes would replace IN or OUT, or lie in one
// of them or in a sealed tree that is read. in: of IN.
void require_record_apart(const Request& request, const Request::Record& given,
                          const struct stat& in, const Places& places) {
  const core::OutputPath followed = core::follow_output_path(given.path);
  if (followed.stream) return;
  const OutputPlace record{given.option, fs::absolute(followed.path)};
  const auto refuse = [&](const char* what) {
    throw core::UsageError("{} ({}) is {}; give another file", given.option, given.path, what);
  };
  if (is_same_file(in, record.path)) refuse("IN");
  if (is_output(record.path, places)) refuse("OUT");
  request.key_files.require_none(given.option, record.path);
  if (S_ISDIR(in.st_mode)) {
    require_apart_from_all(places.trees.tree, request.in, record);
    const core::Descriptor out(open(places.out_path.c_str(), kPath));
    if (out.valid() && contains(places_of_output(record.path), core::identity_of(out.get()))) {
      refuse_inside(record, "OUT", places.out_path);
    }
  }
  if (places.in_root.valid() && !request.encrypts()) {
    require_outside_sealed_tree(places.in_path, record);
  }
}

void require_records_apart(const Request& request, const struct stat& in, const Places& places) {
  for (const Request::Record& record : request.records) {
    require_record_apart(request, record, in, places);
  }
}

void open_root(const Request& request, Places& places) {
  places.in_path = fs::absolute(request.in);
  places.in_root.reset(open(request.in.c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", request.in, errno);
  if (request.encrypts()) return;
  places.manifest.reset(
      openat(places.in_root.get(), kManifestPath, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

void place_directory(const Request& request, Places& places) {
  if (request.out == kStandardStream) {
    throw core::UsageError(
        "IN ({0}) is a directory, and - takes a single file; a whole tree becomes one by tar: "
        "tar c {0} | tabane encrypt - -",
        request.in);
  }
  open_root(request, places);
  if (request.direction != Direction::verify) {
    const fs::path out = named(request.out);
    if (fs::exists(out) && !fs::is_directory(out)) {
      throw core::UsageError("IN is a directory, so OUT ({}) must be one, or not exist",
                             request.out);
    }
    require_apart(places.in_root.get(), request.in, out);
    if (request.direction == Direction::decrypt) {
      require_outside_sealed_tree(request.in, {"OUT", out});
    }
    if (fs::exists(out) && !is_empty_directory(out) && !request.replaces()) {
      throw_not_empty(request);
    }
    if (request.update) require_tree_to_update(request, out);
    require_parent(out);
    places.out_path = out;
  }
  const auto threads =
      request.threads > 0 ? request.threads : static_cast<unsigned>(core::thread_binding().size());
  places.trees.tree = scan(places.in_root.get(), request.selection, wanted_temporaries(request),
                           request.keeps_own_name(), request.update, threads);
  if (request.encrypts()) require_free_name(request, places.in_root.get());
  if (!places.out_path.empty()) {
    require_apart_from_all(places.trees.tree, request.in, {"OUT", places.out_path});
  }
}

// Where a single file goes. in: what is read; name: what it is called in a directory, empty if it
// has no name.
void place_single_output(const Request& request, const struct stat& in, const fs::path& name,
                         Places& places) {
  const bool to_stdout = request.out == kStandardStream;
  const fs::path given = request.out;
  fs::path out = to_stdout ? given : named(request.out);
  if (!to_stdout && fs::is_directory(out)) {
    if (name.empty()) {
      throw core::UsageError("OUT ({}) is a directory, and standard input has no name; give a file",
                             request.out);
    }
    out /= name;
  }
  if (!to_stdout) request.key_files.require_none("OUT", out);
  if (is_same_file(in, out.string())) {
    throw core::UsageError("OUT is IN; give another place for the output");
  }
  const core::OutputPath place =
      to_stdout ? core::standard_output() : core::follow_output_path(out);
  if (place.stream) {
    if (!to_stdout) require_stream(out);
    places.stream = place;
    return;
  }
  if (fs::exists(fs::symlink_status(out)) && !request.replaces()) {
    throw core::UsageError("OUT ({}) exists; --force replaces it", out.string());
  }
  require_parent(place.path);
  places.out_path = place.path.parent_path();
  places.output_name = place.path.filename();
}

void place_standard_input(const Request& request, const struct stat& in, Places& places) {
  places.input_kind = InputKind::stream;
  if (request.direction != Direction::verify) place_single_output(request, in, "", places);
}

void place_file(const Request& request, const struct stat& status, Places& places) {
  if (request.update) {
    throw core::UsageError("IN ({}) is a file; --update brings a sealed directory tree up to date",
                           request.in);
  }
  if (request.xattrs || !request.selection.paths().empty()) {
    throw core::UsageError(
        "IN ({}) is a file; --xattrs and PATH need the manifest of a sealed tree", request.in);
  }
  const fs::path in = fs::canonical(request.in);
  places.input_kind = InputKind::file;
  places.in_path = in.parent_path();
  places.in_root.reset(open(in.parent_path().c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", in.parent_path().string(), errno);
  places.trees.tree = single_file(in.filename(), static_cast<std::uint64_t>(status.st_size));
  if (request.direction != Direction::verify) {
    place_single_output(request, status, in.filename(), places);
    if (!places.stream) places.trees.as_written = single_file(places.output_name, 0);
  }
  if (request.direction == Direction::decrypt && !places.stream) {
    require_outside_sealed_tree(places.in_path,
                                {"OUT", fs::path(places.out_path) / places.output_name});
  }
}

// Without files only a manifest can say that there is nothing to be missed; whether it is there, is
// looked at with the key.
void require_own_directory(const Request& request, const Tree& tree) {
  if (tree.own_directory && !request.without_manifest) return;
  throw core::Error(
      "IN ({}) holds no sealed file and no manifest: its encryption was interrupted, or they were "
      "removed",
      request.in);
}

// A directory that was never encrypted would otherwise give a failure for each of its files.
void require_sealed_files(const Request& request, const Places& places) {
  if (!request.opens_sealed()) return;
  if (places.trees.tree.files.empty()) return require_own_directory(request, places.trees.tree);
  if (holds_sealed_files(places.trees.tree, places.in_root.get())) return;
  throw core::Error(
      "IN ({}) holds no sealed file that can be read; what was encrypted with CBC needs "
      "the same --cipher here",
      request.in);
}

}  // namespace

Places look_at_places(const Request& request) {
  Places places;
  struct stat in {};
  const bool reads_stream = request.in == kStandardStream;
  if ((reads_stream ? fstat(STDIN_FILENO, &in) : stat(request.in.c_str(), &in)) != 0) {
    throw core::SystemError("open", reads_stream ? "standard input" : request.in, errno);
  }
  if (reads_stream) {
    place_standard_input(request, in, places);
  } else if (S_ISDIR(in.st_mode)) {
    place_directory(request, places);
    require_sealed_files(request, places);
  } else if (S_ISREG(in.st_mode)) {
    place_file(request, in, places);
  } else {
    throw core::UsageError("IN ({}) is neither a file nor a directory; - reads standard input",
                           request.in);
  }
  require_records_apart(request, in, places);
  return places;
}

Places look_at_root(const Request& request) {
  Places places;
  struct stat in {};
  if (stat(request.in.c_str(), &in) != 0) throw core::SystemError("open", request.in, errno);
  if (!S_ISDIR(in.st_mode)) {
    throw core::UsageError("IN ({}) is no directory; only a sealed tree has a manifest",
                           request.in);
  }
  open_root(request, places);
  places.trees.tree.own_directory = has_own_file(places.in_root.get(), kOwnDirectory);
  require_records_apart(request, in, places);
  return places;
}

void require_still_empty(const Places& places, const Request& request, const JobLock& lock) {
  if (request.replaces() || lock.is_alone_in(places.out_path)) return;
  throw_not_empty(request);
}

}  // namespace tabane::encrypt

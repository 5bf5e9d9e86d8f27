#include "tabane/tools/encrypt/preflight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/header_io.h"
#include "tabane/tools/encrypt/job_lock.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/modes.h"
#include "tabane/tools/encrypt/places_apart.h"
#include "tabane/tools/encrypt/stored_name.h"
#include "tabane/tools/encrypt/tree_home.h"

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
  throw core::UsageError(fmt::format(
      "OUT ({}) is not empty; --resume keeps what is complete there, --force replaces it",
      request.out));
}

// The directory that OUT is made in must be there.
void require_parent(const fs::path& out) {
  if (fs::is_directory(out.parent_path())) return;
  throw core::UsageError(fmt::format("OUT ({}) cannot be made: there is no directory {}",
                                     out.string(), out.parent_path().string()));
}

// A disk is more likely named by mistake than meant.
void require_stream(const fs::path& out) {
  if (!fs::is_block_file(out) && !fs::is_socket(out)) return;
  throw core::UsageError(
      fmt::format("OUT ({}) is neither a regular file, a pipe nor a terminal", out.string()));
}

// What a killed job has left shows when it is opened, but not if nothing authenticates it.
Temporaries wanted_temporaries(const Request& request) {
  const bool encrypts = request.direction == Direction::encrypt;
  return encrypts || request.cipher == Cipher::aes_256_gcm ? Temporaries::take
                                                           : Temporaries::leave_out;
}

// At the root of IN nothing may have the name that tabane takes in OUT.
void require_free_name(const Request& request, int in_root) {
  if (request.cipher != Cipher::aes_256_gcm || request.hide_names ||
      faccessat(in_root, kOwnDirectory, F_OK, AT_SYMLINK_NOFOLLOW) != 0 ||
      is_excluded(request.excludes, kOwnDirectory)) {
    return;
  }
  throw core::UsageError(
      fmt::format("IN ({}) has an entry {}, whose name tabane takes for itself in OUT; is IN "
                  "encrypted already? Rename it, or --exclude {}",
                  request.in, kOwnDirectory, kOwnDirectory));
}

// A mistyped OUT must not become a new tree, nor what lies there a part of one.
void require_tree_to_update(const Request& request, const fs::path& out) {
  const auto has = [&](const char* path) {
    return access((out / path).c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
  };
  if (has(kManifestPath)) return;
  if (has(kKeysPath)) {
    throw core::UsageError(fmt::format(
        "OUT ({}) has no manifest, which --update goes by: its encryption was interrupted, and "
        "--resume finishes it, or the manifest was removed; then nothing shows which files are "
        "old or exchanged, and --force begins anew",
        request.out));
  }
  throw core::UsageError(
      fmt::format("OUT ({}) {}, so there is nothing to update; encrypt without --update makes a "
                  "new tree",
                  request.out, fs::exists(out) ? "is no sealed tree" : "does not exist"));
}

void place_directory(const Request& request, Places& places) {
  if (request.out == kStandardStream) {
    throw core::UsageError(fmt::format(
        "IN ({0}) is a directory, and - takes a single file; a whole tree becomes one by tar: "
        "tar c {0} | tabane encrypt - -",
        request.in));
  }
  places.in_path = fs::absolute(request.in);
  places.in_root.reset(open(request.in.c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", request.in, errno);
  if (request.direction != Direction::verify) {
    const fs::path out = named(request.out);
    if (fs::exists(out) && !fs::is_directory(out)) {
      throw core::UsageError(
          fmt::format("IN is a directory, so OUT ({}) must be one, or not exist", request.out));
    }
    require_apart(places.in_root.get(), request.in, out);
    if (request.direction == Direction::decrypt) {
      require_outside_sealed_tree(request.in, {"OUT", out});
    }
    if (fs::exists(out) && !is_empty_directory(out) && !request.force && !request.resume) {
      throw_not_empty(request);
    }
    if (request.update) require_tree_to_update(request, out);
    require_parent(out);
    places.out_path = out;
  }
  const bool encrypts = request.direction == Direction::encrypt;
  if (!encrypts) {
    places.manifest.reset(
        openat(places.in_root.get(), kManifestPath, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  places.tree = scan(places.in_root.get(), request.excludes, wanted_temporaries(request),
                     request.cipher == Cipher::aes_256_gcm && !request.hide_names, request.update);
  if (encrypts) require_free_name(request, places.in_root.get());
  if (!places.out_path.empty()) {
    require_apart_from_all(places.tree, request.in, {"OUT", places.out_path});
  }
}

// path: "-" is standard output.
bool is_same_file(const struct stat& file, const std::string& path) {
  struct stat there {};
  const int result = path == kStandardStream ? fstat(core::standard_output().descriptor, &there)
                                             : stat(path.c_str(), &there);
  return result == 0 && there.st_dev == file.st_dev && there.st_ino == file.st_ino;
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
      throw core::UsageError(fmt::format(
          "OUT ({}) is a directory, and standard input has no name; give a file", request.out));
    }
    out /= name;
  }
  if (!to_stdout) request.key_files.require_none("OUT", out);
  if (S_ISREG(in.st_mode) && is_same_file(in, out.string())) {
    throw core::UsageError("OUT is IN; give another place for the output");
  }
  const core::OutputPath place =
      to_stdout ? core::standard_output() : core::follow_output_path(out);
  if (place.stream) {
    if (!to_stdout) require_stream(out);
    places.stream = place;
    return;
  }
  if (fs::exists(fs::symlink_status(out)) && !request.force && !request.resume) {
    throw core::UsageError(fmt::format("OUT ({}) exists; --force replaces it", out.string()));
  }
  require_parent(place.path);
  places.out_path = place.path.parent_path();
  places.output_name = place.path.filename();
}

void place_standard_input(const Request& request, const struct stat& in, Places& places) {
  places.single_file = true;
  if (request.direction != Direction::verify) place_single_output(request, in, "", places);
}

void place_file(const Request& request, const struct stat& status, Places& places) {
  if (request.update) {
    throw core::UsageError(fmt::format(
        "IN ({}) is a file; --update brings a sealed directory tree up to date", request.in));
  }
  const fs::path in = fs::canonical(request.in);
  places.single_file = true;
  places.in_path = in.parent_path();
  places.in_root.reset(open(in.parent_path().c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", in.parent_path().string(), errno);
  places.tree = single_file(in.filename(), static_cast<std::uint64_t>(status.st_size));
  if (request.direction != Direction::verify) {
    place_single_output(request, status, in.filename(), places);
  }
  if (request.direction == Direction::decrypt && !places.stream) {
    require_outside_sealed_tree(places.in_path,
                                {"OUT", fs::path(places.out_path) / places.output_name});
  }
}

// The header of a sealed file, if it can be read as one.
std::optional<std::vector<std::byte>> header_of(int directory, const char* name) {
  const core::Descriptor file(
      openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return std::nullopt;
  try {
    std::vector<std::byte> bytes = read_header(file.get(), name);
    decode_header(bytes);
    return bytes;
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

// Calls each(header bytes, file) for the sealed files of the tree below `root` until it returns
// true.
template <class Each>
void for_sealed_files(const Tree& tree, int root, const std::string& name_of_single,
                      const Each& each) {
  DirectoryOpener directories(tree, root, false);
  for (const TreeFile& file : tree.files) {
    try {
      const core::SharedDescriptor directory = directories.open(file.directory);
      const char* name = name_of_single.empty() ? tree.name(file.name_at) : name_of_single.c_str();
      const auto header = header_of(directory->get(), name);
      if (header && each(*header, file)) return;
    } catch (const core::SystemError&) {
      continue;  // it is told when its turn comes
    }
  }
}

// Without files only a manifest can say that there is nothing to be missed; whether it is there, is
// looked at with the key.
void require_own_directory(const Request& request, const Tree& tree) {
  if (tree.own_directory && !request.without_manifest) return;
  throw core::Error(fmt::format(
      "IN ({}) holds no sealed file and no manifest: its encryption was interrupted, or they were "
      "removed",
      request.in));
}

// A directory that was never encrypted would otherwise give a failure for each of its files.
void require_sealed_files(const Request& request, const Places& places) {
  const bool opens = request.direction != Direction::encrypt;
  if (!opens || request.cipher != Cipher::aes_256_gcm) return;
  if (places.tree.files.empty()) return require_own_directory(request, places.tree);
  bool any = false;
  for_sealed_files(places.tree, places.in_root.get(), "",
                   [&](const auto&, const auto&) { return any = true; });
  if (any) return;
  throw core::Error(fmt::format(
      "IN ({}) holds no sealed file that can be read; what was encrypted with CBC needs "
      "the same --cipher here",
      request.in));
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
    throw core::UsageError(fmt::format(
        "IN ({}) is neither a file nor a directory; - reads standard input", request.in));
  }
  require_record_apart(request, in, places);
  return places;
}

void require_still_empty(const Places& places, const Request& request, const JobLock& lock) {
  if (request.force || request.resume || lock.is_alone_in(places.out_path)) return;
  throw_not_empty(request);
}

OutputRoot open_output_root(const Places& places, const Request& request) {
  OutputRoot root;
  root.made = !places.single_file && mkdir(places.out_path.c_str(), kUnfinishedRoot) == 0;
  if (!places.single_file && !root.made && errno != EEXIST) {
    throw core::SystemError("make the directory", request.out, errno);
  }
  root.directory.reset(open(places.out_path.c_str(), kDirectory));
  struct stat status {};
  if (!root.directory.valid() || fstat(root.directory.get(), &status) != 0) {
    throw core::SystemError("open", places.out_path, errno);
  }
  // Single files may go into one directory side by side.
  if (places.single_file) {
    JobLock::require_free(root.directory.get(), request.out);
  } else if ((status.st_mode & 07777) == kUnfinishedRoot) {
    root.made = true;
  }
  return root;
}

namespace {

// Of a tree with hidden names: its directories have two hexadecimal digits.
std::size_t remove_leftovers_of_stored(int out_root) {
  std::size_t removed = core::remove_leftovers(out_root);
  for (const std::string& name : stored_directories()) {
    const core::Descriptor directory(openat(out_root, name.c_str(), kDirectory | O_NOFOLLOW));
    if (directory.valid()) removed += core::remove_leftovers(directory.get());
  }
  return removed;
}

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

bool holds_files_of_trees(const Tree& tree, int root) {
  bool found = false;
  for_sealed_files(tree, root, "", [&](const auto& header, const auto&) {
    return found = decode_header(header).source == KeySource::tree_key;
  });
  return found;
}

std::optional<TreeId> other_tree_there(const Tree& tree, int root, const TreeId& id) {
  std::optional<TreeId> other;
  for_sealed_files(tree, root, "", [&](const auto& bytes, const auto&) {
    const Header header = decode_header(bytes);
    if (header.source != KeySource::tree_key) return false;
    const bool is_of_this = header.tree == id;
    if (is_of_this) {
      other.reset();
    } else if (!other) {
      other = header.tree;
    }
    return is_of_this;
  });
  return other;
}

Leftovers remove_leftovers_in(const Places& places, int out_root, bool hides_names) {
  if (places.single_file) return {core::remove_own_leftovers(out_root, what_is_read(places))};
  if (hides_names) return {remove_leftovers_of_stored(out_root)};
  DirectoryOpener directories(places.tree, out_root, false);
  // Files of IN that have such a name themselves.
  std::set<std::pair<std::uint32_t, std::string>> own;
  for (const TreeFile& file : places.tree.files) {
    const char* const name = places.tree.name(file.name_at);
    if (core::is_temporary_name(name)) own.emplace(file.directory, name);
  }
  Leftovers found;
  if (const core::Descriptor home = open_home(out_root, false); home.valid()) {
    found.removed += core::remove_leftovers(home.get());
  }
  for (std::uint32_t i = 0; i < places.tree.directories.size(); ++i) {
    try {
      const core::SharedDescriptor directory = directories.open(i);
      if (places.tree.has_place(core::identity_of(directory->get()))) continue;  // refused later
      std::vector<std::string> unmarked;
      found.removed += core::remove_leftovers(
          directory->get(),
          [&](const std::string& name) {
            return own.contains({i, name});
          },
          &unmarked);
      for (const std::string& name : unmarked) {
        found.unmarked.push_back(fs::path(places.tree.path(i)) / name);
      }
    } catch (const core::SystemError&) {
      continue;  // not made yet, or told when a file goes there
    }
  }
  return found;
}

void require_key_fits(const Tree& tree, int root, const std::string& keys_problem, KeyRing& keys) {
  const bool single = tree.files.size() == 1;
  bool found = false, any = false;
  std::string reason;
  for_sealed_files(tree, root, "", [&](const auto& header, const TreeFile& file) {
    any = true;
    try {
      keys.keys_of(decode_header(header), header);
      return found = true;
    } catch (const WrongKey& error) {
      reason = single
                   ? fmt::format("at byte {}: wrong key, or the header is damaged", error.offset())
                   : "wrong key: it does not fit";
      if (!keys_problem.empty()) {
        reason = fmt::format(
            "no file opens by its own slots, and {}, by which the key may be right, is of no use: "
            "{}",
            kKeysPath, keys_problem);
      }
      if (!error.expected().empty()) reason += "; it is sealed for " + error.expected();
    } catch (const core::Error& error) {
      reason = error.what();
    }
    if (single) reason = tree.path(file) + ": " + reason;
    return false;
  });
  if (found || !any) return;
  throw core::Error(
      fmt::format("{} ({}nothing was written)", reason, single ? "" : "tried every file; "));
}

std::optional<TreeSeal> seal_of_files(const Tree& tree, int root, const std::string& name_of_single,
                                      KeyRing& keys) {
  std::optional<TreeSeal> seal;
  for_sealed_files(tree, root, name_of_single, [&](const auto& bytes, const auto&) {
    const Header header = decode_header(bytes);
    try {
      keys.keys_of(header, bytes);
    } catch (const WrongKey& error) {
      throw core::Error(
          fmt::format("wrong key: it does not fit what is in OUT already{}{}; nothing was written",
                      error.expected().empty() ? "" : ", which is sealed for ", error.expected()));
    } catch (const DamageError&) {
      return false;  // it is made anew
    }
    if (header.source != KeySource::tree_key) return false;
    std::vector<Slot> slots =
        decode_slots(std::span(bytes).subspan(kSlotsAt, header.slots_bytes), kSlotsAt);
    if (auto key = keys.open(header.tree, slots)) {
      seal = make_seal(header.tree, std::move(*key), std::move(slots));
    }
    return seal.has_value();
  });
  return seal;
}

}  // namespace tabane::encrypt

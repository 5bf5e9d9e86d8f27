#include "tabane/workloads/aes_dir/preflight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "tabane/workloads/aes_dir/job_lock.h"
#include "tabane/workloads/aes_dir/output_file.h"

namespace tabane::workloads::aes_dir {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCheckAt = kHeaderBytes - kKeyCheckBytes;
constexpr int kDirectory = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

// "a/b/" means the same place as "a/b", and "." has a name.
fs::path named(const std::string& path) {
  const fs::path whole = fs::absolute(path);
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_inside(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

// throws: core::SystemError if it cannot be read.
bool is_empty_directory(const fs::path& path) {
  std::error_code error;
  const bool empty = fs::is_empty(path, error);
  if (error) throw core::SystemError("open", path.string(), error.value());
  return empty;
}

void require_apart(const fs::path& in, const fs::path& out) {
  const fs::path a = fs::weakly_canonical(in), b = fs::weakly_canonical(out);
  if (a == b) throw core::UsageError("OUT is IN; give another place for the output");
  if (is_inside(b, a)) {
    throw core::UsageError(fmt::format("OUT ({}) lies inside IN ({})", out.string(), in.string()));
  }
  if (is_inside(a, b)) {
    throw core::UsageError(fmt::format("IN ({}) lies inside OUT ({})", in.string(), out.string()));
  }
}

// The directory that OUT is made in must be there.
void require_parent(const fs::path& out) {
  if (fs::is_directory(out.parent_path())) return;
  throw core::UsageError(fmt::format("OUT ({}) cannot be made: there is no directory {}",
                                     out.string(), out.parent_path().string()));
}

void place_directory(const Request& request, Places& places) {
  places.in_root.reset(open(request.in.c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", request.in, errno);
  if (request.direction != Direction::verify) {
    const fs::path out = named(request.out);
    require_apart(request.in, out);
    if (fs::exists(out) && !fs::is_directory(out)) {
      throw core::UsageError(
          fmt::format("IN is a directory, so OUT ({}) must be one, or not exist", request.out));
    }
    if (fs::exists(out) && !is_empty_directory(out) && !request.force && !request.resume) {
      throw core::UsageError(fmt::format(
          "OUT ({}) is not empty; --resume keeps what is complete there, --force replaces it",
          request.out));
    }
    require_parent(out);
    places.out_path = out;
  }
  places.tree = scan(places.in_root.get(), request.excludes);
}

void place_file(const Request& request, std::uint64_t bytes, Places& places) {
  const fs::path in = fs::canonical(request.in);
  places.single_file = true;
  places.in_root.reset(open(in.parent_path().c_str(), kDirectory));
  if (!places.in_root.valid()) throw core::SystemError("open", in.parent_path().string(), errno);
  places.tree = single_file(in.filename(), bytes);
  if (request.direction == Direction::verify) return;
  fs::path out = named(request.out);
  if (fs::is_directory(out)) out /= in.filename();
  if (fs::exists(out) && fs::equivalent(in, out)) {
    throw core::UsageError("OUT is IN; give another place for the output");
  }
  const fs::file_status there = fs::symlink_status(out);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_symlink(there)) {
    throw core::UsageError(fmt::format("OUT ({}) is not a regular file", out.string()));
  }
  if (fs::exists(there) && !request.force && !request.resume) {
    throw core::UsageError(fmt::format("OUT ({}) exists; --force replaces it", out.string()));
  }
  require_parent(out);
  places.out_path = out.parent_path();
  places.output_name = out.filename();
}

// The header of a sealed file, if it can be read as one.
std::optional<std::array<std::byte, kHeaderBytes>> header_of(int directory, const char* name) {
  const core::Descriptor file(
      openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<std::byte, kHeaderBytes> bytes;
  if (!file.valid()) return std::nullopt;
  try {
    if (core::read_all_at(file.get(), bytes.data(), bytes.size(), 0, name) != bytes.size()) {
      return std::nullopt;
    }
    decode_header(bytes);
  } catch (const core::Error&) {
    return std::nullopt;
  }
  return bytes;
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

bool fits(std::span<const std::byte, kHeaderBytes> bytes, KeyRing& keys) {
  const Header header = decode_header(bytes);
  return key_fits(bytes, derive_file_keys(header, keys.master_for(header)));
}

// A directory that was never encrypted would otherwise give a failure for each of its files.
void require_sealed_files(const Request& request, const Places& places) {
  const bool opens = request.direction != Direction::encrypt;
  if (!opens || request.cipher != Cipher::aes_256_gcm || places.tree.files.empty()) return;
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
  if (stat(request.in.c_str(), &in) != 0) throw core::SystemError("open", request.in, errno);
  if (S_ISDIR(in.st_mode)) {
    place_directory(request, places);
    require_sealed_files(request, places);
  } else if (S_ISREG(in.st_mode)) {
    place_file(request, static_cast<std::uint64_t>(in.st_size), places);
  } else {
    throw core::UsageError(fmt::format("IN ({}) is neither a file nor a directory", request.in));
  }
  return places;
}

core::Descriptor open_output_root(const Places& places, const Request& request) {
  if (!places.single_file && mkdir(places.out_path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw core::SystemError("make the directory", request.out, errno);
  }
  core::Descriptor root(open(places.out_path.c_str(), kDirectory));
  if (!root.valid()) throw core::SystemError("open", places.out_path, errno);
  // Single files may go into one directory side by side.
  if (places.single_file) JobLock::require_free(root.get(), request.out);
  return root;
}

std::size_t remove_leftovers_in(const Places& places, int out_root) {
  DirectoryOpener directories(places.tree, out_root, false);
  std::size_t removed = 0;
  for (std::uint32_t i = 0; i < places.tree.directories.size(); ++i) {
    try {
      removed += remove_leftovers(directories.open(i)->get());
    } catch (const core::SystemError&) {
      continue;  // not made yet, or told when a file goes there
    }
  }
  return removed;
}

void require_key_fits(const Tree& tree, int root, const std::string& name_of_single,
                      KeyRing& keys) {
  const bool single = tree.files.size() == 1;
  bool found = false, any = false;
  std::string reason;
  for_sealed_files(tree, root, name_of_single, [&](const auto& header, const TreeFile& file) {
    any = true;
    reason = "wrong key: it does not fit";
    try {
      found = fits(header, keys);
      if (single) reason = fmt::format("at byte {}: wrong key, or the header is damaged", kCheckAt);
    } catch (const DamageError& error) {
      reason = error.what();
    } catch (const core::Error& error) {
      reason = std::string("wrong key: ") + error.what();
    }
    if (single) reason = tree.path(file) + ": " + reason;
    return found;
  });
  if (found || !any) return;
  throw core::Error(
      fmt::format("{} ({}nothing was written)", reason, single ? "" : "tried every file; "));
}

ScryptParameters parameters_of_outputs(const Tree& tree, int out_root,
                                       const std::string& name_of_single, KeyRing& keys,
                                       const ScryptParameters& fresh) {
  ScryptParameters parameters = fresh;
  for_sealed_files(tree, out_root, name_of_single, [&](const auto& bytes, const auto&) {
    const Header header = decode_header(bytes);
    if (!fits(bytes, keys)) {
      throw core::Error("wrong key: it does not fit what is in OUT already; nothing was written");
    }
    // What earlier versions wrote was derived at a lower cost.
    const bool strong = header.scrypt.work() >= fresh.work();
    if (header.source == KeySource::scrypt && strong) parameters = header.scrypt;
    return header.source != KeySource::scrypt || strong;
  });
  return parameters;
}

}  // namespace tabane::workloads::aes_dir

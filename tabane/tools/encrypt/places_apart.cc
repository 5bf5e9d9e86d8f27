#include "tabane/tools/encrypt/places_apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/keys_file.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;

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
  throw core::UsageError(fmt::format("{} ({}) lies inside {} ({}); give another place", inner.what,
                                     inner.path.string(), outer, of_path.string()));
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
  if (places.single_file) out /= places.output_name;
  return path.filename() == out.filename() &&
         places_of_output(path.parent_path()) == places_of_output(out.parent_path());
}

bool is_file(const struct stat& file, const fs::path& path) {
  struct stat there {};
  return S_ISREG(file.st_mode) && stat(path.c_str(), &there) == 0 && there.st_dev == file.st_dev &&
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

}  // namespace

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

void require_apart_from_all(const Tree& tree, const fs::path& in, const OutputPlace& out) {
  for (const core::FileId& place : places_of_output(out.path)) {
    if (tree.has_place(place)) refuse_inside(out, "IN", in);
  }
}

void require_outside_sealed_tree(const fs::path& in, const OutputPlace& out) {
  const fs::path tree = sealed_tree_of(in);
  if (tree.empty()) return;
  const core::Descriptor root(open(tree.c_str(), kPath));
  if (root.valid() && contains(places_of_output(out.path), core::identity_of(root.get()))) {
    refuse_inside(out, "the sealed tree that IN belongs to", tree);
  }
}

void require_record_apart(const Request& request, const struct stat& in, const Places& places) {
  if (request.record.empty()) return;
  const core::OutputPath followed = core::follow_output_path(request.record);
  if (followed.stream) return;
  const OutputPlace record{"--json", fs::absolute(followed.path)};
  const auto refuse = [&](const char* what) {
    throw core::UsageError(
        fmt::format("--json ({}) is {}; give another file", request.record, what));
  };
  if (is_file(in, record.path)) refuse("IN");
  if (is_output(record.path, places)) refuse("OUT");
  request.key_files.require_none("--json", record.path);
  if (S_ISDIR(in.st_mode)) {
    require_apart_from_all(places.tree, request.in, record);
    const core::Descriptor out(open(places.out_path.c_str(), kPath));
    if (out.valid() && contains(places_of_output(record.path), core::identity_of(out.get()))) {
      refuse_inside(record, "OUT", places.out_path);
    }
  }
  if (places.in_root.valid() && request.direction != Direction::encrypt) {
    require_outside_sealed_tree(places.in_path, record);
  }
}

}  // namespace tabane::encrypt

// What a job does with the manifest of the tree that it reads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// Whether the request makes no sense without one.
bool needs_manifest(const Request& request);

// Opens and reads the manifest of the tree that is decrypted or verified, and holds it against what
// the scan saw, by the names that the manifest has. Returns null for files of version 1, or if
// the request wants none. throws: core::Error if the tree should have one
// and has not, if it is damaged, or if its root is not that of the request; core::UsageError if
// nothing is what a path of the request names.
std::unique_ptr<TreeManifest> manifest_of_input(const Request& request, Places& places,
                                                KeyRing& keys);

// What a manifest says in all.
struct ManifestSummary {
  ManifestHead head;
  ManifestHash root{};
  std::uint64_t largest = 0;  // bytes of the largest plain file
};

// Hands over what the request takes of a manifest, entry by entry from the root on, when all of it
// is proved; looks at no file. Returns what is wrong with the file of keys. throws: as run_job()
// that verifies.
std::vector<Failure> list_manifest(
    const Request& request, const Hooks& hooks,
    const std::function<void(const ManifestSummary&, const ManifestEntry&)>& each);

// Does a step of opening the tree that is decrypted or verified. throws: what the step throws, or
// core::Error if it may have failed because another job is changing the tree.
void open_unless_changing(const Request& request, const Places& places,
                          const std::function<void()>& step);

// Whether a job has begun to change the tree since the scan: it has a mark now, which stops who
// opens it, or another manifest. To be asked when all was read.
bool changed_since_scan(const Places& places);

// Says that the tree was changed while it was read, in place of what does not fit it for that
// reason: when verifying, of all failures.
void tell_that_it_changed(const Request& request, std::vector<Failure>& failures);

// Looks at a file as verify --quick does. Returns whether it is what the manifest has, and was
// counted; otherwise its task finds out what it is. Thread-safe; one thread's directories.
// cost: opens the file and reads it in one or two places.
bool looks_right(JobState& job, Directories& directories, std::uint32_t file);

// Names what differs from the manifest, as failures, and temporary files that the job left out.
void tell_differences(TreeManifest& manifest, std::vector<Failure>& failures,
                      std::vector<std::string>& temporaries);

}  // namespace tabane::encrypt

// For tests of jobs: what they tell, and all that is in a directory.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/job.h"
#include "tabane/tools/encrypt/request_test.h"

namespace tabane::encrypt {

using Lines = std::vector<std::string>;
using Entries = std::map<std::string, std::string>;

// Everything below a directory, by relative path: mode, time, what stands for the content, or the
// target.
inline Entries everything(const std::filesystem::path& root) {
  Entries entries;
  for (const auto& item : std::filesystem::recursive_directory_iterator(root)) {
    struct stat seen {};
    lstat(item.path().c_str(), &seen);
    std::string& entry = entries[item.path().lexically_relative(root)];
    entry = std::to_string(seen.st_mode) + " " + std::to_string(seen.st_mtim.tv_sec) + "." +
            std::to_string(seen.st_mtim.tv_nsec) + " ";
    if (item.is_symlink()) {
      entry += std::filesystem::read_symlink(item.path());
    } else if (item.is_regular_file()) {
      entry += std::to_string(std::hash<std::string>{}(core::read_file(item.path())));
    }
  }
  return entries;
}

inline void expect_no_temporary(const std::filesystem::path& root) {
  for (const auto& item : std::filesystem::recursive_directory_iterator(root)) {
    EXPECT_FALSE(core::is_temporary_name(item.path().filename().string())) << item.path();
  }
}

inline Header header_of(const std::filesystem::path& path) {
  return decode_header(from_text(core::read_file(path)));
}

// What the job is refused with; empty: it is done.
inline std::string refusal(const Request& request) {
  return core::text_of_error([&] { run_job(request); });
}

// "path: kind" of each difference, "path: damaged" of other failures; or what refuses it all.
inline Lines told(const Request& request) {
  Lines lines;
  const std::string refused = core::text_of_error([&] {
    for (const Failure& failure : run_job(request).failures) {
      lines.push_back(failure.path + ": " +
                      (failure.difference.empty() ? "damaged" : failure.difference));
    }
  });
  if (!refused.empty()) lines.push_back(refused);
  return lines;
}

// A directory, what is sealed of it, and what is opened again.
class SealsATree : public testing::Test {
 protected:
  SealsATree() { ::umask(022); }

  Request request(Direction direction, const std::filesystem::path& from,
                  const std::filesystem::path& to) const {
    Request r = request_of(direction, from, to);
    r.measure_copy = false;
    r.threads = threads;
    return r;
  }
  Request resuming() const {
    Request r = request(Direction::encrypt, in, sealed);
    r.resume = true;
    return r;
  }
  Request updating() const {
    Request r = resuming();
    r.update = true;
    return r;
  }
  Request verifying_without_manifest() const {
    Request r = request(Direction::verify, sealed, "");
    r.without_manifest = true;
    return r;
  }

  Lines verified() const { return told(request(Direction::verify, sealed, "")); }
  Lines verified_quickly() const {
    Request r = request(Direction::verify, sealed, "");
    r.quick = true;
    return told(r);
  }
  Lines decrypted() const {
    std::filesystem::remove_all(root / "opened");
    return told(request(Direction::decrypt, sealed, root / "opened"));
  }

  const core::ScratchFolder folder{"tabane-test"};
  const std::filesystem::path root = folder.path(), in = root / "in", sealed = root / "sealed";
  unsigned threads = 0;
};

}  // namespace tabane::encrypt

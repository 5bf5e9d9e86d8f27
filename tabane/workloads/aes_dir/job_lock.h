// Keeps two jobs of one user out of one directory tree.
#pragma once

#include <string>

#include "tabane/core/file.h"

namespace tabane::workloads::aes_dir {

// The lock is a file that only its owner can open: the directory itself can be locked by everybody
// who can read it, which would let others hold up a job. It has the name of a temporary file, so
// what a killed job leaves of it is removed like those.
class JobLock {
 public:
  // Never waits, and holds nothing where that cannot be: the directory cannot be written to, the
  // file is not this user's alone, or the file system has no locks. directory: outlives the lock.
  // throws: core::UsageError naming `path`, its name, if another job of this user holds it.
  JobLock(int directory, const std::string& path);
  ~JobLock();  // removes the file
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  bool holds() const { return file_.valid(); }

  // Whether another job of this user holds it; takes nothing.
  static bool is_held(int directory);
  // throws: core::UsageError as above; takes nothing.
  static void require_free(int directory, const std::string& path);

 private:
  int directory_;
  core::Descriptor file_;
};

}  // namespace tabane::workloads::aes_dir

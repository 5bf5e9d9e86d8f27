// Other programs that encrypt files, as their users run them.
#pragma once

#include "bench/bench.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {

// Keys, repositories and a mount in the folder of a place; each program gets its plain files.
class OtherPrograms {
 public:
  // The place outlives the programs.
  explicit OtherPrograms(const Workplace& place);
  ~OtherPrograms();  // unmounts what gocryptfs has mounted
  OtherPrograms(const OtherPrograms&) = delete;
  OtherPrograms& operator=(const OtherPrograms&) = delete;

  // One age for each file, as many at once as PUs, to a public key.
  Contender age(double target) const;
  // cp -r into a mounted folder, which is mounted and made empty outside the time.
  Contender gocryptfs(double target);
  // rclone copy to a remote of kind crypt that is a folder.
  Contender rclone(double target) const;
  // restic backup into a repository that is made outside the time.
  Contender restic(double target) const;

 private:
  void mount_gocryptfs();

  const Workplace& place_;
  fs::path folder_, password_, mount_;
  bool mounted_ = false;
};

}  // namespace tabane::bench

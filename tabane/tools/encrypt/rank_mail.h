// Letters between rank 0 of a job and those who help it. Nobody waits in a send, so that two ranks
// that write to each other at once both get on.
#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "tabane/comm/comm.h"
#include "tabane/team/serialiser.h"

namespace tabane::encrypt {

struct Letter {
  int from = 0;
  team::Bytes text;
};

// throw, all: core::LostError if a rank is gone.
class RankMail {
 public:
  explicit RankMail(comm::Comm& ranks) : ranks_(ranks) {}

  void post(int to, int tag, team::Bytes text);
  // Returns a letter that has come, or nothing.
  std::optional<Letter> take(int tag);
  // Waits for one without using a core: it may take as long as a walk through a tree.
  Letter wait(int tag);
  // Waits until the others have taken what was posted.
  void flush();

 private:
  struct Posted {
    team::Bytes text;
    std::optional<comm::Request> request;
  };
  void reap();

  comm::Comm& ranks_;
  std::list<Posted> posted_;  // an element must stay where it is
};

}  // namespace tabane::encrypt

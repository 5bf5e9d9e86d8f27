// What a rank does besides while it waits: for transports.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// Of one rank, in all of its groups. A wait inside a background calls none of them.
class Backgrounds {
 public:
  void enlist(Background& background) {
    all_.push_back(&background);
    if (background.progresses()) progressing_.push_back(&background);
  }
  // Also of one that is not enlisted any more.
  void strike(Background& background) {
    std::erase(all_, &background);
    std::erase(progressing_, &background);
  }

  void progress() {
    if (!progressing_.empty()) call(progressing_, &Background::progress);
  }
  void look() {
    if (!all_.empty()) call(all_, &Background::look);
  }

 private:
  // One that is called may strike itself, and enlist others.
  void call(const std::vector<Background*>& some, void (Background::*what)()) {
    if (std::exchange(calling_, true)) return;
    const Release release{calling_};
    for (std::size_t i = 0; i < some.size();) {
      Background* const one = some[i];
      (one->*what)();
      if (i < some.size() && some[i] == one) ++i;
    }
  }
  struct Release {
    bool& calling;
    ~Release() { calling = false; }
  };

  std::vector<Background*> all_, progressing_;
  bool calling_ = false;
};

}  // namespace tabane::comm

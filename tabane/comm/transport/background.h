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
    if (background.progresses()) ++progressing_;
  }
  // Also of one that is not enlisted any more.
  void strike(Background& background) {
    if (std::erase(all_, &background) > 0 && background.progresses()) --progressing_;
  }

  void progress() {
    if (progressing_ > 0) call(&Background::progress);
  }
  void look() {
    if (!all_.empty()) call(&Background::look);
  }

 private:
  // One that is called may strike itself, and enlist others.
  void call(void (Background::*what)()) {
    if (std::exchange(calling_, true)) return;
    const Release release{calling_};
    for (std::size_t i = 0; i < all_.size();) {
      Background* const one = all_[i];
      (one->*what)();
      if (i < all_.size() && all_[i] == one) ++i;
    }
  }
  struct Release {
    bool& calling;
    ~Release() { calling = false; }
  };

  std::vector<Background*> all_;
  int progressing_ = 0;
  bool calling_ = false;
};

}  // namespace tabane::comm

#include "tabane/tools/encrypt/rank_mail.h"

#include <chrono>
#include <thread>
#include <utility>

namespace tabane::encrypt {

void RankMail::post(int to, int tag, team::Bytes text) {
  reap();
  Posted& posted = posted_.emplace_back(Posted{std::move(text), std::nullopt});
  posted.request.emplace(ranks_.isend(to, posted.text, tag));
}

void RankMail::reap() {
  std::erase_if(posted_, [](Posted& posted) { return !posted.request || posted.request->test(); });
}

std::optional<Letter> RankMail::take(int tag) {
  reap();
  const auto found = ranks_.probe<std::byte>(comm::any_source, tag);
  if (!found) return std::nullopt;
  Letter letter{found->source, team::Bytes(found->count)};
  ranks_.recv(found->source, letter.text, tag);
  return letter;
}

Letter RankMail::wait(int tag) {
  for (;;) {
    if (std::optional<Letter> letter = take(tag)) return std::move(*letter);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void RankMail::flush() {
  for (Posted& posted : posted_) {
    if (posted.request) posted.request->wait();
  }
  posted_.clear();
}

}  // namespace tabane::encrypt

#include "tabane/comm/transport/mpi/outbox.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tabane/comm/transport/mpi/engine.h"

namespace tabane::comm::mpi {

std::size_t most_bytes() {
  static const std::size_t most = [] {
    constexpr std::size_t kMost = 1 << 30;
    const char* const text = std::getenv("TABANE_MPI_MOST_BYTES");
    const std::string_view given = text == nullptr ? "" : text;
    std::size_t number = 0;
    std::from_chars(given.data(), given.data() + given.size(), number);
    return number > 0 && number < kMost ? number : kMost;
  }();
  return most;
}

Outbox::Outbox(Engine& engine)
    : engine_(engine),
      sent_(static_cast<std::size_t>(engine.size())),
      marks_(static_cast<std::size_t>(engine.size())) {}

Outbox::~Outbox() {
  for (DetachedSend& send : detached_) {
    static_cast<void>(send.packet.release());
    static_cast<void>(send.elements.release());
  }
}

std::unique_ptr<Packet> Outbox::take_packet() {
  if (unused_.empty()) return std::make_unique<Packet>();
  std::unique_ptr<Packet> packet = std::move(unused_.back());
  unused_.pop_back();
  return packet;
}

void Outbox::give_back(std::unique_ptr<Packet> packet) {
  if (unused_.size() < 64) unused_.push_back(std::move(packet));
}

void Outbox::detach(DetachedSend send) {
  if (send.is_mark) ++of(marks_, send.peer);
  if (engine_.test(send.request, send.peer)) {
    end(std::move(send));
  } else {
    detached_.push_back(std::move(send));
  }
}

// A few of those under way at each call, in turn: each test makes MPI's own progress for all.
void Outbox::progress() {
  for (std::size_t i = 0; i < 4 && !detached_.empty(); ++i) {
    DetachedSend& send = detached_[cursor_++ % detached_.size()];
    if (!engine_.test(send.request, send.peer)) continue;
    end(std::move(send));
    if (&send != &detached_.back()) send = std::move(detached_.back());
    detached_.pop_back();
  }
}

void Outbox::end(DetachedSend send) {
  if (send.is_mark) --of(marks_, send.peer);
  if (send.packet) give_back(std::move(send.packet));
}

}  // namespace tabane::comm::mpi

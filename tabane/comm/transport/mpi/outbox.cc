#include "tabane/comm/transport/mpi/outbox.h"

#include <utility>

#include "tabane/comm/transport/mpi/engine.h"

namespace tabane::comm::mpi {

Outbox::Outbox(Engine& engine)
    : engine_(engine),
      sent_(static_cast<std::size_t>(engine.size())),
      marks_(static_cast<std::size_t>(engine.size())) {}

Outbox::~Outbox() {
  for (Orphan& orphan : orphans_) {
    static_cast<void>(orphan.packet.release());
    static_cast<void>(orphan.elements.release());
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

void Outbox::adopt(Orphan orphan) {
  if (orphan.is_mark) ++of(marks_, orphan.peer);
  if (engine_.test(orphan.request, orphan.peer)) {
    bury(std::move(orphan));
  } else {
    orphans_.push_back(std::move(orphan));
  }
}

// A few of those under way at each call, in turn: each test makes MPI's own progress for all.
void Outbox::progress() {
  for (std::size_t i = 0; i < 4 && !orphans_.empty(); ++i) {
    Orphan& orphan = orphans_[cursor_++ % orphans_.size()];
    if (!engine_.test(orphan.request, orphan.peer)) continue;
    bury(std::move(orphan));
    if (&orphan != &orphans_.back()) orphan = std::move(orphans_.back());
    orphans_.pop_back();
  }
}

void Outbox::bury(Orphan orphan) {
  if (orphan.is_mark) --of(marks_, orphan.peer);
  if (orphan.packet) give_back(std::move(orphan.packet));
}

}  // namespace tabane::comm::mpi

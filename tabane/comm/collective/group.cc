#include "tabane/comm/collective/group.h"

#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/choice.h"

namespace tabane::comm {

Group::Group(std::unique_ptr<Transport> transport, std::shared_ptr<const ChoiceTable> choice)
    : transport_(std::move(transport)), call_(&transport_->call()) {
  set_choice(std::move(choice));
  GroupMemory* const memory = transport_->memory();
  if (size() < 2 || memory == nullptr || memory->bytes().size() < least_board_bytes(size())) return;
  board_ = std::make_unique<SharedBoard>(rank(), size(), *memory);
  watch_ = std::make_unique<CallWatch>(*this);
  transport_->enlist(*watch_);
}

Group::~Group() {
  if (watch_ != nullptr) transport_->strike(*watch_);
}

void Group::set_choice(std::shared_ptr<const ChoiceTable> choice) {
  choice_ = choice ? std::move(choice) : default_choice();
}

std::span<std::byte> Group::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return std::span(scratch_).first(bytes);
}

}  // namespace tabane::comm

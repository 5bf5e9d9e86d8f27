#include "tabane/comm/collective/group.h"

#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/schedule.h"

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

std::unique_ptr<Schedule> Group::take_schedule() {
  if (schedules_.empty()) return nullptr;
  std::unique_ptr<Schedule> one = std::move(schedules_.back());
  schedules_.pop_back();
  return one;
}

void Group::keep_schedule(std::unique_ptr<Schedule> ended) {
  schedules_.push_back(std::move(ended));
}

}  // namespace tabane::comm

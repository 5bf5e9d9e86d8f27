#include "tabane/comm/collective/calls.h"

#include <algorithm>
#include <utility>

#include "tabane/core/clock.h"

namespace tabane::comm {
namespace {

class CountedPending : public Pending {
 public:
  CountedPending(std::unique_ptr<Pending> below, CallCounter& counter, std::string_view transport)
      : below_(std::move(below)), counter_(counter), transport_(transport) {}
  bool test() override {
    const bool done = below_->test();
    arrival = below_->arrival;
    return done;
  }
  void wait() override {
    const CallCounter::Scope in(&counter_, "wait", transport_);
    below_->wait();
    arrival = below_->arrival;
  }
  void wait_until(const std::function<bool()>& ready) override { below_->wait_until(ready); }

 private:
  std::unique_ptr<Pending> below_;
  CallCounter& counter_;
  std::string_view transport_;
};

class CountedTransport : public ForwardingTransport {
 public:
  CountedTransport(std::unique_ptr<Transport> below, CallCounter& counter,
                   std::vector<std::string_view> phases)
      : ForwardingTransport(std::move(below)), counter_(counter), phases_(std::move(phases)) {
    if (!phases_.empty()) counter_.count(false);
  }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    const CallCounter::Scope in(counter_of(label), "send", name());
    below().send(to, label, bytes);
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    const CallCounter::Scope in(counter_of(label), "recv", name());
    return below().recv(from, label, into);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    const CallCounter::Scope in(counter_of(label), "recv_view", name());
    return below().recv_parcel(from, label);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    const CallCounter::Scope in(counter_of(label), "isend", name());
    return counted(below().isend(to, label, bytes), label);
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    const CallCounter::Scope in(counter_of(label), "irecv", name());
    return counted(below().irecv(from, label, into), label);
  }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override {
    return counted_transport(below().make_group(members, request), counter_, phases_);
  }
  void set_phase(const char* text) override {
    if (!phases_.empty()) counter_.count(std::ranges::find(phases_, text) != phases_.end());
    below().set_phase(text);
  }

 private:
  // Messages of collectives are not calls of the user's.
  CallCounter* counter_of(const Label& label) const {
    return label.tag >= any_tag ? &counter_ : nullptr;
  }
  std::unique_ptr<Pending> counted(std::unique_ptr<Pending> pending, const Label& label) const {
    if (counter_of(label) == nullptr) return pending;
    return std::make_unique<CountedPending>(std::move(pending), counter_, name());
  }

  CallCounter& counter_;
  std::vector<std::string_view> phases_;
};

}  // namespace

void CallCounter::clear() {
  counts_.clear();
  current_ = kNone;
}

void CallCounter::stop_current() {
  const std::uint64_t now = core::ticks_begin();
  if (current_ != kNone) counts_[current_].ticks += now - since_;
  since_ = now;
}

std::size_t CallCounter::enter(std::string_view call, std::string_view how) {
  stop_current();
  const auto found = std::ranges::find_if(
      counts_, [&](const Count& one) { return one.call == call && one.how == how; });
  const std::size_t outer = std::exchange(current_, found - counts_.begin());
  if (found == counts_.end()) counts_.push_back({call, how});
  ++counts_[current_].calls;
  return outer;
}

void CallCounter::leave(std::size_t outer) {
  stop_current();
  current_ = outer;
}

std::unique_ptr<Transport> counted_transport(std::unique_ptr<Transport> below, CallCounter& counter,
                                             std::vector<std::string_view> phases) {
  return std::make_unique<CountedTransport>(std::move(below), counter, std::move(phases));
}

}  // namespace tabane::comm

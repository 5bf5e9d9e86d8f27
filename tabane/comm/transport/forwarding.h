// A transport on top of another one, for those that change or count some of its calls.
#pragma once

#include <memory>
#include <utility>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// Passes everything on but make_group(): what comes of that is to be on top, too.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::shared_ptr<Transport> below)
      : Transport(below->rank(), below->size()), below_(std::move(below)) {}

  std::string_view name() const override { return below_->name(); }
  int most_tag() const override { return below_->most_tag(); }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    below_->send(to, label, bytes);
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    return below_->recv(from, label, into);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    return below_->recv_parcel(from, label);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    return below_->isend(to, label, bytes);
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    return below_->irecv(from, label, into);
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    return below_->probe(from, label, arrival);
  }
  void progress() override { below_->progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    below_->wait_until(peer, ready);
  }
  void enlist(Background& background) override { below_->enlist(background); }
  void strike(Background& background) override { below_->strike(background); }
  GroupMemory* memory() override { return below_->memory(); }
  NativeCollectives* collectives() override { return below_->collectives(); }
  bool crowded() const override { return below_->crowded(); }
  void check_alive() override { below_->check_alive(); }
  void abort_job(int code) override { below_->abort_job(code); }
  void set_phase(const char* text) override { below_->set_phase(text); }
  std::atomic<const char*>& call() override { return below_->call(); }
  double now() override { return below_->now(); }
  void compute(const Work& work) override { below_->compute(work); }

 protected:
  Transport& below() { return *below_; }

 private:
  std::shared_ptr<Transport> below_;
};

}  // namespace tabane::comm

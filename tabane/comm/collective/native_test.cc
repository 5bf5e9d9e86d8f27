// The algorithms called native, on a transport whose own collectives are those of the group below.
#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/collective_checks_test.h"
#include "tabane/comm/transport/plain_transport_test.h"

namespace tabane::comm {
namespace {

class Below : public NativeCollectives {
 public:
  explicit Below(Comm& comm) : comm_(comm) {}
  std::size_t most_bytes() const override { return 10'000; }
  void barrier() override { comm::barrier(comm_); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    comm::broadcast(comm_, bytes, root);
  }
  // Knows max only.
  bool reduce(std::span<std::byte> values, const Combine& combine, int root) override {
    return combined(Kind::reduce, values, combine, root);
  }
  bool all_reduce(std::span<std::byte> values, const Combine& combine) override {
    return combined(Kind::all_reduce, values, combine, 0);
  }
  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root, bool) override {
    require_small(block.size() * static_cast<std::size_t>(comm_.size()));
    comm::gather(comm_, block, all, root);
  }
  void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) override {
    require_small(block.size() * static_cast<std::size_t>(comm_.size()));
    comm::scatter(comm_, all, block, root);
  }
  void all_gather(std::span<const std::byte> block, std::span<std::byte> all) override {
    require_small(all.size());
    comm::all_gather(comm_, block, all);
  }
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) override {
    require_small(in.size());
    comm::all_to_all(comm_, out, in);
  }

 private:
  void require_small(std::size_t bytes) const { require(bytes <= most_bytes()); }
  bool combined(Kind kind, std::span<std::byte> values, const Combine& combine, int root) {
    if (combine.operation != Operation::max) return false;
    Call call{.kind = kind, .root = root, .element = {combine.type, combine.element_bytes}};
    call.bytes = values.size();
    call.values = values;
    call.combine = &combine;
    comm::run(comm_.group(), call, {});
    return true;
  }

  Comm& comm_;
};

class OnTop : public Transport {
 public:
  explicit OnTop(Comm& comm)
      : Transport(comm.rank(), comm.size()), below_(comm.transport()), collectives_(comm) {}
  std::string_view name() const override { return "on top"; }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    below_.send(to, label, bytes);
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    return below_.recv(from, label, into);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    return below_.recv_parcel(from, label);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    return below_.isend(to, label, bytes);
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    return below_.irecv(from, label, into);
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    return below_.probe(from, label, arrival);
  }
  std::atomic<const char*>& call() override { return below_.call(); }
  void progress() override { below_.progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    below_.wait_until(peer, ready);
  }
  void enlist(Background& background) override { below_.enlist(background); }
  void strike(Background& background) override { below_.strike(background); }
  void abort_job(int code) override { throw AbortError(rank(), code); }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override {
    return below_.make_group(members, request);
  }
  NativeCollectives* collectives() override { return &collectives_; }

 private:
  Transport& below_;
  Below collectives_;
};

TEST(Native, ServesEverySizeRootAndLayout) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    run_plain(ranks, [](Comm& below) {
      Comm comm(std::make_unique<OnTop>(below));
      unsigned number = 0;
      for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.name != "native") continue;
        for (const std::size_t count : {0, 1, 7, 500, 1000}) {
          for (int root = 0; root < comm.size(); ++root) {
            for (int repeat = 0; repeat < 6; ++repeat) {
              check_call<std::int32_t>(comm, algorithm, count, root, ++number);
            }
          }
        }
      }
    });
  }
}

TEST(Native, IsChosenWhereThereIsOne) {
  run_plain(2, [](Comm& below) {
    Comm comm(std::make_unique<OnTop>(below));
    require(setting_of(comm.group()) == Setting::native);
    require(setting_of(below.group()) == Setting::memory);
    for (int i = 0; i < kKinds; ++i) {
      const auto kind = static_cast<Kind>(i);
      if (find_algorithm(kind, "native") == nullptr) continue;
      require_equal(comm.group().choice()->pick(comm.group(), {.kind = kind}).name, "native");
    }
  });
}

// Where NaN may win, or an exception of the user's may pass through a library in C.
TEST(Native, IsNotChosenForWhatItMayDoWrongly) {
  run_plain(2, [](Comm& below) {
    Comm comm(std::make_unique<OnTop>(below));
    const auto refused = [](const auto& f) { return error_of<core::UsageError>(f); };
    const CollectiveOptions native{"native"};
    require_contains(refused([&] { all_reduce(comm, 1.0, Operation::max, native); }), "NaN");
    require_contains(refused([&] { reduce(comm, 1.0f, Operation::min, 0, native); }), "NaN");
    const auto later = [](int, int b) { return b; };
    require_contains(refused([&] { all_reduce(comm, 1, later, native); }), "function");
    require_equal(all_reduce(comm, 1.0 + comm.rank(), Operation::max), 2.0);
    require_equal(all_reduce(comm, comm.rank(), later), 1);
  });
}

}  // namespace
}  // namespace tabane::comm

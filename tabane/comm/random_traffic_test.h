// Random messages between all ranks, each of which is checked, byte for byte, by its receiver; for
// any transport. What is sent is drawn from a seed that all ranks know, so a receiver knows what
// must come. Buffers are overwritten as soon as they are the sender's again, above all when a call
// has ended by an error: what others receive then shows whose bytes they got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tabane/comm/comm.h"

namespace tabane::comm {

class RandomTraffic {
 public:
  // seed: the same on all ranks. before_call: called before each call that communicates; may throw.
  RandomTraffic(
      Comm& comm, std::uint64_t seed, std::function<void()> before_call = [] {});

  // Sends and receives until a call throws, in `steps` steps at most. throws: core::Error if what
  // came is not what was sent; core::LostError, after this rank's buffers were overwritten.
  void run(int steps);
  std::uint64_t received() const { return received_; }  // messages

 private:
  using Random = std::mt19937_64;
  // posted: the receive is there first. expected: from its rank. any: from any source.
  enum class Way { posted, expected, any };
  struct Message {
    int from = 0, to = 0;
    Way way = Way::posted;
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };
  // Overwritten at its end.
  struct Buffer {
    explicit Buffer(std::size_t size) : bytes(size) {}
    Buffer(Buffer&&) = default;
    ~Buffer() { overwrite(); }
    void overwrite();
    std::vector<std::byte> bytes;
  };
  // A message and its request, which ends before the buffer does.
  struct Transfer {
    explicit Transfer(const Message& of) : message(of), buffer(of.bytes) {}
    Message message;
    Buffer buffer;
    std::optional<Request> request;
  };
  // The messages of a step to or from this rank.
  struct Step {
    int number = 0;
    std::vector<Message> out, in;
    std::optional<int> partner;  // for an exchange
  };

  Step plan(int number) const;
  static std::size_t draw_size(Random& random);
  std::vector<std::byte> content(const Message& message) const;
  void check(const Message& message, std::span<const std::byte> got, const Received& received);
  static int tag_of(const Step& step, Way way);

  void run(const Step& step);
  std::vector<Transfer> post_receives(const Step& step);
  std::vector<Transfer> start_sends(const Step& step);
  void send(const Step& step);
  void receive_expected(const Step& step);
  void receive_any(const Step& step);
  void receive(const Step& step, const Message& message);
  void exchange(const Step& step);
  void finish(std::vector<Transfer>& transfers, bool are_sends);
  bool chance(int of) { return random_() % static_cast<unsigned>(of) == 0; }

  Comm& comm_;
  std::uint64_t seed_;
  std::function<void()> before_call_;
  Random random_;  // of this rank alone: how it does what is planned
  std::uint64_t received_ = 0;
};

}  // namespace tabane::comm

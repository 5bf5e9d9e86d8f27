#include "tabane/comm/random_traffic_test.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "tabane/core/random.h"

namespace tabane::comm {

namespace {

constexpr int kMessagesARank = 4;

using core::mix;

struct Stamp {
  std::int32_t from, to;
  std::uint64_t number;
};

}  // namespace

void RandomTraffic::Buffer::overwrite() { std::ranges::fill(bytes, std::byte{0xee}); }

RandomTraffic::RandomTraffic(Comm& comm, std::uint64_t seed, std::function<void()> before_call)
    : comm_(comm),
      seed_(seed),
      before_call_(std::move(before_call)),
      random_(mix(seed + static_cast<std::uint64_t>(comm.rank()) + 1)) {}

void RandomTraffic::run(int steps) {
  for (int number = 0; number < steps; ++number) run(plan(number));
}

// Up to each of the sizes at which a message takes another way on some transport.
std::size_t RandomTraffic::draw_size(Random& random) {
  constexpr std::size_t kMost[] = {0, 40, 520, 4096, 65536, 262144, 2 << 20};
  std::discrete_distribution<std::size_t> draw_range{2, 6, 6, 6, 6, 4, 1};
  const std::size_t range = draw_range(random);
  const std::size_t least = range == 0 ? 0 : kMost[range - 1] + 1;
  return least + random() % (kMost[range] - least + 1);
}

RandomTraffic::Step RandomTraffic::plan(int number) const {
  Random random(mix(seed_ + (static_cast<std::uint64_t>(number) << 20)));
  const int ranks = comm_.size(), self = comm_.rank();
  const auto draw = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  Step step{.number = number, .out = {}, .in = {}, .partner = {}};
  for (int i = 0; i < kMessagesARank * ranks; ++i) {
    Message message{draw(ranks), draw(ranks), static_cast<Way>(draw(3)),
                    static_cast<std::uint64_t>(number) << 20 | static_cast<unsigned>(i),
                    draw_size(random)};
    if (message.from == self) step.out.push_back(message);
    if (message.to == self) step.in.push_back(message);
  }
  std::vector<int> pairs(static_cast<std::size_t>(ranks));
  std::iota(pairs.begin(), pairs.end(), 0);
  std::shuffle(pairs.begin(), pairs.end(), random);
  const auto own = static_cast<std::size_t>(std::ranges::find(pairs, self) - pairs.begin());
  if ((own ^ 1) < pairs.size()) step.partner = pairs[own ^ 1];
  return step;
}

std::vector<std::byte> RandomTraffic::content(const Message& message) const {
  std::vector<std::byte> bytes(message.bytes);
  std::uint64_t x = mix(seed_ ^ mix(message.number * 64 + static_cast<unsigned>(message.from)));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof x, x = x * 6364136223846793005u + 1) {
    std::memcpy(bytes.data() + at, &x, std::min(sizeof x, bytes.size() - at));
  }
  const Stamp stamp{message.from, message.to, message.number};
  if (!bytes.empty()) std::memcpy(bytes.data(), &stamp, std::min(sizeof stamp, bytes.size()));
  return bytes;
}

void RandomTraffic::check(const Message& message, std::span<const std::byte> got,
                          const Received& received) {
  const std::vector<std::byte> wanted = content(message);
  const std::size_t bytes = std::min(received.count, got.size());
  const auto [a, b] = std::mismatch(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes),
                                    wanted.begin(), wanted.end());
  ++received_;
  if (received.source == message.from && received.count == wanted.size() && b == wanted.end()) {
    return;
  }
  throw core::Error(
      "message " + std::to_string(message.number) + " of " + std::to_string(wanted.size()) +
      " bytes from rank " + std::to_string(message.from) + " to " + std::to_string(message.to) +
      " came from " + std::to_string(received.source) + " with " + std::to_string(received.count) +
      " bytes, wrong from byte " + std::to_string(b - wanted.begin()) + " on");
}

// A message from any source must not be taken for one of the next step.
int RandomTraffic::tag_of(const Step& step, Way way) {
  return way == Way::any ? 10 + step.number % 1000 : static_cast<int>(way);
}

// Nobody waits for ever: what is posted needs nothing but that its sender comes here; then what is
// sent without waiting is received; then the exchange, in which both send before they receive.
void RandomTraffic::run(const Step& step) {
  std::vector<Transfer> posted = post_receives(step);
  std::vector<Transfer> sent = start_sends(step);
  send(step);
  receive_expected(step);
  receive_any(step);
  exchange(step);
  finish(sent, true);
  finish(posted, false);
}

std::vector<RandomTraffic::Transfer> RandomTraffic::post_receives(const Step& step) {
  std::vector<Transfer> posted;
  posted.reserve(step.in.size());
  for (const Message& message : step.in) {
    if (message.way != Way::posted) continue;
    Transfer& transfer = posted.emplace_back(message);
    before_call_();
    transfer.request.emplace(
        comm_.irecv(message.from, transfer.buffer.bytes, tag_of(step, Way::posted)));
  }
  return posted;
}

std::vector<RandomTraffic::Transfer> RandomTraffic::start_sends(const Step& step) {
  std::vector<Transfer> sent;
  sent.reserve(step.out.size());
  for (const Message& message : step.out) {
    if (message.way == Way::posted) continue;
    Transfer& transfer = sent.emplace_back(message);
    transfer.buffer.bytes = content(message);
    before_call_();
    transfer.request.emplace(
        comm_.isend(message.to, transfer.buffer.bytes, tag_of(step, message.way)));
    if (chance(4)) transfer.request->test();
  }
  return sent;
}

// A short rest after an error lets others receive what they should not.
void RandomTraffic::send(const Step& step) {
  for (const Message& message : step.out) {
    if (message.way != Way::posted) continue;
    Buffer buffer(0);
    buffer.bytes = content(message);
    before_call_();
    try {
      comm_.send(message.to, buffer.bytes, tag_of(step, Way::posted));
    } catch (const core::LostError&) {
      buffer.overwrite();
      usleep(200);
      throw;
    }
  }
}

// Of each source in its order, but of the sources in any.
void RandomTraffic::receive_expected(const Step& step) {
  std::vector<Message> left;
  std::ranges::copy_if(step.in, std::back_inserter(left),
                       [](const Message& one) { return one.way == Way::expected; });
  while (!left.empty()) {
    const int from = left[random_() % left.size()].from;
    const auto next =
        std::ranges::find_if(left, [&](const Message& one) { return one.from == from; });
    receive(step, *next);
    left.erase(next);
  }
}

void RandomTraffic::receive(const Step& step, const Message& message) {
  const int tag = tag_of(step, message.way);
  if (chance(4)) {
    for (before_call_(); !comm_.probe(message.from, tag); before_call_()) usleep(1);
  }
  before_call_();
  if (chance(2)) {
    const auto view = comm_.recv_view<std::byte>(message.from, tag);
    return check(message, view.values(), {view.source(), view.tag(), view.size()});
  }
  Buffer buffer(message.bytes);
  check(message, buffer.bytes, comm_.recv(message.from, buffer.bytes, tag));
}

void RandomTraffic::receive_any(const Step& step) {
  std::vector<Message> left;
  std::ranges::copy_if(step.in, std::back_inserter(left),
                       [](const Message& one) { return one.way == Way::any; });
  while (!left.empty()) {
    before_call_();
    const auto view = comm_.recv_view<std::byte>(any_source, tag_of(step, Way::any));
    const auto message =
        std::ranges::find_if(left, [&](const Message& one) { return one.from == view.source(); });
    if (message == left.end()) throw core::Error("a message came twice, or of another step");
    check(*message, view.values(), {view.source(), view.tag(), view.size()});
    left.erase(message);
  }
}

void RandomTraffic::exchange(const Step& step) {
  if (!step.partner) return;
  const auto message = [&](int from, int to) {
    const std::uint64_t number = static_cast<std::uint64_t>(step.number) << 20 | 0xfffff;
    Random size(mix(seed_ ^ number) + static_cast<unsigned>(from));
    return Message{from, to, Way::expected, number, draw_size(size)};
  };
  const Message in = message(*step.partner, comm_.rank());
  Buffer out(0), into(in.bytes);
  out.bytes = content(message(comm_.rank(), *step.partner));
  before_call_();
  check(in, into.bytes, comm_.exchange(*step.partner, out.bytes, *step.partner, into.bytes, 5));
}

void RandomTraffic::finish(std::vector<Transfer>& transfers, bool are_sends) {
  for (Transfer& transfer : transfers) {
    before_call_();
    try {
      while (chance(3) && !transfer.request->test()) before_call_();
      const Received received = transfer.request->wait();
      if (!are_sends) check(transfer.message, transfer.buffer.bytes, received);
    } catch (const core::LostError&) {
      transfer.buffer.overwrite();  // while the others of this rank are still under way
      usleep(200);
      throw;
    }
    transfer.buffer.overwrite();
  }
}

}  // namespace tabane::comm

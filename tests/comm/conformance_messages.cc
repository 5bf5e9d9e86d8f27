// One message, and several of one pair: sizes, order, tags, many senders, oneself.
#include <algorithm>
#include <array>

#include "conformance.h"

namespace tabane::conformance {
namespace {

using comm::any_source;
using comm::any_tag;

// Sends a message round the ring, received in each of the ways there are.
void pass_on(Comm& world, std::size_t size, int number) {
  const int to = next(world), from = previous(world);
  const Bytes out = pattern(size, key_of(world.rank(), to, number));
  const std::uint64_t key = key_of(from, world.rank(), number);
  const std::string what = fmt::format("message of {} bytes from rank {}", size, from);

  Bytes exact(size);
  auto sent = world.isend(to, out, 1);
  comm::Received got = world.recv(from, exact, 1);
  sent.wait();
  require(got.source == from && got.tag == 1 && got.count == size,
          "{}: said to be {} from {}, tag {}", what, got.count, got.source, got.tag);
  require_pattern(exact, size, key, what);

  Bytes larger(size + 100, std::byte{0x5a});
  sent = world.isend(to, out, 2);
  got = world.recv(any_source, larger, 2);
  sent.wait();
  require_equal(got.count, size, what);
  require_pattern(std::span(larger).first(size), size, key, what + ", into a larger place");
  require(std::all_of(larger.begin() + static_cast<std::ptrdiff_t>(size), larger.end(),
                      [](std::byte b) { return b == std::byte{0x5a}; }),
          "{}: bytes behind its end were written", what);

  sent = world.isend(to, out, 3);
  const auto view = world.recv_view<std::byte>(from, any_tag);
  sent.wait();
  require(view.source() == from && view.tag() == 3, "{}: the view names another sender", what);
  require_pattern(view.values(), size, key, what + ", viewed");

  Bytes later(size);
  auto posted = world.irecv(from, later, 4);
  world.isend(to, out, 4).wait();
  require_equal(posted.wait().count, size, what);
  require_pattern(later, size, key, what + ", posted before");
}

void all_sizes(Comm& world, const Settings& settings) {
  int number = 0;
  for (const std::size_t size : sizes_around_borders(settings)) pass_on(world, size, ++number);
}

// Blocking sends, each rank to each other in turn.
void all_pairs(Comm& world, const Settings& settings) {
  for (const std::size_t size : sizes_around_borders(settings)) {
    if (size > 70'000) continue;
    for (int from = 0; from < world.size(); ++from) {
      for (int distance = 1; distance < world.size(); ++distance) {
        const int to = (from + distance) % world.size();
        const std::uint64_t key = key_of(from, to, static_cast<int>(size));
        if (world.rank() == from) world.send(to, pattern(size, key), 5);
        if (world.rank() != to) continue;
        Bytes in(size);
        world.recv(from, in, 5);
        require_pattern(in, size, key, fmt::format("{} bytes from rank {}", size, from));
      }
    }
  }
}

void very_large(Comm& world, const Settings& settings) {
  const std::size_t size = settings.quick ? (4 << 20) + 3 : 64 << 20;
  const int last = world.size() - 1;
  const std::uint64_t key = key_of(0, last, 0);
  if (world.rank() == 0) world.send(last, pattern(size, key), 6);
  if (world.rank() != last) return;
  Bytes in(size);
  world.recv(0, in, 6);
  require_pattern(in, size, key, "a very large message");
}

// Messages of all protocols, one after the other: none overtakes another.
void order_per_pair(Comm& world, const Settings& settings) {
  constexpr std::array<std::size_t, 9> kSizes{8,    100'000, 8,     4097,     0,
                                              4096, 300'000, 1'000, 2'000'003};
  const int count = settings.quick ? 60 : 300;
  const auto size_of = [&](int number) { return kSizes[static_cast<std::size_t>(number) % 9]; };
  std::vector<comm::Request> sent;
  std::vector<Bytes> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(pattern(size_of(i), key_of(world.rank(), next(world), i)));
    sent.push_back(world.isend(next(world), out.back(), i % 2));
  }
  for (int tag = 0; tag < 2; ++tag) {
    for (int i = tag; i < count; i += 2) {
      const auto view = world.recv_view<std::byte>(previous(world), tag);
      require_pattern(view.values(), size_of(i), key_of(previous(world), world.rank(), i),
                      fmt::format("message {} of tag {}", i / 2, tag));
    }
  }
  comm::wait_all(sent);
}

// A long stream of small messages, by blocking sends: the ring wraps again and again.
void streams(Comm& world, const Settings& settings) {
  const int count = settings.quick ? 3'000 : 30'000;
  if (world.size() == 1) return;
  const bool sends = world.rank() % 2 == 0;
  const int partner = world.rank() ^ 1;
  if (partner >= world.size()) return;
  std::array<std::uint32_t, 1100> values{};
  for (int i = 0; i < count; ++i) {
    const std::size_t size = 1 + static_cast<std::size_t>(i) * 37 % values.size();
    const auto message = std::span(values).first(size);
    const auto value = static_cast<std::uint32_t>(i);
    if (sends) {
      message.front() = message.back() = value;
      world.send(partner, message, 7);
    } else {
      const auto got = world.recv(partner, values, 7);
      require(got.count == size && values[0] == value && values[size - 1] == value,
              "message {} of a stream: {} elements, the first is {}", i, got.count, values[0]);
    }
  }
}

void tags_out_of_order(Comm& world, const Settings&) {
  constexpr int kCount = 40;
  const auto size_of = [](int tag) { return static_cast<std::size_t>(tag) * tag * 150; };
  std::vector<comm::Request> sent;
  std::vector<Bytes> out;
  for (int tag = 0; tag < kCount; ++tag) {
    out.push_back(pattern(size_of(tag), key_of(world.rank(), next(world), tag)));
    sent.push_back(world.isend(next(world), out.back(), tag));
  }
  for (int tag = kCount - 1; tag >= 0; --tag) {
    Bytes in(size_of(tag));
    world.recv(previous(world), in, tag);
    require_pattern(in, in.size(), key_of(previous(world), world.rank(), tag),
                    fmt::format("message of tag {}", tag));
  }
  comm::wait_all(sent);
}

// Small blocking sends to one that takes them in the other order.
void small_unexpected_messages(Comm& world, const Settings&) {
  constexpr int kCount = 16;
  for (int tag = 0; tag < kCount; ++tag) world.send(next(world), std::array{tag, tag}, tag);
  for (int tag = kCount - 1; tag >= 0; --tag) {
    std::array<int, 2> in{};
    world.recv(previous(world), in, tag);
    require(in[0] == tag && in[1] == tag, "tag {} brought {}", tag, in[0]);
  }
}

void tags_at_their_limits(Comm& world, const Settings&) {
  const int most = world.most_tag();
  for (const int tag : {0, 1, 255, 256, 32767, 32768, 65535, 65536, most - 1, most}) {
    world.isend(next(world), std::span(&tag, 1), tag).wait();
    std::array<int, 1> in{};
    const auto got = world.recv(previous(world), in, any_tag);
    require(in[0] == tag && got.tag == tag, "tag {} came as {}", tag, got.tag);
  }
}

void many_senders(Comm& world, const Settings& settings) {
  const int count = settings.quick ? 50 : 300;
  const auto size_of = [](int source, int number) {
    const int step = source * 7 + number;
    return step % 29 == 0 ? std::size_t{20'000} : static_cast<std::size_t>(step % 90);
  };
  for (int root = 0; root < world.size(); root += std::max(1, world.size() - 1)) {
    if (world.rank() != root) {
      for (int i = 0; i < count; ++i) {
        world.send(root, pattern(size_of(world.rank(), i), key_of(world.rank(), root, i)), i % 3);
      }
      continue;
    }
    std::vector<int> seen(static_cast<std::size_t>(world.size()));
    for (int i = 0; i < count * (world.size() - 1); ++i) {
      const auto view = world.recv_view<std::byte>(any_source, any_tag);
      int& number = seen[static_cast<std::size_t>(view.source())];
      require(view.tag() == number % 3, "message {} of rank {} has tag {}", number, view.source(),
              view.tag());
      require_pattern(view.values(), size_of(view.source(), number),
                      key_of(view.source(), root, number),
                      fmt::format("message {} of rank {}", number, view.source()));
      ++number;
    }
  }
}

// Ranks that never stop sending do not keep others' messages back.
void fair_to_all_senders(Comm& world, const Settings&) {
  enum Tag { flood, stop, end };
  if (world.rank() != 0) {
    while (!world.probe(0, stop)) {
      for (int i = 0; i < 8; ++i) world.send(0, i, flood);
    }
    world.recv<int>(0, stop);
    world.send(0, 0, end);
    return;
  }
  const int others = world.size() - 1;
  std::vector<int> seen(static_cast<std::size_t>(world.size()));
  int heard = 0;
  for (long total = 0; heard < others; ++total) {
    std::array<int, 1> in{};
    const int source = world.recv(any_source, in, flood).source;
    if (++seen[static_cast<std::size_t>(source)] == 10) ++heard;
    require(total < 2'000'000, "{} of {} senders were heard in {} messages", heard, others, total);
  }
  for (int rank = 1; rank <= others; ++rank) world.send(rank, 0, stop);
  for (int ended = 0; ended < others;) {
    std::array<int, 1> in{};
    if (world.recv(any_source, in, any_tag).tag == end) ++ended;
  }
}

void to_oneself(Comm& world, const Settings& settings) {
  const int self = world.rank();
  int number = 0;
  for (const std::size_t size : sizes_around_borders(settings)) {
    const std::uint64_t key = key_of(self, self, ++number);
    const Bytes out = pattern(size, key);
    world.send(self, out, 1);
    world.send(self, out, 2);
    Bytes in(size);
    world.recv(any_source, in, 2);
    require_pattern(in, size, key, "a message to oneself");
    require_pattern(world.recv_view<std::byte>(self, 1).values(), size, key, "the same, viewed");
    auto posted = world.irecv(any_source, in, any_tag);
    std::ranges::fill(in, std::byte{});
    require(world.isend(self, out, 3).test(), "isend of {} bytes to oneself is not complete", size);
    require(posted.wait().source == self, "a message to oneself came from elsewhere");
    require_pattern(in, size, key, "a message to oneself, posted before");
  }
}

struct Particle {
  double position[3];
  float mass;
  std::int32_t id;
};

void typed_values(Comm& world, const Settings&) {
  const Particle out{{1.5, 2.5, 3.5 + world.rank()}, 0.25F, world.rank()};
  auto sent = world.isend(next(world), std::span(&out, 1), 1);
  const auto in = world.recv<Particle>(previous(world), 1);
  sent.wait();
  require(in.id == previous(world) && in.position[2] == 3.5 + in.id, "a struct came changed");
  const std::string text = fmt::format("from rank {}", world.rank());
  sent = world.isend(next(world), text, 2);
  const auto view = world.recv_view<char>(previous(world), 2);
  sent.wait();
  require_equal(std::string(view.begin(), view.end()), fmt::format("from rank {}", previous(world)),
                "a string");
  // Bytes fit every type.
  const std::array<long double, 3> numbers{1.0L, 2.0L, 3.0L};
  sent = world.isend(next(world), numbers, 3);
  std::array<std::byte, sizeof numbers> bytes{};
  world.recv(previous(world), bytes, 3);
  sent.wait();
  sent = world.isend(next(world), bytes, 4);
  const auto back = world.recv_view<long double>(previous(world), 4);
  sent.wait();
  require(back.size() == 3 && back[2] == 3.0L, "numbers sent as bytes came changed");
}

constexpr std::array kChecks{
    Check{"messages.all_sizes", all_sizes},
    Check{"messages.all_pairs", all_pairs},
    Check{"messages.very_large", very_large},
    Check{"messages.order_per_pair", order_per_pair},
    Check{"messages.streams", streams},
    Check{"messages.tags_out_of_order", tags_out_of_order},
    Check{"messages.small_unexpected_messages", small_unexpected_messages},
    Check{"messages.tags_at_their_limits", tags_at_their_limits},
    Check{"messages.many_senders", many_senders},
    Check{"messages.fair_to_all_senders", fair_to_all_senders},
    Check{"messages.to_oneself", to_oneself},
    Check{"messages.typed_values", typed_values},
};

}  // namespace

std::span<const Check> message_checks() { return kChecks; }

}  // namespace tabane::conformance

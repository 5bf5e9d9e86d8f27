// One message, and several of one pair, on worlds of any size: sizes, order, tags, many senders,
// oneself, and what does not fit.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

// Sends a message round the ring, received in each of the ways there are.
void pass_on(Comm& world, std::size_t size, int number) {
  const int to = next(world), from = previous(world);
  const Bytes out = pattern_out(world, size, number);
  const std::uint64_t key = key_in(world, number);

  Bytes exact(size);
  Request sent = world.isend(to, out, 1);
  Received got = world.recv(from, exact, 1);
  sent.wait();
  require(got.source == from && got.tag == 1);
  require_equal(got.count, size);
  require_pattern(exact, size, key);

  Bytes larger(size + 100, std::byte{0x5a});
  sent = world.isend(to, out, 2);
  got = world.recv(any_source, larger, 2);
  sent.wait();
  require_equal(got.count, size);
  require_pattern(std::span(larger).first(size), size, key);
  require_equal(std::ranges::count(std::span(larger).subspan(size), std::byte{0x5a}), 100);

  sent = world.isend(to, out, 3);
  const View<std::byte> view = world.recv_view<std::byte>(from, any_tag);
  sent.wait();
  require(view.source() == from && view.tag() == 3);
  require_pattern(view.values(), size, key);

  Bytes later(size);
  Request posted = world.irecv(from, later, 4);
  world.isend(to, out, 4).wait();
  require_equal(posted.wait().count, size);
  require_pattern(later, size, key);
}

TEST(Messages, OfEverySizeArriveInEachWay) {
  on_worlds([](Comm& world) {
    int number = 0;
    for (const std::size_t size : sizes_around_borders(world)) pass_on(world, size, ++number);
  });
}

// Blocking sends, each rank to each other in turn.
TEST(Messages, OfEverySizeArriveBetweenAllPairs) {
  on_worlds([](Comm& world) {
    for (const std::size_t size : sizes_around_borders(world)) {
      if (size > 70'000) continue;
      for (int from = 0; from < world.size(); ++from) {
        for (int distance = 1; distance < world.size(); ++distance) {
          const int to = (from + distance) % world.size();
          const std::uint64_t key = key_of(from, to, static_cast<int>(size));
          if (world.rank() == from) world.send(to, pattern(size, key), 5);
          if (world.rank() != to) continue;
          Bytes in(size);
          world.recv(from, in, 5);
          require_pattern(in, size, key);
        }
      }
    }
  });
}

TEST(Messages, MayBeVeryLarge) {
  on_worlds([](Comm& world) {
    const std::size_t size = saves_time(world) ? (4 << 20) + 3 : 64 << 20;
    const int last = world.size() - 1;
    const std::uint64_t key = key_of(0, last, 0);
    if (world.rank() == 0) world.send(last, pattern(size, key), 6);
    if (world.rank() != last) return;
    Bytes in(size);
    world.recv(0, in, 6);
    require_pattern(in, size, key);
  });
}

// Of all protocols, one after the other: none overtakes another.
TEST(Messages, OfATagStayInOrder) {
  constexpr std::array<std::size_t, 9> kSizes{8,    100'000, 8,     4097,     0,
                                              4096, 300'000, 1'000, 2'000'003};
  on_worlds([&](Comm& world) {
    const int count = saves_time(world) ? 60 : 300;
    const auto size_of = [&](int number) { return kSizes[static_cast<std::size_t>(number) % 9]; };
    std::vector<Request> sent;
    std::vector<Bytes> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(pattern_out(world, size_of(i), i));
      sent.push_back(world.isend(next(world), out.back(), i % 2));
    }
    for (int tag = 0; tag < 2; ++tag) {
      for (int i = tag; i < count; i += 2) {
        const View<std::byte> view = world.recv_view<std::byte>(previous(world), tag);
        require_pattern(view.values(), size_of(i), key_in(world, i));
      }
    }
    wait_all(sent);
  });
}

// By blocking sends: the ring of a channel wraps again and again.
TEST(Messages, StreamFromOneRankToAnother) {
  on_worlds([](Comm& world) {
    const int count = saves_time(world) ? 3'000 : 30'000, partner = world.rank() ^ 1;
    if (partner >= world.size()) return;
    std::array<std::uint32_t, 1100> values{};
    for (int i = 0; i < count; ++i) {
      const std::size_t size = 1 + static_cast<std::size_t>(i) * 37 % values.size();
      const auto value = static_cast<std::uint32_t>(i);
      if (world.rank() % 2 == 0) {
        values.front() = values[size - 1] = value;
        world.send(partner, std::span(values).first(size), 7);
      } else {
        require_equal(world.recv(partner, values, 7).count, size);
        require(values[0] == value && values[size - 1] == value);
      }
    }
  });
}

TEST(Messages, AreReceivedByTagInAnyOrder) {
  constexpr int kCount = 40;
  on_worlds([](Comm& world) {
    const auto size_of = [](int tag) { return static_cast<std::size_t>(tag) * tag * 150; };
    std::vector<Request> sent;
    std::vector<Bytes> out;
    for (int tag = 0; tag < kCount; ++tag) {
      out.push_back(pattern_out(world, size_of(tag), tag));
      sent.push_back(world.isend(next(world), out.back(), tag));
    }
    for (int tag = kCount - 1; tag >= 0; --tag) {
      Bytes in(size_of(tag));
      world.recv(previous(world), in, tag);
      require_pattern(in, in.size(), key_in(world, tag));
    }
    wait_all(sent);
  });
}

TEST(Messages, ThatAreSmallWaitForWhoTakesThemInAnotherOrder) {
  constexpr int kCount = 16;
  on_worlds([](Comm& world) {
    for (int tag = 0; tag < kCount; ++tag) world.send(next(world), std::array{tag, tag}, tag);
    for (int tag = kCount - 1; tag >= 0; --tag) {
      std::array<int, 2> in{};
      world.recv(previous(world), in, tag);
      require_equal(in, (std::array{tag, tag}));
    }
  });
}

TEST(Messages, HaveTagsUpToTheLimit) {
  on_worlds([](Comm& world) {
    const int most = world.most_tag();
    for (const int tag : {0, 1, 255, 256, 32767, 32768, 65535, 65536, most - 1, most}) {
      world.isend(next(world), std::span(&tag, 1), tag).wait();
      std::array<int, 1> in{};
      require_equal(world.recv(previous(world), in, any_tag).tag, tag);
      require_equal(in[0], tag);
    }
  });
}

TEST(Messages, ComeFromManySendersAtOnce) {
  const auto size_of = [](int source, int number) {
    const int step = source * 7 + number;
    return step % 29 == 0 ? std::size_t{20'000} : static_cast<std::size_t>(step % 90);
  };
  on_worlds([&](Comm& world) {
    const int count = saves_time(world) ? 50 : 300;
    for (int root = 0; root < world.size(); root += std::max(1, world.size() - 1)) {
      if (world.rank() != root) {
        for (int i = 0; i < count; ++i) {
          world.send(root, pattern(size_of(world.rank(), i), key_of(world.rank(), root, i)), i % 3);
        }
        continue;
      }
      std::vector<int> seen(static_cast<std::size_t>(world.size()));
      for (int i = 0; i < count * (world.size() - 1); ++i) {
        const View<std::byte> view = world.recv_view<std::byte>(any_source, any_tag);
        const int source = view.source(), number = seen[static_cast<std::size_t>(source)]++;
        require_equal(view.tag(), number % 3);
        require_pattern(view.values(), size_of(source, number), key_of(source, root, number));
      }
    }
  });
}

// Ranks that never stop sending do not keep others' messages back.
TEST(Messages, OfAllSendersAreHeard) {
  enum Tag { flood, stop, end };
  on_worlds([](Comm& world) {
    if (world.rank() != 0) {
      while (!world.probe(0, stop)) {
        for (int i = 0; i < 8; ++i) world.send(0, i, flood);
      }
      world.recv<int>(0, stop);
      return world.send(0, 0, end);
    }
    const int others = world.size() - 1;
    std::vector<int> seen(static_cast<std::size_t>(world.size()));
    std::array<int, 1> in{};
    int heard = 0;
    for (long total = 0; heard < others; ++total) {
      const int source = world.recv(any_source, in, flood).source;
      if (++seen[static_cast<std::size_t>(source)] == 10) ++heard;
      require(total < 2'000'000);
    }
    for (int rank = 1; rank <= others; ++rank) world.send(rank, 0, stop);
    for (int ended = 0; ended < others;) {
      if (world.recv(any_source, in, any_tag).tag == end) ++ended;
    }
  });
}

TEST(Messages, ToOneselfAreSentAtOnce) {
  on_worlds([](Comm& world) {
    const int self = world.rank();
    int number = 0;
    for (const std::size_t size : sizes_around_borders(world)) {
      const std::uint64_t key = key_of(self, self, ++number);
      const Bytes out = pattern(size, key);
      world.send(self, out, 1);
      world.send(self, out, 2);
      Bytes in(size);
      world.recv(any_source, in, 2);
      require_pattern(in, size, key);
      require_pattern(world.recv_view<std::byte>(self, 1).values(), size, key);
      Request posted = world.irecv(any_source, in, any_tag);
      std::ranges::fill(in, std::byte{});
      require(world.isend(self, out, 3).test());
      require_equal(posted.wait().source, self);
      require_pattern(in, size, key);
    }
  });
}

struct Particle {
  double position[3];
  float mass;
  std::int32_t id;
};

TEST(Messages, OfStructsAndStrings) {
  on_worlds([](Comm& world) {
    const Particle out{{1.5, 2.5, 3.5 + world.rank()}, 0.25F, world.rank()};
    Request sent = world.isend(next(world), std::span(&out, 1), 1);
    const auto in = world.recv<Particle>(previous(world), 1);
    sent.wait();
    require(in.id == previous(world) && in.position[2] == 3.5 + in.id && in.mass == 0.25F);
    const std::string text = "from rank " + std::to_string(world.rank());
    sent = world.isend(next(world), text, 2);
    const View<char> view = world.recv_view<char>(previous(world), 2);
    sent.wait();
    require_equal(std::string(view.begin(), view.end()),
                  "from rank " + std::to_string(previous(world)));
  });
}

TEST(Messages, OfBytesFitEveryType) {
  on_worlds([](Comm& world) {
    const std::array<long double, 3> numbers{1.0L, 2.0L, 3.0L};
    Request sent = world.isend(next(world), numbers, 3);
    std::array<std::byte, sizeof numbers> bytes{};
    world.recv(previous(world), bytes, 3);
    sent.wait();
    sent = world.isend(next(world), bytes, 4);
    const View<long double> back = world.recv_view<long double>(previous(world), 4);
    sent.wait();
    require(back.size() == 3 && back[2] == 3.0L);
  });
}

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

// Sends `out` round the ring three times, received in each of the ways there are, none of which
// may take it; the text of each error must have all parts. Then a message that fits comes.
template <class T>
void require_refused(Comm& world, const std::vector<double>& out, std::vector<T> in, bool views,
                     const std::vector<std::string>& parts) {
  const int to = next(world), from = previous(world);
  const auto names_all = [&](const std::string& error) {
    require_contains(error, rank_name(from));
    require_contains(error, rank_name(world.rank()));
    for (const std::string& part : parts) require_contains(error, part);
  };
  Request sent = world.isend(to, out, 1);
  names_all(error_of<MessageError>([&] { world.recv(from, in, 1); }));
  sent.wait();
  if (views) {
    sent = world.isend(to, out, 2);
    names_all(error_of<MessageError>([&] { world.recv_view<T>(from, 2); }));
    sent.wait();
  }
  Request posted = world.irecv(any_source, in, 3);
  sent = world.isend(to, out, 3);
  names_all(error_of<MessageError>([&] { posted.wait(); }));
  sent.wait();
  require(in.front() == -1 && in.back() == -1);  // nothing was written
  pass_on(world, 9'000, 1);
}

TEST(Messages, OfAnotherTypeAreRefused) {
  on_worlds([](Comm& world) {
    for (const std::size_t count : {1, 50, 700, 100'000}) {
      require_refused(world, std::vector<double>(count, 1.5),
                      std::vector<std::int32_t>(2 * count, -1), true, {"float64", "int32"});
    }
  });
}

TEST(Messages, ThatAreTooLargeAreRefused) {
  on_worlds([](Comm& world) {
    for (const std::size_t count : {2, 50, 513, 100'000}) {
      require_refused(
          world, std::vector<double>(count, 2.5), std::vector<double>(count - 1, -1), false,
          {std::to_string(count * 8) + " bytes", std::to_string(count * 8 - 8) + " bytes"});
    }
  });
}

}  // namespace
}  // namespace tabane::comm

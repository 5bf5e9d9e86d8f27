// What the tests on all transports cannot ask for: the ways a message takes on shared memory.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "tabane/comm/transport/shm/forked_ranks_test.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/comm/transport/transport.h"
#include "tabane/core/error.h"

namespace tabane::comm::shm {
namespace {

using Bytes = std::vector<std::byte>;

Bytes content(std::size_t size, int seed) {
  Bytes bytes(size);
  auto x = static_cast<std::uint32_t>(seed) * 747796405u + 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

constexpr MemoryRequest kRequest{4096, 64 * 1024};

// Runs f on ranks; their failed expectations are printed, and fail this test.
void run(int ranks, std::size_t message_bytes, const std::function<void(Transport&)>& f) {
  World world(plan_memory(ranks, message_bytes), 2);
  run_ranks(world, [&](int rank) {
    try {
      f(*make_shm_transport(world, rank, kRequest));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      world.fail(rank, getpid(), error.what());
    }
    return !testing::Test::HasFailure();
  });
}

#ifndef TABANE_RANKS_ARE_THREADS
// From now on this process may not copy from or to others, as in many containers.
bool refuse_direct_copies() {
  std::array<sock_filter, 5> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

constexpr std::size_t kSmall = 64 * 1024;  // for two ranks: blocks of 256 bytes
const std::vector<std::size_t> kSizes{0,     1,     8,      40,     41,      100,     520,
                                      521,   4095,  4096,   4097,   16384,   16385,   32768,
                                      65535, 65537, 196608, 196609, 1 << 20, 3000001, 8 << 20};

class ShmTransport2 : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Memory, ShmTransport2, testing::Values(0, kSmall));

TEST_P(ShmTransport2, DeliversAllSizesExpectedAndUnexpected) {
  run(2, GetParam(), [](Transport& t) {
    const int other = 1 - t.rank();
    for (const std::size_t size : kSizes) {
      const Bytes out = content(size, t.rank());
      Bytes in(size + 3);
      const Label label{static_cast<int>(size), {}};
      if (t.rank() == 0) t.send(other, label, out);
      const Arrival arrival = t.recv(other, label, in);
      EXPECT_EQ(arrival.bytes, size);
      EXPECT_EQ(arrival.source, other);
      in.resize(size);
      EXPECT_EQ(in, content(size, other)) << size;
      if (t.rank() == 1) t.send(other, label, out);
    }
    // All at once; the last one is received first.
    std::vector<Bytes> messages;
    std::vector<std::unique_ptr<Pending>> sent;
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      messages.push_back(content(kSizes[i], t.rank() + static_cast<int>(i)));
      sent.push_back(t.isend(other, {static_cast<int>(i), {}}, messages.back()));
    }
    for (std::size_t i = kSizes.size(); i-- > 0;) {
      const auto parcel = t.recv_parcel(other, {static_cast<int>(i), {}});
      EXPECT_TRUE(
          std::ranges::equal(parcel->bytes, content(kSizes[i], other + static_cast<int>(i))))
          << kSizes[i];
    }
    for (const auto& one : sent) one->wait();
  });
}

TEST_P(ShmTransport2, KeepsViewsUntouchedWhileMoreArrives) {
  run(2, GetParam(), [](Transport& t) {
    constexpr int kMessages = 200;
    const auto size = [](int i) { return static_cast<std::size_t>(37 * i % 20011); };
    if (t.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) t.send(1, {7, {}}, content(size(i), i));
      return;
    }
    std::vector<std::unique_ptr<Parcel>> views;
    for (int i = 0; i < kMessages; ++i) {
      views.push_back(t.recv_parcel(0, {7, {}}));
      if (i % 3 == 0) views[static_cast<std::size_t>(i) / 2].reset();
    }
    for (int i = 0; i < kMessages; ++i) {
      const auto& view = views[static_cast<std::size_t>(i)];
      EXPECT_TRUE(!view || std::ranges::equal(view->bytes, content(size(i), i))) << i;
    }
  });
}

TEST_P(ShmTransport2, ExchangesLargeMessagesBothWays) {
  run(2, GetParam(), [](Transport& t) {
    const int other = 1 - t.rank();
    for (const std::size_t size : {std::size_t{100000}, std::size_t{16} << 20}) {
      const Bytes out = content(size, t.rank());
      Bytes in(size);
      const auto sent = t.isend(other, {1, {}}, out);
      const auto received = t.irecv(other, {1, {}}, in);
      if (t.rank() == 0) {
        sent->wait();
        received->wait();
      } else {
        while (!received->test()) continue;
        sent->wait();
      }
      EXPECT_EQ(in, content(size, other));
    }
  });
}

// The sender's bytes are gone, but not the message.
TEST_P(ShmTransport2, SendsWhatAnExceptionAbandoned) {
  run(2, GetParam(), [](Transport& t) {
    constexpr int kMessages = 20;  // more than there are records
    const Bytes token(1);
    Bytes got(1);
    if (t.rank() == 0) {
      try {
        std::vector<Bytes> bytes;
        std::vector<std::unique_ptr<Pending>> sent;
        for (int i = 0; i < kMessages; ++i) bytes.push_back(content(300000 + i, i));
        for (const Bytes& one : bytes) sent.push_back(t.isend(1, {3, {}}, one));
        t.send(1, {4, {}}, token);
        throw std::runtime_error("of the user");
      } catch (const std::runtime_error&) {
      }
      t.recv(1, {5, {}}, got);
    } else {
      for (int i = 0; i < kMessages; ++i) {
        EXPECT_TRUE(std::ranges::equal(t.recv_parcel(0, {3, {}})->bytes, content(300000 + i, i)));
      }
      t.recv(0, {4, {}}, got);
      t.send(0, {5, {}}, token);
    }
  });
}

#ifndef TABANE_RANKS_ARE_THREADS
TEST_P(ShmTransport2, SendsLargeMessagesWhereTheKernelRefusesDirectCopies) {
  for (const int refusing : {0, 1}) {
    run(2, GetParam(), [refusing](Transport& t) {
      const int other = 1 - t.rank();
      bool refused = t.rank() != refusing;
      for (int i = 0; i < 4; ++i) {
        for (const std::size_t size : {100000, 300001, 3000000}) {
          const Bytes out = content(size, t.rank() + i);
          Bytes in(size);
          const auto sent = t.isend(other, {1, {}}, out);
          t.recv(other, {1, {}}, in);
          sent->wait();
          EXPECT_EQ(in, content(size, other + i));
        }
        // After the first round: then the other rank has seen that it works.
        if (!refused) refused = refuse_direct_copies();
        ASSERT_TRUE(refused);
      }
    });
  }
}
#endif

TEST_P(ShmTransport2, ReceivesInTheOrderOfPostingAndSending) {
  run(2, GetParam(), [](Transport& t) {
    constexpr int kMessages = 300;
    std::vector<int> values(kMessages);
    if (t.rank() == 0) {
      std::iota(values.begin(), values.end(), 0);
      for (const int& value : values)
        t.send(1, {value % 3, {}}, std::as_bytes(std::span(&value, 1)));
      return;
    }
    std::vector<std::unique_ptr<Pending>> received;
    for (int& value : values) {
      received.push_back(t.irecv(0, {any_tag, {}}, std::as_writable_bytes(std::span(&value, 1))));
    }
    for (const auto& one : received) one->wait();
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(received[static_cast<std::size_t>(i)]->arrival.tag, i % 3);
    }
  });
}

// Rank 1 answers rank 0 only when rank 2 has filled its channel to rank 0, and more.
TEST(ShmTransport, EmptiesAllChannelsWhileItWaitsForOne) {
  run(3, 0, [](Transport& t) {
    constexpr int kMessages = 1000;
    Bytes one(4);
    if (t.rank() == 2) {
      for (int i = 0; i < kMessages; ++i) t.send(0, {1, {}}, content(4, i));
      t.send(1, {1, {}}, one);
    } else if (t.rank() == 1) {
      t.recv(2, {1, {}}, one);
      t.send(0, {1, {}}, one);
    } else {
      t.recv(1, {1, {}}, one);
      for (int i = 0; i < kMessages; ++i) {
        t.recv(2, {1, {}}, one);
        EXPECT_EQ(one, content(4, i));
      }
    }
  });
}

TEST(ShmTransport, FailsWhatWaitsForARankThatIsGone) {
  run(2, 0, [](Transport& t) {
    if (t.rank() == 1) return;  // what rank 0 waits for will not come
    Bytes in(8), large = content(1 << 20, 1);
    const auto sent = t.isend(1, {1, {}}, large);
    const auto received = t.irecv(1, {1, {}}, in);
    EXPECT_THROW(t.recv(1, {2, {}}, in), core::LostError);
    EXPECT_THROW(t.recv_parcel(any_source, {2, {}}), core::LostError);
    EXPECT_THROW(sent->wait(), core::LostError);
    EXPECT_THROW(while (!received->test()) continue, core::LostError);
  });
}

}  // namespace
}  // namespace tabane::comm::shm

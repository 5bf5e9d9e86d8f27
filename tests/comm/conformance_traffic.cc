// Random traffic against a model: every rank draws the same plan, so each knows what must come.
#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "conformance.h"
#include "tabane/comm/collectives.h"

namespace tabane::conformance {
namespace {

using comm::any_source;
using comm::any_tag;

constexpr int kTags = 4;

struct Planned {
  int from, to, tag;
  std::size_t size;
  std::uint64_t key;
};

std::vector<Planned> draw_round(std::mt19937_64& random, int ranks, std::uint64_t& key) {
  std::vector<Planned> round;
  const int count = static_cast<int>(random() % static_cast<std::uint64_t>(8 * ranks));
  for (int i = 0; i < count; ++i) {
    const auto any_rank = [&] {
      return static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
    };
    const int from = any_rank(), to = any_rank(), tag = static_cast<int>(random() % kTags);
    const std::size_t magnitude = std::size_t{1} << random() % 20;
    round.push_back({from, to, tag, (magnitude + random() % magnitude) / 2, ++key});
  }
  return round;
}

// What must come to this rank: messages by source and tag, in order.
class Model {
 public:
  void add(const Planned& planned) {
    waiting_[{planned.from, planned.tag}].push_back(planned);
    ++left_;
  }
  bool empty() const { return left_ == 0; }

  // A source and tag of which a message is waited for.
  std::pair<int, int> draw(std::mt19937_64& random) const {
    auto at = waiting_.begin();
    std::advance(at, random() % waiting_.size());
    return at->first;
  }
  Planned take(int source, int tag) {
    const auto found = waiting_.find({source, tag});
    require(found != waiting_.end(), "a message from rank {}, tag {} came that nobody sent", source,
            tag);
    const Planned first = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
    --left_;
    return first;
  }

 private:
  std::map<std::pair<int, int>, std::deque<Planned>> waiting_;
  int left_ = 0;
};

constexpr std::size_t kMostBytes = 1 << 20;

// Receives of known messages, posted together.
void receive_posted(Comm& world, Model& model, std::mt19937_64& random) {
  std::vector<Planned> wanted;
  std::deque<Bytes> in;
  std::vector<comm::Request> requests;
  for (std::uint64_t left = random() % 6; left > 0 && !model.empty(); --left) {
    const auto [source, tag] = model.draw(random);
    wanted.push_back(model.take(source, tag));
    in.emplace_back(wanted.back().size);
    requests.push_back(world.irecv(source, in.back(), tag));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    while (random() % 2 == 0 && !requests[i].test()) continue;
    requests[i].wait();
    require_pattern(in[i], wanted[i].size, wanted[i].key, "a posted receive");
  }
}

// One message, of which little may be known beforehand.
void receive_one(Comm& world, Model& model, std::mt19937_64& random) {
  auto [source, tag] = model.draw(random);
  if (random() % 3 == 0) source = any_source;
  if (random() % 3 == 0) tag = any_tag;
  if (random() % 2 == 0) {
    const auto view = world.recv_view<std::byte>(source, tag);
    const Planned planned = model.take(view.source(), view.tag());
    require_pattern(view.values(), planned.size, planned.key, "a view");
    return;
  }
  Bytes in(kMostBytes);
  const auto got = world.recv(source, in, tag);
  const Planned planned = model.take(got.source, got.tag);
  require_pattern(std::span(in).first(got.count), planned.size, planned.key, "a copy");
}

void play_round(Comm& world, const std::vector<Planned>& round, std::mt19937_64& own) {
  Model model;
  std::deque<Bytes> out;
  std::vector<comm::Request> sent;
  for (const Planned& planned : round) {
    if (planned.to == world.rank()) model.add(planned);
    if (planned.from != world.rank()) continue;
    out.push_back(pattern(planned.size, planned.key));
    sent.push_back(world.isend(planned.to, out.back(), planned.tag));
  }
  while (!model.empty()) {
    if (own() % 4 == 0) {
      receive_posted(world, model, own);
    } else {
      receive_one(world, model, own);
    }
  }
  std::ranges::shuffle(sent, own);
  comm::wait_all(sent);
}

void random_traffic(Comm& world, const Settings& settings) {
  std::mt19937_64 plan(settings.seed);
  std::mt19937_64 own(settings.seed * 1'000 + static_cast<std::uint64_t>(world.rank()));
  std::uint64_t key = 0;
  const int rounds = settings.quick ? 15 : 60;
  for (int round = 0; round < rounds; ++round) {
    play_round(world, draw_round(plan, world.size(), key), own);
    comm::barrier(world);
  }
}

constexpr std::array kChecks{Check{"traffic.random", random_traffic}};

}  // namespace

std::span<const Check> traffic_checks() { return kChecks; }

}  // namespace tabane::conformance

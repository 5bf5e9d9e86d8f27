// What messages between ranks take in SimGrid (network/model CM02), on a network without
// contention. usage: tabane_bench_simgrid ring|transpose|broadcast RANKS BYTES FILE
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "tabane/tools/simulate/bench_patterns.h"

namespace {

using namespace simgrid::s4u;
using namespace tabane::simulate;

// Messages are there after their latency, also if nobody waits for them yet.
class Rank : public Endpoint {
 public:
  Rank(int self, int ranks) : self_(self) {
    for (int from = 0; from < ranks; ++from) box(from, self)->set_receiver(Actor::self());
  }
  void send(int to, std::size_t bytes) override {
    box(self_, to)->put_init(&self_, bytes)->detach();
    this_actor::sleep_for(kSend.at(bytes));
  }
  void recv(int from, std::size_t bytes) override {
    box(from, self_)->get<int>();
    this_actor::sleep_for(kReceive.at(bytes));
  }

 private:
  static Mailbox* box(int from, int to) {
    return Mailbox::by_name(std::to_string(from) + " " + std::to_string(to));
  }
  int self_;
};

}  // namespace

int main(int argc, char** argv) {
  Engine engine(&argc, argv);
  if (argc != 5) return 2;
  const std::string pattern = argv[1];
  const int ranks = std::atoi(argv[2]);
  const auto bytes = static_cast<std::size_t>(std::atol(argv[3]));
  Engine::set_config("network/model:CM02");
  NetZone* const zone = create_full_zone("machine");
  std::vector<Host*> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.push_back(zone->create_host(std::to_string(rank), 1e9));
  }
  for (const Host* from : hosts) {
    for (const Host* to : hosts) {
      if (from == to) continue;
      Link* const link = zone->create_link(from->get_name() + "-" + to->get_name(), 1 / kWire.byte);
      link->set_latency(kWire.setup)->set_sharing_policy(Link::SharingPolicy::FATPIPE);
      zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr,
                      {LinkInRoute(link)}, false);
    }
  }
  zone->seal();
  for (int rank = 0; rank < ranks; ++rank) {
    Actor::create(std::to_string(rank), hosts[static_cast<std::size_t>(rank)], [=] {
      Rank self(rank, ranks);
      this_actor::yield();  // all have their mailboxes
      run_pattern(pattern, self, rank, ranks, bytes);
    });
  }
  engine.run();
  std::FILE* const file = std::fopen(argv[4], "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "%.9g\n", Engine::get_clock());
  return std::fclose(file);
}

// What does not fit is named on the receiver, and the transport goes on working.
#include <array>
#include <functional>

#include "conformance.h"
#include "tabane/comm/collectives.h"

namespace tabane::conformance {
namespace {

using comm::MessageError;

// throws: core::Error unless f throws an Error whose text has all of `parts`.
template <class Error>
void require_error(const std::function<void()>& f, const std::vector<std::string>& parts) {
  std::string text;
  try {
    f();
  } catch (const Error& error) {
    text = error.what();
  }
  require(!text.empty(), "a mistake was not noticed ({})", parts.front());
  for (const std::string& part : parts) {
    require(text.find(part) != std::string::npos, "\"{}\" does not say \"{}\"", text, part);
  }
}

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

// A correct message: whatever went wrong before has left nothing behind.
void still_works(Comm& world) {
  const Bytes out = pattern(9'000, key_of(world.rank(), next(world), 1));
  Bytes in(9'000);
  world.exchange(next(world), out, previous(world), in, 1);
  require_pattern(in, 9'000, key_of(previous(world), world.rank(), 1), "after a mistake");
}

void types_that_differ(Comm& world, const Settings&) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{700}, std::size_t{100'000}}) {
    const std::vector<double> out(count, 1.5);
    const int from = previous(world);
    const std::vector<std::string> parts{rank_name(from), rank_name(world.rank()), "float64",
                                         "int32"};
    std::vector<std::int32_t> in(2 * count, -1);
    auto sent = world.isend(next(world), out, 1);
    require_error<MessageError>([&] { world.recv(from, in, 1); }, parts);
    require(in.front() == -1 && in.back() == -1, "what does not fit was written nevertheless");
    sent.wait();
    sent = world.isend(next(world), out, 2);
    require_error<MessageError>([&] { world.recv_view<std::int32_t>(from, 2); }, parts);
    sent.wait();
    auto posted = world.irecv(from, in, 3);
    sent = world.isend(next(world), out, 3);
    require_error<MessageError>([&] { posted.wait(); }, parts);
    sent.wait();
    still_works(world);
  }
}

void messages_that_are_too_large(Comm& world, const Settings&) {
  for (const std::size_t count : {std::size_t{2}, std::size_t{513}, std::size_t{100'000}}) {
    const std::vector<double> out(count, 2.5);
    const int from = previous(world);
    const std::vector<std::string> parts{rank_name(from), rank_name(world.rank()),
                                         fmt::format("{} bytes", count * 8),
                                         fmt::format("{} bytes", (count - 1) * 8)};
    std::vector<double> in(count - 1, -1);
    auto sent = world.isend(next(world), out, 1);
    require_error<MessageError>([&] { world.recv(from, in, 1); }, parts);
    sent.wait();
    auto posted = world.irecv(comm::any_source, in, 2);
    sent = world.isend(next(world), out, 2);
    require_error<MessageError>([&] { posted.wait(); }, parts);
    sent.wait();
    require(in.front() == -1 && in.back() == -1, "what does not fit was written nevertheless");
    still_works(world);
  }
}

void one_value_where_more_came(Comm& world, const Settings&) {
  for (const std::size_t count : {0, 2}) {
    const std::vector<int> out(count, 1);
    auto sent = world.isend(next(world), out, 1);
    require_error<MessageError>([&] { world.recv<int>(previous(world), 1); },
                                {rank_name(previous(world))});
    sent.wait();
  }
  still_works(world);
}

void ranks_and_tags_that_do_not_exist(Comm& world, const Settings&) {
  for (const int rank : {-2, world.size(), world.size() + 1000}) {
    require_error<core::UsageError>([&] { world.send(rank, 1); }, {rank_name(rank)});
    require_error<core::UsageError>([&] { world.recv<int>(rank); }, {rank_name(rank)});
  }
  require_error<core::UsageError>([&] { world.send(comm::any_source, 1); }, {"rank -1"});
  for (const int tag : {-1, -2, -100, comm::kMostTag + 1}) {
    require_error<core::UsageError>([&] { world.send(0, 1, tag); }, {fmt::format("tag {}", tag)});
  }
  require_error<core::UsageError>([&] { world.recv<int>(0, -2); }, {"tag -2"});
  still_works(world);
}

void collectives_that_cannot_be(Comm& world, const Settings&) {
  std::vector<int> part(3), all(3 * static_cast<std::size_t>(world.size()));
  for (const int root : {-1, world.size()}) {
    require_error<core::UsageError>([&] { comm::broadcast(world, part, root); },
                                    {std::to_string(root)});
    require_error<core::UsageError>([&] { comm::gather(world, part, all, root); },
                                    {std::to_string(root)});
  }
  std::vector<int> wrong(all.size() + 1);
  require_error<core::UsageError>([&] { comm::all_gather(world, part, wrong); },
                                  {std::to_string(wrong.size())});
  if (world.size() > 1) {
    require_error<core::UsageError>([&] { comm::all_to_all(world, wrong, wrong); },
                                    {std::to_string(wrong.size())});
  }
  comm::barrier(world);
  still_works(world);
}

constexpr std::array kChecks{
    Check{"mistakes.types_that_differ", types_that_differ},
    Check{"mistakes.messages_that_are_too_large", messages_that_are_too_large},
    Check{"mistakes.one_value_where_more_came", one_value_where_more_came},
    Check{"mistakes.ranks_and_tags_that_do_not_exist", ranks_and_tags_that_do_not_exist},
    Check{"mistakes.collectives_that_cannot_be", collectives_that_cannot_be},
};

}  // namespace

std::span<const Check> mistake_checks() { return kChecks; }

}  // namespace tabane::conformance

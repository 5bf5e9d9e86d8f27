// The transport over MPI, compiled into one loadable module for each MPI.
//
// A message is an envelope, 16 bytes that say what it is and up to 4 KiB of elements; those of a
// larger one are a second MPI message, under a tag that the envelope names:
//
//   sender                                   receiver
//   [bytes | bulk tag | type | elements] ──> matched by MPI: source, tag
//   [elements ……………………………………………………] ──> straight into the caller's buffer (> 4 KiB only)
//
// Each group has two communicators, so that any_tag never takes a collective's message. All waits
// poll: a receive under way must ask for its elements while its rank waits for something else, and
// ranks that exceed the PUs must yield. For that reason MPI's collectives are the nonblocking ones.
//
// MPI ends the whole job when a process dies. What it reports instead (MPI_ERRORS_RETURN), and
// notices of ranks that threw or returned, become core::LostError.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kAboutBytes = 16;

struct alignas(64) Envelope {
  std::array<std::byte, 64 - kAboutBytes> unused;  // so that elements are aligned
  std::uint64_t bytes = 0;
  std::uint32_t bulk_tag = 0;
  std::uint16_t type = 0;
  std::uint16_t reserved = 0;
  std::array<std::byte, kSmallBytes> elements;

  void* start() { return &bytes; }
};
static_assert(offsetof(Envelope, elements) == 64 && offsetof(Envelope, bytes) == 48);

struct FreeAligned {
  void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;

AlignedBytes allocate_aligned(std::size_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
}

// Any number of bytes as MPI counts them: in int.
class ByteCount {
 public:
  explicit ByteCount(std::size_t bytes) {
    if (bytes <= INT_MAX) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::size_t kMiB = 1 << 20;
    MPI_Datatype mib;
    MPI_Type_contiguous(kMiB, MPI_BYTE, &mib);
    const std::array<int, 2> counts{static_cast<int>(bytes / kMiB), static_cast<int>(bytes % kMiB)};
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(bytes / kMiB * kMiB)};
    const std::array<MPI_Datatype, 2> types{mib, MPI_BYTE};
    MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&mib);
    count_ = 1;
  }
  ~ByteCount() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  ByteCount(const ByteCount&) = delete;
  ByteCount& operator=(const ByteCount&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

// What a rank that throws or returns tells the others.
struct Notice {
  bool failed = false;
  std::array<char, 64> phase{};
  std::array<char, 191> how{};
};

template <std::size_t kSize>
void copy_text(std::array<char, kSize>& to, std::string_view text) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::copy_n(text.begin(), length, to.begin());
  to[length] = '\0';
}

class Receipt;

// What all groups of this process share: MPI itself, and what is under way.
class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(pids_.size()); }
  MPI_Comm world() const { return world_; }
  MPI_Comm bulk() const { return bulk_; }
  MPI_Op user_operation() const { return user_operation_; }
  int most_tag() const { return most_tag_; }
  bool broken() const { return broken_; }
  void set_phase(const char* text) { phase_ = text; }

  // throws: core::LostError if MPI has failed. peer: of the world, or any_source.
  void check(int code, const char* call, int peer);

  // Returns once ready() is true; makes progress meanwhile. peer: of the world, who must act.
  template <class Ready>
  void wait(int peer, Ready&& ready) {
    for (int i = 0; i < spins_; ++i) {
      if (ready()) return;
      progress();
    }
    for (Clock::time_point start = Clock::now(); !ready(); progress()) rest(peer, start);
  }
  void complete(MPI_Request& request, int peer) {
    wait(peer, [&] { return test(request, peer); });
  }
  bool test(MPI_Request& request, int peer, MPI_Status* status = MPI_STATUS_IGNORE) {
    int done = 0;
    check(MPI_Test(&request, &done, status), "MPI_Test", peer);
    return done != 0;
  }
  void progress();

  // Receives that ask for their elements when their envelope has come, whoever waits for what.
  void enlist(Receipt& receipt) { receipts_.push_back(&receipt); }
  void strike(Receipt& receipt) { std::erase(receipts_, &receipt); }

  std::unique_ptr<Envelope> take_envelope();
  void give_back(std::unique_ptr<Envelope> envelope);

  // Sends on its own: what it needs lives until it is sent.
  struct Orphan {
    MPI_Request request = MPI_REQUEST_NULL;
    int peer = 0;
    std::unique_ptr<Envelope> envelope;
    AlignedBytes elements;
    bool is_mark = false;  // complete only when it is received
  };
  void adopt(Orphan orphan);

  // MPI takes what it gets until memory ends. So each 128th small message to a rank is a mark, and
  // who has several marks on their way waits with the next send.
  bool next_is_mark(int peer) { return ++of(sent_, peer) % 128 == 0; }
  bool is_far_ahead_of(int peer) { return of(marks_, peer) > 4; }

  std::uint32_t next_bulk_tag();
  void fail(const char* how);

 private:
  static int& of(std::vector<int>& values, int peer) {
    return values[static_cast<std::size_t>(peer)];
  }
  void bury(Orphan orphan);
  void tell_all(const Notice& notice, std::chrono::milliseconds patience);
  void rest(int peer, Clock::time_point start);
  void read_notices();
  void check_in_vain(int peer) const;
  void close();

  MPI_Comm world_ = MPI_COMM_NULL, bulk_ = MPI_COMM_NULL, notices_ = MPI_COMM_NULL;
  MPI_Op user_operation_ = MPI_OP_NULL;
  int rank_ = 0, most_tag_ = 32767;
  int spins_ = 500;  // polls before others may run
  std::uint32_t bulk_tag_ = 0;
  bool finalizes_ = false, broken_ = false;
  const char* phase_ = "";
  std::vector<long> pids_;
  std::vector<Clock::time_point> returned_;  // max(): it has not
  std::vector<Receipt*> receipts_;
  std::vector<Orphan> orphans_;
  std::vector<int> sent_, marks_;  // by rank of the world
  std::size_t receipt_cursor_ = 0, orphan_cursor_ = 0;
  std::vector<std::unique_ptr<Envelope>> envelopes_;  // unused ones
};

// A receive, from the posting to the last byte.
class Receipt {
 public:
  // Where it comes from.
  struct From {
    Engine* engine;
    MPI_Comm comm;
    std::span<const int> world_ranks;
    int self, source, tag;  // in the group
    bool internal;
    TypeCode type;
  };
  // into: null data and no size if the receipt shall keep the elements itself.
  Receipt(const From& from, std::span<std::byte> into, bool keeps)
      : from_(from), into_(into), keeps_(keeps) {}
  ~Receipt();
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;

  void post();
  // Instead of post(): the envelope has already come.
  void open(std::unique_ptr<Envelope> envelope, const Arrival& arrival);

  // Makes progress; returns whether all is there.
  bool step();
  void wait();
  // Of a complete one. throws: MessageError if it did not fit.
  const Arrival& arrival() const;
  std::span<const std::byte> kept() const { return kept_; }

 private:
  enum class Stage { posted, fetching, complete };
  int peer() const {
    return from_.source == any_source ? any_source
                                      : from_.world_ranks[static_cast<std::size_t>(from_.source)];
  }
  void open();

  From from_;
  std::span<std::byte> into_;
  bool keeps_;
  Stage stage_ = Stage::posted;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Envelope> envelope_;
  AlignedBytes own_;
  std::span<const std::byte> kept_;
  Arrival arrival_;
  bool fits_ = true;
};

// --- Engine ---

const Combine* current_combine = nullptr;  // of the reduction under way: MPI hands on no context

// The lower rank's elements come as `in`; MPI wants the result in `inout`.
void apply_current(void* in, void* inout, int* length, MPI_Datatype*) {
  std::array<std::byte, 64> lower;
  const std::size_t bytes = current_combine->element_bytes;
  for (int i = 0; i < *length; ++i) {
    std::byte* const upper = static_cast<std::byte*>(inout) + static_cast<std::size_t>(i) * bytes;
    std::memcpy(lower.data(), static_cast<std::byte*>(in) + static_cast<std::size_t>(i) * bytes,
                bytes);
    current_combine->apply(lower.data(), upper, 1);
    std::memcpy(upper, lower.data(), bytes);
  }
}

MPI_Comm duplicate(MPI_Comm of) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (MPI_Comm_dup(of, &comm) != MPI_SUCCESS) throw core::Error("MPI_Comm_dup failed");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

int ranks_of_this_host(MPI_Comm of) {
  MPI_Comm host;
  int ranks = 1;
  if (MPI_Comm_split_type(of, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS) {
    return ranks;
  }
  MPI_Comm_size(host, &ranks);
  MPI_Comm_free(&host);
  return ranks;
}

Engine::Engine() {
  int initialized = 0, provided = 0, size = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
      throw core::Error("MPI_Init_thread failed");
    }
    finalizes_ = true;
  }
  world_ = duplicate(MPI_COMM_WORLD);
  bulk_ = duplicate(world_);
  notices_ = duplicate(world_);
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size);
  int *tag_bound = nullptr, found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_bound, &found);
  if (found) most_tag_ = *tag_bound;
  MPI_Op_create(apply_current, 0, &user_operation_);
  if (ranks_of_this_host(world_) > sysconf(_SC_NPROCESSORS_ONLN)) spins_ = 1;
  const long pid = getpid();
  pids_.resize(static_cast<std::size_t>(size));
  returned_.resize(pids_.size(), Clock::time_point::max());
  sent_.resize(pids_.size());
  marks_.resize(pids_.size());
  check(MPI_Allgather(&pid, 1, MPI_LONG, pids_.data(), 1, MPI_LONG, world_), "MPI_Allgather",
        any_source);
}

Engine::~Engine() {
  try {
    if (!broken_) close();
  } catch (const core::Error&) {  // a rank was lost on the last metres: its launcher says so
    broken_ = true;
  }
  for (Orphan& orphan : orphans_) orphan.envelope.release();  // MPI may still read what nobody took
  for (Orphan& orphan : orphans_) orphan.elements.release();
  if (broken_ || !finalizes_) return;
  MPI_Op_free(&user_operation_);
  for (MPI_Comm* comm : {&notices_, &bulk_, &world_}) MPI_Comm_free(comm);
  MPI_Finalize();
}

// What was sent may leave until all ranks are here; after that nobody will take it.
void Engine::close() {
  tell_all({}, std::chrono::milliseconds(0));
  MPI_Request request;
  check(MPI_Ibarrier(world_, &request), "MPI_Ibarrier", any_source);
  wait(rank_, [&] { return test(request, any_source); });
  read_notices();
}

void Engine::check(int code, const char* call, int peer) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  broken_ = true;
  const int rank = peer == any_source ? rank_ : peer;
  const long pid = pids_.empty() ? getpid() : pids_[static_cast<std::size_t>(rank)];
  throw core::LostError(rank, pid, *phase_ ? phase_ : "no call",
                        std::string(call) + ": " + text.data());
}

// A few of those under way at each call, in turn: each call makes MPI's own progress for all.
void Engine::progress() {
  for (std::size_t i = 0; i < std::min<std::size_t>(receipts_.size(), 4); ++i) {
    receipts_[receipt_cursor_++ % receipts_.size()]->step();
  }
  for (std::size_t i = 0; i < 4 && !orphans_.empty(); ++i) {
    Orphan& orphan = orphans_[orphan_cursor_++ % orphans_.size()];
    if (!test(orphan.request, orphan.peer)) continue;
    bury(std::move(orphan));
    if (&orphan != &orphans_.back()) orphan = std::move(orphans_.back());
    orphans_.pop_back();
  }
}

void Engine::rest(int peer, Clock::time_point start) {
  read_notices();
  check_in_vain(peer);
  sched_yield();
  // MPI cannot wake a sleeping rank, so it sleeps little, and only when it has waited for long.
  if (Clock::now() - start > std::chrono::milliseconds(100)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Engine::read_notices() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, 0, notices_, &there, &status), "MPI_Iprobe", any_source);
    if (!there) return;
    Notice notice;
    const int rank = status.MPI_SOURCE;
    check(MPI_Recv(&notice, sizeof notice, MPI_BYTE, rank, 0, notices_, MPI_STATUS_IGNORE),
          "MPI_Recv", rank);
    const auto r = static_cast<std::size_t>(rank);
    returned_[r] = Clock::now();
    if (!notice.failed) continue;
    broken_ = true;
    throw core::LostError(rank, pids_[r], notice.phase.data(), notice.how.data());
  }
}

// Its last messages may still be on their way when its notice comes: it gets some time.
void Engine::check_in_vain(int peer) const {
  const auto is_gone = [&](int rank) {
    const Clock::time_point when = returned_[static_cast<std::size_t>(rank)];
    return when != Clock::time_point::max() && Clock::now() - when > std::chrono::milliseconds(500);
  };
  if (peer == rank_ || size() == 1) return;
  int gone = peer;
  for (int rank = 0; peer == any_source && rank < size(); ++rank) {
    if (rank == rank_) continue;
    if (!is_gone(rank)) return;
    gone = rank;
  }
  if (!is_gone(gone)) return;
  throw core::LostError(gone, pids_[static_cast<std::size_t>(gone)], "no call",
                        "returned while rank " + std::to_string(rank_) + " waits for it");
}

void Engine::tell_all(const Notice& notice, std::chrono::milliseconds patience) {
  auto until = Clock::now() + patience;
  std::vector<MPI_Request> requests;
  auto kept = allocate_aligned(sizeof notice);
  std::memcpy(kept.get(), &notice, sizeof notice);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_) continue;
    check(MPI_Isend(kept.get(), sizeof notice, MPI_BYTE, rank, 0, notices_,
                    &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend", rank);
  }
  int done = 0;
  do {
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (!done && patience.count() > 0) sched_yield();
  } while (!done && Clock::now() < until);
  if (!done) kept.release();
}

void Engine::fail(const char* how) {
  if (std::exchange(broken_, true)) return;
  Notice notice{.failed = true};
  copy_text(notice.phase, *phase_ ? phase_ : "no call");
  copy_text(notice.how, how);
  try {
    tell_all(notice, std::chrono::seconds(1));
  } catch (const core::Error&) {  // MPI has failed too: its launcher ends the others
  }
}

std::unique_ptr<Envelope> Engine::take_envelope() {
  if (envelopes_.empty()) return std::make_unique<Envelope>();
  std::unique_ptr<Envelope> envelope = std::move(envelopes_.back());
  envelopes_.pop_back();
  return envelope;
}

void Engine::give_back(std::unique_ptr<Envelope> envelope) {
  if (envelopes_.size() < 64) envelopes_.push_back(std::move(envelope));
}

void Engine::adopt(Orphan orphan) {
  if (orphan.is_mark) ++of(marks_, orphan.peer);
  if (test(orphan.request, orphan.peer)) {
    bury(std::move(orphan));
  } else {
    orphans_.push_back(std::move(orphan));
  }
}

void Engine::bury(Orphan orphan) {
  if (orphan.is_mark) --of(marks_, orphan.peer);
  if (orphan.envelope) give_back(std::move(orphan.envelope));
}

std::uint32_t Engine::next_bulk_tag() {
  bulk_tag_ = bulk_tag_ == static_cast<std::uint32_t>(most_tag_) ? 0 : bulk_tag_ + 1;
  return bulk_tag_;
}

// --- Receipt ---

void Receipt::post() {
  envelope_ = from_.engine->take_envelope();
  const int source = from_.source == any_source ? MPI_ANY_SOURCE : from_.source;
  const int tag = from_.tag == any_tag ? MPI_ANY_TAG : std::abs(from_.tag);
  from_.engine->check(MPI_Irecv(envelope_->start(), kAboutBytes + kSmallBytes, MPI_BYTE, source,
                                tag, from_.comm, &request_),
                      "MPI_Irecv", peer());
}

bool Receipt::step() {
  if (stage_ == Stage::complete) return true;
  MPI_Status status;
  if (!from_.engine->test(request_, peer(), &status)) return false;
  if (stage_ == Stage::posted) {
    const int tag = from_.internal ? -status.MPI_TAG : status.MPI_TAG;
    arrival_ = {status.MPI_SOURCE, tag, {envelope_->type}, envelope_->bytes};
    open();
  } else {
    stage_ = Stage::complete;
  }
  return stage_ == Stage::complete;
}

void Receipt::open(std::unique_ptr<Envelope> envelope, const Arrival& arrival) {
  envelope_ = std::move(envelope);
  arrival_ = arrival;
  open();
}

void Receipt::open() {
  const std::size_t bytes = arrival_.bytes;
  fits_ = types_fit(arrival_.type, from_.type) && (keeps_ || bytes <= into_.size());
  if (bytes <= kSmallBytes) {
    if (keeps_) {
      kept_ = std::span(envelope_->elements).first(bytes);
    } else if (fits_ && bytes > 0) {
      std::memcpy(into_.data(), envelope_->elements.data(), bytes);
    }
    stage_ = Stage::complete;
    return;
  }
  std::byte* place = into_.data();
  if (keeps_ || !fits_) {
    own_ = allocate_aligned(bytes);
    place = own_.get();
    kept_ = {place, bytes};
  }
  const int source = from_.world_ranks[static_cast<std::size_t>(arrival_.source)];
  const ByteCount count(bytes);
  from_.engine->check(
      MPI_Irecv(place, count.count(), count.type(), source, static_cast<int>(envelope_->bulk_tag),
                from_.engine->bulk(), &request_),
      "MPI_Irecv", source);
  stage_ = Stage::fetching;
}

void Receipt::wait() {
  from_.engine->wait(peer(), [this] { return step(); });
}

const Arrival& Receipt::arrival() const {
  if (!fits_) {
    throw MessageError(describe_mismatch({arrival_.source, arrival_.type, arrival_.bytes},
                                         {from_.self, from_.type, into_.size()}, arrival_.tag));
  }
  return arrival_;
}

// One that is given up, because a rank is lost, leaves MPI what it may still write to.
Receipt::~Receipt() {
  if (stage_ != Stage::complete && request_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&request_);
    MPI_Request_free(&request_);
    envelope_.release();
    own_.release();
  }
  if (envelope_) from_.engine->give_back(std::move(envelope_));
}

// --- what the transport hands out ---

class Sent : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

class Sending : public Pending {
 public:
  Sending(Engine& engine, MPI_Request request, int peer)
      : engine_(engine), request_(request), peer_(peer) {}
  ~Sending() override {
    if (request_ == MPI_REQUEST_NULL) return;
    try {
      if (!engine_.broken()) wait();
    } catch (const core::Error&) {  // the rank's next call throws it
    }
  }
  bool test() override {
    engine_.progress();
    return engine_.test(request_, peer_);
  }
  void wait() override { engine_.complete(request_, peer_); }

 private:
  Engine& engine_;
  MPI_Request request_;
  int peer_;
};

class Receiving : public Pending {
 public:
  Receiving(Engine& engine, const Receipt::From& from, std::span<std::byte> into)
      : engine_(engine), receipt_(from, into, false) {
    engine_.enlist(receipt_);
  }
  // A rank that is on its way out waits for nothing.
  ~Receiving() override {
    try {
      if (!engine_.broken() && std::uncaught_exceptions() == 0) receipt_.wait();
    } catch (const core::Error&) {  // the rank's next call throws it
    }
    engine_.strike(receipt_);
  }
  bool test() override {
    engine_.progress();
    if (!receipt_.step()) return false;
    arrival = receipt_.arrival();
    return true;
  }
  void wait() override {
    receipt_.wait();
    arrival = receipt_.arrival();
  }
  Receipt& receipt() { return receipt_; }

 private:
  Engine& engine_;
  Receipt receipt_;
};

class Kept : public Parcel {
 public:
  explicit Kept(std::unique_ptr<Receipt> receipt) : receipt_(std::move(receipt)) {
    arrival = receipt_->arrival();
    bytes = receipt_->kept();
  }

 private:
  std::unique_ptr<Receipt> receipt_;
};

// --- MPI's own collectives ---

class MpiCollectives : public NativeCollectives {
 public:
  MpiCollectives(Engine& engine, MPI_Comm comm, int rank, int size)
      : engine_(engine), comm_(comm), rank_(rank), size_(static_cast<std::size_t>(size)) {}

  void barrier() override {
    run("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    const ByteCount count(bytes.size());
    run("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(bytes.data(), count.count(), count.type(), root, comm_, request);
    });
  }
  bool reduce(std::span<std::byte> values, const Combine& combine, int root) override {
    return in_pieces(values, combine, "MPI_Ireduce", [&](const Piece& piece, MPI_Request* request) {
      const bool mine = rank_ == root;
      return MPI_Ireduce(mine ? MPI_IN_PLACE : piece.start, mine ? piece.start : nullptr,
                         piece.count, piece.type, piece.operation, root, comm_, request);
    });
  }
  // MPI does not promise that all ranks get the same bits. Sums of two do not depend on their order
  // and come out alike; which of -0.0, 0.0 and NaN min and max prefer may, so one rank decides.
  bool all_reduce(std::span<std::byte> values, const Combine& combine) override {
    const bool is_floating = combine.type.code >> 8 == 3;
    if (is_floating && combine.operation != Operation::sum) {
      if (!reduce(values, combine, 0)) return false;
      broadcast(values, 0);
      return true;
    }
    return in_pieces(values, combine, "MPI_Iallreduce",
                     [&](const Piece& piece, MPI_Request* request) {
                       return MPI_Iallreduce(MPI_IN_PLACE, piece.start, piece.count, piece.type,
                                             piece.operation, comm_, request);
                     });
  }
  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root) override {
    const ByteCount count(block.size());
    run("MPI_Igather", [&](MPI_Request* request) {
      return MPI_Igather(block.data(), count.count(), count.type(), all.data(), count.count(),
                         count.type(), root, comm_, request);
    });
  }
  void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) override {
    const ByteCount count(block.size());
    run("MPI_Iscatter", [&](MPI_Request* request) {
      return MPI_Iscatter(all.data(), count.count(), count.type(), block.data(), count.count(),
                          count.type(), root, comm_, request);
    });
  }
  void all_gather(std::span<const std::byte> block, std::span<std::byte> all) override {
    const ByteCount count(block.size());
    run("MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(block.data(), count.count(), count.type(), all.data(), count.count(),
                            count.type(), comm_, request);
    });
  }
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) override {
    const ByteCount count(out.size() / size_);
    run("MPI_Ialltoall", [&](MPI_Request* request) {
      return MPI_Ialltoall(out.data(), count.count(), count.type(), in.data(), count.count(),
                           count.type(), comm_, request);
    });
  }

 private:
  struct Piece {
    std::byte* start;
    int count;
    MPI_Datatype type;
    MPI_Op operation;
  };

  template <class Start>
  void run(const char* call, Start&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    engine_.check(start(&request), call, any_source);
    engine_.complete(request, any_source);
  }
  template <class Start>
  bool in_pieces(std::span<std::byte> values, const Combine& combine, const char* call,
                 Start&& start);

  Engine& engine_;
  MPI_Comm comm_;
  int rank_;
  std::size_t size_;
};

MPI_Datatype number_type(TypeCode type) {
  switch (type.code) {
    case 0x101:
      return MPI_INT8_T;
    case 0x102:
      return MPI_INT16_T;
    case 0x104:
      return MPI_INT32_T;
    case 0x108:
      return MPI_INT64_T;
    case 0x202:
      return MPI_UINT16_T;
    case 0x204:
      return MPI_UINT32_T;
    case 0x208:
      return MPI_UINT64_T;
    case 0x304:
      return MPI_FLOAT;
    case 0x308:
      return MPI_DOUBLE;
    case 0x300 + sizeof(long double):
      return MPI_LONG_DOUBLE;
    default:
      return MPI_DATATYPE_NULL;  // also uint8: a bool looks the same, and adds differently
  }
}

MPI_Op operation_of(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return MPI_SUM;
    case Operation::min:
      return MPI_MIN;
    case Operation::max:
      return MPI_MAX;
    default:
      return MPI_OP_NULL;
  }
}

template <class Start>
bool MpiCollectives::in_pieces(std::span<std::byte> values, const Combine& combine,
                               const char* call, Start&& start) {
  constexpr std::size_t kMostElements = 1 << 30;
  Piece piece{values.data(), 0, number_type(combine.type), operation_of(combine.operation)};
  const bool own = piece.type == MPI_DATATYPE_NULL || piece.operation == MPI_OP_NULL;
  if (own) {
    MPI_Type_contiguous(static_cast<int>(combine.element_bytes), MPI_BYTE, &piece.type);
    MPI_Type_commit(&piece.type);
    piece.operation = engine_.user_operation();
    current_combine = &combine;
  }
  for (std::size_t left = values.size() / combine.element_bytes; left > 0;) {
    const std::size_t count = std::min(left, kMostElements);
    piece.count = static_cast<int>(count);
    run(call, [&](MPI_Request* request) { return start(piece, request); });
    piece.start += count * combine.element_bytes;
    left -= count;
  }
  if (own) MPI_Type_free(&piece.type);
  return true;
}

// --- the transport ---

class MpiTransport : public Transport {
 public:
  // comm: owned then.
  MpiTransport(std::shared_ptr<Engine> engine, MPI_Comm comm, int rank,
               std::vector<int> world_ranks)
      : Transport(rank, static_cast<int>(world_ranks.size())),
        engine_(std::move(engine)),
        user_(comm),
        internal_(duplicate(comm)),
        world_ranks_(std::move(world_ranks)),
        collectives_(*engine_, internal_, rank, size()) {}
  ~MpiTransport() override {
    if (engine_->broken()) return;
    MPI_Comm_free(&internal_);
    MPI_Comm_free(&user_);
  }

  std::string_view name() const override { return "mpi"; }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override;
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override;
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override;
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override;
  bool probe(int from, const Label& label, Arrival& arrival) override;
  std::unique_ptr<Transport> make_group(std::span<const int> members) override;
  NativeCollectives* collectives() override { return &collectives_; }
  void set_phase(const char* text) override { engine_->set_phase(text); }

  Engine& engine() { return *engine_; }

 private:
  // An envelope that a probe has taken. Older than what MPI has of its source and tag.
  struct Probed {
    std::unique_ptr<Envelope> envelope;
    Arrival arrival;
  };

  int world_rank(int rank) const { return world_ranks_[static_cast<std::size_t>(rank)]; }
  MPI_Comm comm_of(int tag) const { return tag >= any_tag ? user_ : internal_; }
  void require_tag(int tag) const;
  // Starts to send; returns the request of what is not copied, MPI_REQUEST_NULL if all is.
  MPI_Request start(int to, const Label& label, std::span<const std::byte> bytes);
  Receipt::From origin(int from, const Label& label) const;
  void begin(Receipt& receipt, int from, const Label& label);
  std::list<Probed>::iterator find_probed(int from, int tag);

  std::shared_ptr<Engine> engine_;
  MPI_Comm user_, internal_;
  std::vector<int> world_ranks_;
  std::list<Probed> probed_;
  MpiCollectives collectives_;
};

void MpiTransport::require_tag(int tag) const {
  if (std::abs(tag) <= engine_->most_tag()) return;
  throw core::UsageError("tag " + std::to_string(tag) +
                         " cannot be used: this MPI has tags up to " +
                         std::to_string(engine_->most_tag()));
}

MPI_Request MpiTransport::start(int to, const Label& label, std::span<const std::byte> bytes) {
  require_tag(label.tag);
  std::unique_ptr<Envelope> envelope = engine_->take_envelope();
  envelope->bytes = bytes.size();
  envelope->type = label.type.code;
  const bool small = bytes.size() <= kSmallBytes;
  if (small && !bytes.empty()) {
    std::memcpy(envelope->elements.data(), bytes.data(), bytes.size());
  }
  envelope->bulk_tag = small ? 0 : engine_->next_bulk_tag();
  const auto bulk_tag = static_cast<int>(envelope->bulk_tag);

  // Collectives keep up with each other by themselves.
  const bool may_be_mark = small && label.tag >= 0 && to != rank();
  Engine::Orphan orphan{.peer = world_rank(to),
                        .envelope = std::move(envelope),
                        .is_mark = may_be_mark && engine_->next_is_mark(world_rank(to))};
  const std::size_t payload = small ? bytes.size() : 0;
  const auto send_envelope = orphan.is_mark ? MPI_Issend : MPI_Isend;
  engine_->check(
      send_envelope(orphan.envelope->start(), static_cast<int>(kAboutBytes + payload), MPI_BYTE, to,
                    std::abs(label.tag), comm_of(label.tag), &orphan.request),
      "MPI_Isend", world_rank(to));
  engine_->adopt(std::move(orphan));
  if (small) return MPI_REQUEST_NULL;

  // To itself it is complete at once, so it is copied.
  Engine::Orphan copy{.peer = world_rank(to)};
  const bool to_itself = to == rank();
  if (to_itself) {
    copy.elements = allocate_aligned(bytes.size());
    std::memcpy(copy.elements.get(), bytes.data(), bytes.size());
  }
  const ByteCount count(bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  engine_->check(MPI_Isend(to_itself ? copy.elements.get() : bytes.data(), count.count(),
                           count.type(), world_rank(to), bulk_tag, engine_->bulk(), &request),
                 "MPI_Isend", world_rank(to));
  if (!to_itself) return request;
  copy.request = request;
  engine_->adopt(std::move(copy));
  return MPI_REQUEST_NULL;
}

void MpiTransport::send(int to, const Label& label, std::span<const std::byte> bytes) {
  MPI_Request request = start(to, label, bytes);
  const int peer = world_rank(to);
  if (request != MPI_REQUEST_NULL) engine_->complete(request, peer);
  if (label.tag >= 0 && engine_->is_far_ahead_of(peer)) {
    engine_->wait(peer, [&] { return !engine_->is_far_ahead_of(peer); });
  }
}

std::unique_ptr<Pending> MpiTransport::isend(int to, const Label& label,
                                             std::span<const std::byte> bytes) {
  MPI_Request request = start(to, label, bytes);
  if (request == MPI_REQUEST_NULL) return std::make_unique<Sent>();
  return std::make_unique<Sending>(*engine_, request, world_rank(to));
}

Receipt::From MpiTransport::origin(int from, const Label& label) const {
  return {engine_.get(), comm_of(label.tag), world_ranks_,        rank(),
          from,          label.tag,          label.tag < any_tag, label.type};
}

std::list<MpiTransport::Probed>::iterator MpiTransport::find_probed(int from, int tag) {
  return std::ranges::find_if(probed_, [&](const Probed& probed) {
    const Arrival& arrival = probed.arrival;
    return (from == any_source || from == arrival.source) &&
           (tag == any_tag ? arrival.tag >= 0 : tag == arrival.tag);
  });
}

void MpiTransport::begin(Receipt& receipt, int from, const Label& label) {
  require_tag(label.tag);
  const auto probed = probed_.empty() ? probed_.end() : find_probed(from, label.tag);
  if (probed == probed_.end()) return receipt.post();
  Probed taken = std::move(*probed);
  probed_.erase(probed);
  receipt.open(std::move(taken.envelope), taken.arrival);
}

Arrival MpiTransport::recv(int from, const Label& label, std::span<std::byte> into) {
  Receipt receipt(origin(from, label), into, false);
  begin(receipt, from, label);
  receipt.wait();
  return receipt.arrival();
}

std::unique_ptr<Parcel> MpiTransport::recv_parcel(int from, const Label& label) {
  auto receipt = std::make_unique<Receipt>(origin(from, label), std::span<std::byte>{}, true);
  begin(*receipt, from, label);
  receipt->wait();
  return std::make_unique<Kept>(std::move(receipt));
}

std::unique_ptr<Pending> MpiTransport::irecv(int from, const Label& label,
                                             std::span<std::byte> into) {
  auto receiving = std::make_unique<Receiving>(*engine_, origin(from, label), into);
  begin(receiving->receipt(), from, label);
  return receiving;
}

// The size of a large message is in its envelope, so the envelope is taken.
bool MpiTransport::probe(int from, const Label& label, Arrival& arrival) {
  require_tag(label.tag);
  engine_->progress();
  auto probed = find_probed(from, label.tag);
  if (probed == probed_.end()) {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    engine_->check(MPI_Improbe(from == any_source ? MPI_ANY_SOURCE : from,
                               label.tag == any_tag ? MPI_ANY_TAG : std::abs(label.tag),
                               comm_of(label.tag), &there, &message, &status),
                   "MPI_Improbe", any_source);
    if (!there) return false;
    auto envelope = engine_->take_envelope();
    MPI_Request request;
    engine_->check(
        MPI_Imrecv(envelope->start(), kAboutBytes + kSmallBytes, MPI_BYTE, &message, &request),
        "MPI_Imrecv", any_source);
    engine_->complete(request, world_rank(status.MPI_SOURCE));
    const int tag = label.tag < any_tag ? -status.MPI_TAG : status.MPI_TAG;
    const Arrival found{status.MPI_SOURCE, tag, {envelope->type}, envelope->bytes};
    probed = probed_.insert(probed_.end(), {std::move(envelope), found});
  }
  arrival = probed->arrival;
  return true;
}

std::unique_ptr<Transport> MpiTransport::make_group(std::span<const int> members) {
  MPI_Group all, some;
  MPI_Comm_group(internal_, &all);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Comm_create_group(internal_, some, 0, &comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  engine_->check(code, "MPI_Comm_create_group", any_source);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::vector<int> world_ranks;
  for (const int member : members) world_ranks.push_back(world_rank(member));
  const auto own = std::ranges::find(members, rank()) - members.begin();
  return std::make_unique<MpiTransport>(engine_, comm, static_cast<int>(own),
                                        std::move(world_ranks));
}

}  // namespace
}  // namespace tabane::comm

// Starts MPI. Deleting the transport waits for the other ranks to do so, and ends MPI.
extern "C" tabane::comm::Transport* tabane_mpi_open() {
  using namespace tabane::comm;
  auto engine = std::make_shared<Engine>();
  std::vector<int> all(static_cast<std::size_t>(engine->size()));
  for (int rank = 0; rank < engine->size(); ++rank) all[static_cast<std::size_t>(rank)] = rank;
  const int rank = engine->rank();
  MPI_Comm comm = duplicate(engine->world());
  return new MpiTransport(std::move(engine), comm, rank, std::move(all));
}

// Tells the other ranks that this one has failed; waits for that up to a second. Deleting the
// transport waits for nobody afterwards.
extern "C" void tabane_mpi_fail(tabane::comm::Transport* world, const char* how) {
  static_cast<tabane::comm::MpiTransport*>(world)->engine().fail(how);
}

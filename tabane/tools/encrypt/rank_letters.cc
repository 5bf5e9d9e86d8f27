#include "tabane/tools/encrypt/rank_letters.h"

#include <type_traits>

namespace tabane::encrypt {
namespace {

static_assert(std::has_unique_object_representations_v<Joint>);
static_assert(std::has_unique_object_representations_v<Work::Given>);
static_assert(std::has_unique_object_representations_v<Report::Done>);
static_assert(std::has_unique_object_representations_v<Report::Record>);
static_assert(std::has_unique_object_representations_v<Report::Differs>);

class Put {
 public:
  void operator()(const auto&... values) { (team::put_value(bytes, values), ...); }
  team::Bytes bytes;
};

class Get {
 public:
  explicit Get(const team::Bytes& bytes) : reader_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    ((values = team::get_value<T>(reader_)), ...);
  }

 private:
  team::Reader reader_;
};

// The members of each letter, once for both directions.
void members(auto& each, Hello& hello) { each(hello.machine, hello.pus, hello.key); }
void members(auto& each, Start& start) {
  each(start.works, start.threads, start.plan.threads, start.plan.pus, start.plan.can_split,
       start.plan.piece_unit, start.in, start.out, start.output_name, start.single_file, start.sign,
       start.modes.opens, start.modes.authenticated, start.modes.preserve, start.modes.mask,
       start.hides_names, start.has_root, start.root, start.was_interrupted, start.tree,
       start.slots, start.secrets, start.sizes);
}
void members(auto& each, Work& work) { each(work.units, work.end, work.stop); }
void members(auto& each, Report& report) {
  each(report.done, report.records, report.failures, report.differences, report.bytes_done,
       report.files_unlisted, report.wants, report.stop, report.leaves, report.complaint);
}

team::Bytes bytes_of(auto letter) {
  Put put;
  members(put, letter);
  return std::move(put.bytes);
}

template <class Letter>
Letter letter_in(const team::Bytes& bytes) {
  Letter letter;
  Get get(bytes);
  members(get, letter);
  return letter;
}

}  // namespace

team::Bytes encode(const Hello& hello) { return bytes_of(hello); }
team::Bytes encode(const Start& start) { return bytes_of(start); }
team::Bytes encode(const Work& work) { return bytes_of(work); }
team::Bytes encode(const Report& report) { return bytes_of(report); }
Hello decode_hello(const team::Bytes& bytes) { return letter_in<Hello>(bytes); }
Start decode_start(const team::Bytes& bytes) { return letter_in<Start>(bytes); }
Work decode_work(const team::Bytes& bytes) { return letter_in<Work>(bytes); }
Report decode_report(const team::Bytes& bytes) { return letter_in<Report>(bytes); }

}  // namespace tabane::encrypt

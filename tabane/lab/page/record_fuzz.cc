#include "tabane/lab/page/record_fuzz.h"

#include <cstddef>
#include <cstdint>

#include "tabane/core/error.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record/json.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

// As `tabane report` does.
bool open_record(std::string_view text, Record& record) {
  try {
    record = record_from_json(Json::parse(text));
    if (record.kind == Kind::survey) present(record);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

RecordFuzzResult fuzz_record(std::string_view text) {
  Record record;
  if (!open_record(text, record)) return RecordFuzzResult::refused;
  const Json written = to_json(record);
  const Record again = record_from_json(written);
  TABANE_ASSERT(to_json(again).dump() == written.dump());
  TABANE_ASSERT(!render_html(record, make_figures(record)).empty());
  return RecordFuzzResult::opened;
}

}  // namespace tabane::lab

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tabane::lab::fuzz_record({reinterpret_cast<const char*>(data), size});
  return 0;
}

#include "tabane/cli/record_file.h"

#include <fmt/format.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/survey/present.h"

namespace tabane::cli {

lab::Record read_record(const std::string& file) {
  const lab::Json json = lab::Json::parse(core::read_file(file), nullptr, false);
  if (json.is_discarded()) throw core::UsageError(fmt::format("{}: not JSON", file));
  try {
    lab::Record record = lab::record_from_json(json);
    // Surveys of earlier versions have views without notes.
    if (record.kind == lab::Kind::survey) lab::present(record);
    return record;
  } catch (const core::UsageError& error) {
    throw core::UsageError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace tabane::cli

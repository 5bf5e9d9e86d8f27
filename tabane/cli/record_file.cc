#include "tabane/cli/record_file.h"

#include <fmt/format.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/record/json_text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::cli {

lab::Record read_record(const std::string& file) {
  const std::string text = core::read_file(file);
  try {
    lab::Record record = lab::record_from_json(lab::json_from_text(text));
    // Surveys of earlier versions have views without notes.
    if (record.kind == lab::Kind::survey) lab::present(record);
    return record;
  } catch (const core::Error& error) {  // also of fits of figures that cannot be
    throw core::UsageError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace tabane::cli

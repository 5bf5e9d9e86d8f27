#include "tabane/lab/survey/disturbances.h"

#include <algorithm>
#include <iterator>

#include "tabane/lab/environment.h"

namespace tabane::lab {
namespace {

void add(Record& record, std::vector<Warning> warnings) {
  std::ranges::move(warnings, std::back_inserter(record.warnings));
}

}  // namespace

Disturbances::Disturbances(Record& record, const core::Topology& topology, int own_tasks) {
  add(record, environment_warnings(record.environment, topology, own_tasks));
}

void Disturbances::tell(Record& record) const {
  add(record, stolen_.warnings());
  add(record, measurement_warnings(record));
}

}  // namespace tabane::lab

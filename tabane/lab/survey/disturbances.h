// What may spoil a measurement, as warnings of its record: surveys and studies tell it alike.
#pragma once

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/survey/stolen_time.h"

namespace tabane::lab {

// From construction, before anything is measured, to tell().
class Disturbances {
 public:
  // Adds what the record's environment and the machine say: other programs, a quota, frequencies.
  // own_tasks: as environment_warnings().
  Disturbances(Record& record, const core::Topology& topology, int own_tasks = 1);
  // Adds what others took meanwhile, and what the samples show: drift, outliers, few runs.
  void tell(Record& record) const;

 private:
  StolenTime stolen_;
};

}  // namespace tabane::lab

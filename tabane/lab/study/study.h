// What all studies share: a study is one of the reports run again on this machine. It says what it
// is about, lets a campaign measure, and shows tables and charts next to the published figures.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/captions.h"
#include "tabane/lab/survey/disturbances.h"

namespace tabane::lab {

// ---- options ----

// throws: core::UsageError "--runs 0: from 1 to 100" unless the value is legal.
template <class T>
void require_option(bool legal, const char* flag, const T& value, const char* what_is_legal) {
  if (!legal) throw core::UsageError("{} {}: {}", flag, value, what_is_legal);
}

// ---- a study under way ----

// Its record, and what disturbs it meanwhile.
class RunningStudy {
 public:
  // throws: core::UsageError if the topology is not that of this machine.
  RunningStudy(const core::Topology& topology, const About& about, bool quick);

  // Adds the results of a campaign, how long it took and what it skipped. what: as add_results().
  void add(const Campaign& campaign, bool complete,
           const std::function<std::string(const Point&)>& what);
  // Returns the record, with the warnings that a survey has, too, but for those of which the study
  // has its own judgement. judged: their ids, "outliers".
  Record finish(std::initializer_list<std::string_view> judged = {});

  Record record;

 private:
  RunningStudy(const core::Topology& topology, const About& about, bool quick,
               const Environment& environment);

  Disturbances disturbances_;
};

}  // namespace tabane::lab

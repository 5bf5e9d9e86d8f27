// What a topic found, as a record: raw samples, charts of the ratios, tables of peers and figures.
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"

namespace tabane::bench {

// Results are named TOPIC.QUESTION.PEER.
// costs: seconds per unit of the question.
lab::Result rates_result(const std::string& topic, const Question& question,
                         const std::string& entrant, const std::vector<double>& costs);
lab::Result figure_result(const std::string& topic, const lab::Comparison& figure);

// Of this machine, without comparisons.
lab::Record begin_panel_record(const Topic& topic, const Settings& settings);

// groups: of the record's comparisons; a chart each.
void add_panel_views(lab::Record& record, const std::vector<std::string>& groups);

}  // namespace tabane::bench

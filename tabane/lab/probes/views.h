// Reads the views of the probes aloud. Each function that completes a view is in the file of the
// probe that measures it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Each completes a view that is joined over the passes so far: note, marks, and what follows from
// results of its probe. It leaves a view without a curve of two points, or a matrix of one node,
// as it is.
void describe_core_rate(View& view, const Record& record);
void describe_bandwidth(View& view, const Record& record);
void describe_bandwidth_over_cores(View& view, const Record& record);
void describe_memcpy(View& view, const Record& record);
void describe_ladder_chart(View& view, const Record& record);
void describe_latency(View& view, const Record& record);
void describe_loaded_latency(View& view, const Record& record);
void describe_core_to_core(View& view, const Record& record);
void describe_numa(View& view, const Record& record);
void describe_fork_cost(View& view, const Record& record);
void describe_devices(View& view, const Record& record);
void describe_device_transfers(View& view, const Record& record);

// ---- what they share ----

// Takes out curves without points. Returns whether one of at least two points is left. Those below
// take curves with points, from the smallest x up.
bool keep_drawable(Curves& curves);

// What the curve says of each cache and of the largest size: "1.2 ns in L1, 3.9 ns in L2 and …".
std::string levels_sentence(const Record& record, const Curve& curve, std::string_view unit);

// Marks the machine's caches on the x axis. Returns the sentence that says so; empty: there are
// none.
std::string mark_caches(const Record& record, Curves& curves);

std::string count_cores(double n);  // "1 core", "2 cores"

}  // namespace tabane::lab

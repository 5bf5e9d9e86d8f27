// Makes the views of a survey readable: gives them titles, notes that read them aloud, marks; and
// adds those that are made from results alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Presents every view that it knows, in the order of the page; others follow.
void present(Record& record);

// One function per view, called by present(). Each gives null if the record does not have what the
// view shows.
std::optional<View> present_shares(const Record& record);
std::optional<View> present_roofline(const Record& record);
std::optional<View> present_memory_latency(const Record& record);
std::optional<View> present_memory_bandwidth(const Record& record);
std::optional<View> present_bandwidth_over_cores(const Record& record);
std::optional<View> present_loaded_latency(const Record& record);
std::optional<View> present_memcpy(const Record& record);
std::optional<View> present_core_to_core(const Record& record);
std::vector<View> present_numa(const Record& record);
std::optional<View> present_ladder(const Record& record);
std::optional<View> present_core_rate(const Record& record);
std::optional<View> present_fork_cost(const Record& record);
std::vector<View> present_devices(const Record& record);

// The twelve rules of Hoefler and Belli, filled in from the record.
std::vector<ChecklistRow> fill_checklist(const Record& record);

}  // namespace tabane::lab

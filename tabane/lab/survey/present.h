// What a survey adds to the views of its probes.
#pragma once

#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Adds the views that need results of several probes, the shares of limits and the roofline, or
// replaces them, and puts all views into the order of the page.
void present(Record& record);

// The twelve rules of Hoefler and Belli, filled in from the record.
std::vector<ChecklistRow> fill_checklist(const Record& record);

}  // namespace tabane::lab

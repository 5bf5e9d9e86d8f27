// The machine as a picture: packages, NUMA nodes, caches, cores and PUs as lstopo draws them, with
// what a survey has measured of them.
#pragma once

#include <string>

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Returns the picture as an SVG file, light and dark. What `record` does not have is left out.
std::string topology_svg(const core::Topology& topology, const Record& record);

}  // namespace tabane::lab

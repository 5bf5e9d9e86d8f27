// The file "answer": patches and their radiosities, for people to read.
#pragma once

#include <span>
#include <string>

#include "tabane/tools/slalom/patches.h"

namespace tabane::slalom {

// radiosities: of all patches, colour by colour.
std::string answer_text(const Geometry& geometry, const Region& region,
                        std::span<const double> radiosities);

}  // namespace tabane::slalom

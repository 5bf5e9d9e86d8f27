// For tests: the box that slalom is about unless another is given.
#pragma once

#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

inline const Geometry kBox = parse_geometry(default_geometry_text(), "geom");

}  // namespace tabane::slalom

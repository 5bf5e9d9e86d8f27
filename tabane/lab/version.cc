#include "tabane/lab/version.h"

namespace tabane::lab {

std::string version() { return TABANE_VERSION; }

}  // namespace tabane::lab

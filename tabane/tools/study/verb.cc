// tabane study NAME: runs one of the reports again on this machine.
#include "tabane/program/command.h"

namespace tabane::program {

extern constinit const Verb study_verb{
    .name = "study",
    .what = "Repeat a published performance report on this machine",
    .group = "Measure",
    .below = kStudies};

}  // namespace tabane::program

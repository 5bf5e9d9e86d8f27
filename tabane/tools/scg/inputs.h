// A problem's numbers as users write them.
#pragma once

#include <string>

#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

// "1", "-2.5e3" or the name of an NPY file. what: the option, for errors.
// throws: core::UsageError if it is neither, or the file is malformed.
Values values_named(const std::string& what, const std::string& text);

// "west=0,east=neumann,north=u.npy,south=neumann:flow.npy": u, or neumann and k du/dn (0 if it is
// left out), on the sides that it names. throws: core::UsageError.
void set_boundary(Problem& problem, const std::string& text);

// Takes the mesh's size from the first array among k and f. Returns whether there is one.
bool take_size_from_arrays(Problem& problem);

}  // namespace tabane::scg

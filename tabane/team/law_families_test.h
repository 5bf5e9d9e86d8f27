// Synthetic machines and families of laws that the chooser is tried on, for tests.
#pragma once

#include <random>
#include <span>
#include <string>

#include "tabane/team/law_experiment_test.h"
#include "tabane/team/places.h"

namespace tabane::team {

enum class Synthetic { pus_2, pus_72, pus_128, pus_512 };  // the last two with two PUs per core

// The machine, whose placements are remembered for all tests.
Machine& machine(Synthetic which);

struct Family {
  std::string name;
  void (*shape)(Law&, std::mt19937_64&);
};

std::span<const Family> families();

// A law with every property drawn; the family then sends some of them to an extreme.
Law draw_law(const Family& family, std::mt19937_64& random);

// A law on a machine, and the best that it allows with at most two workers on each PU.
struct Case {
  Machine* machine;
  Law law;
  Prediction optimum;
};

// cost: up to a tenth of a second on a large machine.
Case draw_case(const Family& family, Synthetic which, std::mt19937_64& random);

}  // namespace tabane::team

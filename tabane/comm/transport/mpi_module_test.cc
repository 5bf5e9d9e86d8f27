#include "tabane/comm/transport/mpi_module.h"

#include <gtest/gtest.h>

namespace tabane::comm {
namespace {

TEST(MpiModulePlaces, AreThoseOfTheBuildForThisProgram) {
  const core::ModulePlaces& places = mpi_module_places();
  EXPECT_EQ(core::module_directory(core::this_program(), places), places.built);
  EXPECT_NE(places.built, places.installed);
  EXPECT_TRUE(places.built.is_absolute());
  EXPECT_TRUE(places.installed.is_absolute());
  EXPECT_TRUE(places.from_program.is_relative());
}

}  // namespace
}  // namespace tabane::comm

#include "tabane/comm/grid.h"

#include <string>

#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

TEST(FitGrid, IsAsSquareAsPossibleWithoutMoreRowsThanColumns) {
  EXPECT_EQ(fit_grid(1), (GridShape{1, 1}));
  EXPECT_EQ(fit_grid(7), (GridShape{1, 7}));
  EXPECT_EQ(fit_grid(12), (GridShape{3, 4}));
  EXPECT_EQ(fit_grid(16), (GridShape{4, 4}));
  EXPECT_EQ(fit_grid(4093), (GridShape{1, 4093}));
}

TEST(FitGrid, FillsInTheSideThatIsLeftOut) {
  EXPECT_EQ(fit_grid(12, {2, 0}), (GridShape{2, 6}));
  EXPECT_EQ(fit_grid(12, {0, 2}), (GridShape{6, 2}));
  EXPECT_EQ(fit_grid(12, {12, 1}), (GridShape{12, 1}));
}

TEST(FitGrid, NamesTheLegalShapesOtherwise) {
  EXPECT_EQ(error_of<core::UsageError>([] {
              fit_grid(6, {4, 2});
            }),
            "a grid of 4 x 2 does not fit 6 ranks: give 1 x 6, 2 x 3, 3 x 2, 6 x 1");
  EXPECT_EQ(error_of<core::UsageError>([] {
              fit_grid(6, {4, 0});
            }),
            "a grid of 4 x ? does not fit 6 ranks: give 1 x 6, 2 x 3, 3 x 2, 6 x 1");
  EXPECT_EQ(error_of<core::UsageError>([] {
              fit_grid(1, {0, 2});
            }),
            "a grid of ? x 2 does not fit 1 rank: give 1 x 1");
  error_of<core::UsageError>([] { fit_grid(6, {-2, -3}); });
  error_of<core::UsageError>([] { fit_grid(6, {0, -3}); });
  error_of<core::UsageError>([] { fit_grid(6, {65536, 65536}); });
  error_of<core::UsageError>([] { fit_grid(0); });
}

TEST(GridOnRanks, LaysRanksOutRowByRow) {
  run(6, [](Comm& comm) {
    Grid grid(comm, 2, 3);
    const int rank = comm.rank();
    require_equal(grid.rows(), 2);
    require_equal(grid.columns(), 3);
    require_equal(grid.my_row(), rank / 3);
    require_equal(grid.my_column(), rank % 3);
    require_equal(grid.row().size(), 3);
    require_equal(grid.row().rank(), rank % 3);
    require_equal(grid.column().size(), 2);
    require_equal(grid.column().rank(), rank / 3);
    require_equal(grid.all().rank(), rank);
  });
}

TEST(GridOnRanks, GoesRoundTheTorus) {
  run(6, [](Comm& comm) {
    const Grid grid(comm, 2, 3);
    require_equal(grid.rank_at(-1, -1), 5);
    require_equal(grid.rank_at(2, 3), 0);
    require_equal(grid.rank_at(-4, 7), 1);
    if (comm.rank() != 3) return;
    require_equal(grid.north(), 0);
    require_equal(grid.south(), 0);
    require_equal(grid.west(), 5);
    require_equal(grid.east(), 4);
  });
}

TEST(GridOnRanks, KeepsMessagesOfRowsAndColumnsApart) {
  run(4, [](Comm& comm) {
    Grid grid(comm, 2, 2);
    grid.column().send(1 - grid.my_row(), 100 + comm.rank());
    grid.row().send(1 - grid.my_column(), 200 + comm.rank());
    comm.send(3 - comm.rank(), 300 + comm.rank());
    require_equal(comm.recv<int>(any_source), 300 + 3 - comm.rank());
    require_equal(grid.row().recv<int>(any_source), 200 + grid.west());
    require_equal(grid.column().recv<int>(any_source), 100 + grid.north());
  });
}

TEST(GridOnRanks, RefusesAShapeThatDoesNotFitOnAllRanks) {
  run(3, [](Comm& comm) {
    const std::string error = error_of<core::UsageError>([&] { Grid grid(comm, 2, 2); });
    require_equal(error, "a grid of 2 x 2 does not fit 3 ranks: give 1 x 3, 3 x 1");
  });
}

}  // namespace
}  // namespace tabane::comm

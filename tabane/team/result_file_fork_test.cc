#include "tabane/team/result_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <thread>

#include "tabane/team/leftovers_test.h"

namespace tabane::team {
namespace {

std::map<std::size_t, std::string> texts_of(ReturnedResults& results) {
  std::map<std::size_t, std::string> texts;
  results.take([&](std::size_t key, Reader& in) {
    EXPECT_TRUE(texts.emplace(key, get_value<std::string>(in)).second) << key;
  });
  return texts;
}

using ReturnedResultsTest = LeavesNothing;

TEST_F(ReturnedResultsTest, ReturnsResultsByKeyWhateverTheOrder) {
  ReturnedResults returned(SIZE_MAX);
  returned.begin_run(2, true);
  returned.put(0, 2, std::string("two"));
  returned.put(1, 0, std::string());
  returned.put(0, 1, std::string(1 << 20, 'x'));
  returned.flush(1);
  returned.flush(0);
  auto results = texts_of(returned);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0], "");
  EXPECT_EQ(results[1], std::string(1 << 20, 'x'));
  EXPECT_EQ(results[2], "two");
}

TEST_F(ReturnedResultsTest, IsEmptyIfNothingWasWritten) {
  ReturnedResults returned(0);
  returned.begin_run(1, true);
  EXPECT_TRUE(texts_of(returned).empty());
}

TEST_F(ReturnedResultsTest, TakesResultsOfSeveralThreadsAtOnce) {
  ReturnedResults returned(SIZE_MAX);
  returned.begin_run(4, true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&returned, t] {
      for (std::size_t i = 0; i < 50; ++i) {
        const std::size_t key = 4 * i + static_cast<std::size_t>(t);
        returned.put(t, key, std::to_string(key));
        returned.flush(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto results = texts_of(returned);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(results[i], std::to_string(i));
}

TEST_F(ReturnedResultsTest, RefusesMoreThanIsAllowed) {
  ReturnedResults returned(100);
  returned.begin_run(1, true);
  returned.put(0, 0, std::string(60, 'x'));
  returned.flush(0);
  returned.put(0, 1, std::string(60, 'x'));
  try {
    returned.flush(0);
    FAIL() << "was taken";
  } catch (const ResultError& error) {
    EXPECT_EQ(error.code(), ENOMEM);
    EXPECT_NE(std::string(error.what()).find("at most 100 bytes"), std::string::npos);
  }
}

TEST(BytesOfResults, RefusesProductsThatOverflowAndWhatIsNotAllowed) {
  EXPECT_EQ(bytes_of_results(10, 8, std::nullopt), 80u);
  EXPECT_EQ(bytes_of_results(0, 8, 0), 0u);
  EXPECT_EQ(bytes_of_results(10, 8, 80), 80u);
  EXPECT_THROW(bytes_of_results(10, 8, 79), ResultError);
  EXPECT_THROW(bytes_of_results(SIZE_MAX / 2, 8, std::nullopt), ResultError);
}

}  // namespace
}  // namespace tabane::team

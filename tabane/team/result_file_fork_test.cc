#include "tabane/team/result_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>

#include "tabane/team/leftovers_test.h"

namespace tabane::team {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  Reader in(bytes);
  return get_value<std::string>(in);
}

using ResultFileTest = LeavesNothing;

TEST_F(ResultFileTest, ReturnsResultsByKeyWhateverTheOrder) {
  ResultFile file(SIZE_MAX);
  ResultWriter a, b;
  a.put(file, 2, std::string("two"));
  b.put(file, 0, std::string());
  a.put(file, 1, std::string(1 << 20, 'x'));
  b.flush(file);
  a.flush(file);
  const auto results = file.read(4);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(text_of(results[0]), "");
  EXPECT_EQ(text_of(results[1]), std::string(1 << 20, 'x'));
  EXPECT_EQ(text_of(results[2]), "two");
  EXPECT_EQ(results[3].data(), nullptr);
}

TEST_F(ResultFileTest, IsEmptyIfNothingWasWritten) {
  ResultFile file(0);
  EXPECT_TRUE(file.read(0).empty());
  EXPECT_EQ(file.read(1)[0].data(), nullptr);
}

TEST_F(ResultFileTest, TakesResultsOfSeveralThreadsAtOnce) {
  ResultFile file(SIZE_MAX);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&file, t] {
      for (std::size_t i = 0; i < 50; ++i) {
        ResultWriter writer;
        writer.put(file, 4 * i + t, std::to_string(4 * i + t));
        writer.flush(file);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto results = file.read(200);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(text_of(results[i]), std::to_string(i));
}

TEST_F(ResultFileTest, RefusesMoreThanIsAllowed) {
  ResultFile file(100);
  ResultWriter writer;
  writer.put(file, 0, std::string(60, 'x'));
  writer.flush(file);
  writer.put(file, 1, std::string(60, 'x'));
  try {
    writer.flush(file);
    FAIL() << "was taken";
  } catch (const ResultError& error) {
    EXPECT_EQ(error.code(), ENOMEM);
    EXPECT_NE(std::string(error.what()).find("at most 100 bytes"), std::string::npos);
  }
}

TEST_F(ResultFileTest, RefusesAKeyThatComesTwiceOrIsTooLarge) {
  ResultFile twice(SIZE_MAX);
  ResultWriter writer;
  writer.put(twice, 0, 1);
  writer.put(twice, 0, 1);
  writer.flush(twice);
  EXPECT_THROW(twice.read(1), core::Error);
  ResultFile large(SIZE_MAX);
  writer.put(large, 5, 1);
  writer.flush(large);
  EXPECT_THROW(large.read(5), core::Error);
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

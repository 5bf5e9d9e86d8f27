#include "tabane/team/result_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <thread>

#include "tabane/team/leftovers_test.h"

namespace tabane::team {
namespace {

std::map<std::size_t, std::string> texts_of(ResultFile& file) {
  std::map<std::size_t, std::string> texts;
  file.read_each([&](std::size_t key, std::span<const std::byte> bytes) {
    Reader in(bytes);
    EXPECT_TRUE(texts.emplace(key, get_value<std::string>(in)).second) << key;
  });
  return texts;
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
  auto results = texts_of(file);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0], "");
  EXPECT_EQ(results[1], std::string(1 << 20, 'x'));
  EXPECT_EQ(results[2], "two");
}

TEST_F(ResultFileTest, IsEmptyIfNothingWasWritten) {
  ResultFile file(0);
  EXPECT_TRUE(texts_of(file).empty());
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
  auto results = texts_of(file);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(results[i], std::to_string(i));
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

TEST(BytesOfResults, RefusesProductsThatOverflowAndWhatIsNotAllowed) {
  EXPECT_EQ(bytes_of_results(10, 8, std::nullopt), 80u);
  EXPECT_EQ(bytes_of_results(0, 8, 0), 0u);
  EXPECT_EQ(bytes_of_results(10, 8, 80), 80u);
  EXPECT_THROW(bytes_of_results(10, 8, 79), ResultError);
  EXPECT_THROW(bytes_of_results(SIZE_MAX / 2, 8, std::nullopt), ResultError);
}

}  // namespace
}  // namespace tabane::team

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

TEST(Crossover, IsWhereOneLineFallsBelowTheOther) {
  const std::vector<double> counts = {1, 4, 16};
  EXPECT_FALSE(crossover(counts, {2, 2, 2}, {1, 1, 1}));
  EXPECT_EQ(crossover(counts, {1, 1, 1}, {2, 2, 2}), 1);
  // Equal ratios on both sides: in the middle of 4 and 16 on a logarithmic scale.
  EXPECT_DOUBLE_EQ(*crossover(counts, {9, 2, 2}, {1, 1, 4}), 8);
  EXPECT_FALSE(crossover(counts, {1, 1, 5}, {2, 2, 1})) << "it is above at the end";
  EXPECT_FALSE(crossover({}, {}, {}));
}

void add(Points& points, const Folder& chains, double to, double kernel, double from, double cpu) {
  Point device{.factors = chain_factors("device", chains),
               .samples = std::vector<double>(6, to + kernel + from)};
  device.beside[kToDevice].assign(6, to);
  device.beside[kKernel].assign(6, kernel);
  device.beside[kFromDevice].assign(6, from);
  points.add(device);
  points.add({.factors = chain_factors("cpu", chains), .samples = std::vector<double>(6, cpu)});
}

// A launch takes 1 s, a chain 3 s more, and 4 or 16 of them together no more than one.
Points chains_of(double cpu_of_one) {
  Points points;
  add(points, {1, 16}, 0, 1, 0, 0.1);
  add(points, {1, 4096}, 0.5, 4, 0.5, cpu_of_one);
  add(points, {4, 4096}, 2, 4, 2, 4 * cpu_of_one);
  add(points, {16, 4096}, 8, 8, 8, 16 * cpu_of_one);
  return points;
}

Record device_record_of(const Points& points) {
  Record record;
  record.name = "aes-folder";
  add_device_views(record, points, "H200 (CUDA)");
  return record;
}

TEST(DeviceViews, SplitTheTimeOfTheCoprocessor) {
  const Record record = device_record_of(chains_of(2.5));
  const auto* rows = std::get_if<Rows>(&record.views.at(0).content);
  ASSERT_NE(rows, nullptr);
  ASSERT_EQ(rows->rows.size(), 3u);
  const auto& most = rows->rows[2];
  EXPECT_EQ(most[0].text, "16 x 4 KiB");
  EXPECT_EQ(most[1].value, 24);
  EXPECT_DOUBLE_EQ(*most[2].value, 8.0 / 24);  // to it
  EXPECT_DOUBLE_EQ(*most[3].value, 1.0 / 24);  // launch
  EXPECT_DOUBLE_EQ(*most[4].value, 3.0 / 24);  // waiting in the chain
  EXPECT_DOUBLE_EQ(*most[5].value, 4.0 / 24);  // more chains
  EXPECT_DOUBLE_EQ(*most[6].value, 8.0 / 24);  // from it
}

TEST(DeviceViews, AnswerWithTheCrossing) {
  const Record record = device_record_of(chains_of(2.5));  // CPU / coprocessor: 0.5, 1.25, 1.67
  ASSERT_EQ(record.sentences.size(), 1u);
  EXPECT_NE(record.sentences[0].find("beats the CPU on chains in memory from 3 of 4 KiB on"),
            std::string::npos)
      << record.sentences[0];
  const auto* curves = find_content<Curves>(record, "aes_folder.device");
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->series.size(), 2u);
  EXPECT_EQ(curves->series[0].x, (std::vector<double>{1, 4, 16}));
  EXPECT_DOUBLE_EQ(curves->series[0].y[1], 1.25);
  EXPECT_DOUBLE_EQ(curves->series[1].y[1], 2.5);  // without transfers
}

TEST(DeviceViews, AnswerThatThereIsNone) {
  const Record record = device_record_of(chains_of(0.25));
  ASSERT_EQ(record.sentences.size(), 1u);
  EXPECT_NE(record.sentences[0].find("never wins"), std::string::npos);
  EXPECT_NE(record.sentences[0].find("with 16 x 4 KiB, it is 0.167 times as fast"),
            std::string::npos)
      << record.sentences[0];
  EXPECT_NE(record.find_view("aes_folder.device")->note.find("Xeon Phi took"), std::string::npos);
}

TEST(DeviceViews, AnswerThatOneWinIsNoCrossing) {
  Points points;
  add(points, {1, 16}, 0, 1, 0, 0.1);
  add(points, {1, 4096}, 0.5, 4, 0.5, 25);
  add(points, {4, 4096}, 2, 4, 2, 1);
  add(points, {16, 4096}, 8, 8, 8, 1);
  const std::string answer = device_record_of(points).sentences.at(0);
  EXPECT_NE(answer.find("no number of chains from which on"), std::string::npos) << answer;
  EXPECT_NE(answer.find("with 1 x 4 KiB, it is 5 times as fast [5, 5]"), std::string::npos)
      << answer;
}

TEST(DeviceViews, AreNoneWithoutADevice) {
  Record record;
  add_device_views(record, Points(), "");
  EXPECT_TRUE(record.views.empty());
  EXPECT_TRUE(record.sentences.empty());
}

}  // namespace
}  // namespace tabane::lab::aes_folder

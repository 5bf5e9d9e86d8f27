#include "tabane/lab/page/record_fuzz.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {
namespace {

std::vector<Json> corpus() {
  std::vector<Json> records;
  for (const Record& record :
       {testing::study_record(), testing::bench_record(), testing::record_without_tables(),
        testing::one_cpu_record(), testing::hostile_record()}) {
    records.push_back(to_json(record));
  }
  return records;
}

// Replaces one value in `rate` by one of another kind or size.
void mutate(Json& json, std::mt19937_64& random, unsigned rate) {
  if (json.is_structured()) {
    for (Json& part : json) mutate(part, random, rate);
    return;
  }
  static const std::array<Json, 14> kOdd = {
      1e30,    -1e30,  1e-300,        5e-324,           0,
      -1,      1e18,   4294967296,    9007199254740993, 1'000'000,
      nullptr, "text", Json::array(), Json::object()};
  // Numbers mostly stay numbers: what is of another kind is refused early.
  if (random() % rate == 0) json = kOdd[random() % (json.is_number() ? 10 : kOdd.size())];
}

TEST(FuzzRecord, OpensWhatWasWritten) {
  for (const Json& record : corpus()) {
    EXPECT_EQ(fuzz_record(record.dump()), RecordFuzzResult::opened);
  }
}

TEST(FuzzRecord, MakesAPageOrRefusesWhateverTheNumbersAre) {
  const std::vector<Json> records = corpus();
  std::mt19937_64 random(30);
  std::map<RecordFuzzResult, int> seen;
  for (int i = 0; i < 400; ++i) {
    Json record = records[random() % records.size()];
    mutate(record, random, 50u << (random() % 8));
    ++seen[fuzz_record(record.dump())];
  }
  EXPECT_GT(seen[RecordFuzzResult::opened], 20);
  EXPECT_GT(seen[RecordFuzzResult::refused], 20);
}

TEST(FuzzRecord, RefusesTextsThatWereCutOrChanged) {
  const std::string text = corpus().front().dump();
  std::mt19937_64 random(31);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(fuzz_record(text.substr(0, random() % text.size())), RecordFuzzResult::refused);
    std::string changed = text;
    changed[random() % text.size()] = static_cast<char>(random());
    fuzz_record(changed);
  }
}

}  // namespace
}  // namespace tabane::lab

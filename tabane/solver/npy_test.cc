#include "tabane/solver/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::solver {
namespace {

class Npy : public testing::Test {
 protected:
  // A file of version 1 with this dictionary and these bytes of numbers.
  void make(std::string dictionary, std::string_view numbers) {
    dictionary += '\n';
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(dictionary.size() & 0xff);
    bytes += static_cast<char>(dictionary.size() >> 8);
    core::write_file(file_, bytes + dictionary + std::string(numbers));
  }
  void expect_refused(std::string_view because) {
    const std::string refusal = core::text_of_error<core::UsageError>([&] { read_npy(file_); });
    EXPECT_NE(refusal.find(because), refusal.npos) << refusal;
    EXPECT_NE(refusal.find(file_.string()), refusal.npos) << refusal;
  }

  core::ScratchFolder folder_{"npy"};
  std::filesystem::path file_ = folder_.path() / "a.npy";
};

TEST_F(Npy, ReturnsWhatWasWritten) {
  const std::vector<double> values{1.5, -2, 1e300, 0, 5, 6};
  write_npy(file_, 2, 3, values);
  const Array2d array = read_npy(file_);
  EXPECT_EQ(array.rows, 2U);
  EXPECT_EQ(array.columns, 3U);
  EXPECT_EQ(array.values, values);
}

TEST_F(Npy, PutsTheFirstNumberAtAMultipleOf64) {
  write_npy(file_, 1, 1, std::vector{7.0});
  const std::string bytes = core::read_file(file_);
  EXPECT_EQ((bytes.size() - sizeof(double)) % 64, 0U);
  EXPECT_EQ(bytes[bytes.size() - sizeof(double) - 1], '\n');
}

TEST_F(Npy, ReadsAnEmptyArray) {
  write_npy(file_, 0, 3, {});
  EXPECT_TRUE(read_npy(file_).values.empty());
}

TEST_F(Npy, ReadsOtherTypesAndOrders) {
  make("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\x01\x02\x03\x04\x05\xff");
  EXPECT_EQ(read_npy(file_).values, (std::vector<double>{1, 3, 5, 2, 4, 255}));
  make("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", "\x01\x02\xff\xfe");
  EXPECT_EQ(read_npy(file_).values, (std::vector<double>{258, -2}));
}

TEST_F(Npy, TellsWhatIsWrong) {
  core::write_file(file_, "1 2 3\n4 5 6\n");
  expect_refused("not an NPY file");
  core::write_file(file_, std::string_view("\x93NUMPY\x01\x00\xff\xff{", 11));
  expect_refused("header ends too early");
  make("{'descr': '<c16', 'fortran_order': False, 'shape': (1, 1), }", "");
  expect_refused("numbers of type \"<c16\"");
  make("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }", "");
  expect_refused("shape (1, 2, 3)");
  make("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", "12345678");
  expect_refused("8 bytes of numbers where 2 x 2 of 8 bytes should be");
  make("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 999999999999), }", "");
  expect_refused("shape (999999999999, 999999999999)");
  for (const char* shape : {"()", "(-1, 2)", "(1 2)", "(1, x)", "(,)", "1, 2"}) {
    make(fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", shape), "");
    expect_refused("shape");
  }
  make("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 2), }", "");
  expect_refused("fortran_order is \"Maybe\"");
  make("{'fortran_order': False, 'shape': (2, 2), }", "");
  expect_refused("no readable \"descr\"");
}

// Headers of the largest size, and ones cut anywhere or with any byte changed: read or refused.
TEST_F(Npy, SurvivesHostileHeaders) {
  for (const std::string& filling : {std::string(65000, ' '), std::string(65000, '1'),
                                     std::string(65000, ','), std::string(65000, '\'')}) {
    make("{'descr': '<f8', 'fortran_order': False, 'shape': (" + filling + "2, 2), }", "");
    EXPECT_THROW(read_npy(file_), core::UsageError) << filling[0];
    make("{'descr': '" + filling + "', 'fortran_order': False, 'shape': (2, 2), }", "");
    EXPECT_THROW(read_npy(file_), core::UsageError) << filling[0];
    make(filling, "");
    EXPECT_THROW(read_npy(file_), core::UsageError) << filling[0];
  }
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }";
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string cut = good.substr(0, i);
    for (const char byte : {'\0', '\'', '(', ')', ':', ',', '9', '-', ' ', '\xff'}) {
      std::string changed = good;
      changed[i] = byte;
      for (const std::string& text : {cut, changed}) {
        make(text, "ab");
        try {
          EXPECT_EQ(read_npy(file_).values.size(), 2U) << text;
        } catch (const core::UsageError&) {
        }
      }
    }
  }
}

TEST_F(Npy, ReadsHeadersAsOthersWriteThem) {
  for (const char* text : {"{'shape':(2,),'fortran_order':True,'descr':'|u1'}",
                           "{ 'descr' : '|u1' , 'shape' : ( 1 , 2 ) , 'fortran_order' : False }"}) {
    make(text, "ab");
    EXPECT_EQ(read_npy(file_).values, (std::vector<double>{'a', 'b'})) << text;
  }
}

}  // namespace
}  // namespace tabane::solver

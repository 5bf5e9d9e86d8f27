#include "tabane/device/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tabane/core/text_of_error_test.h"
#include "tabane/device/module.h"

namespace tabane::device {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* kAdd =
    "__kernel void add(__global uchar* bytes, uchar more) { bytes[get_global_id(0)] += more; }";

Bytes counting(std::size_t n) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

class EachDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().list.empty()) GTEST_SKIP() << devices().reason;
    for (std::size_t i = 0; i < devices().list.size(); ++i) opened_.push_back(open_device(i));
  }

  std::vector<std::unique_ptr<Device>> opened_;
};

TEST_F(EachDevice, SaysWhatItIs) {
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    const Description& description = opened_[i]->description();
    EXPECT_EQ(description.name, devices().list[i].name);
    EXPECT_FALSE(description.name.empty());
    EXPECT_FALSE(description.platform.empty());
    EXPECT_GT(description.compute_units, 0u);
    EXPECT_GE(description.memory_bytes, description.largest_buffer_bytes);
    EXPECT_GT(description.local_bytes, 0u);
  }
}

TEST_F(EachDevice, DoesWhatIsQueuedInOrder) {
  for (const auto& device : opened_) {
    const auto queue = device->queue();
    const auto buffer = device->buffer(4096);
    const auto kernel = device->program(kAdd, "")->kernel("add");
    const auto pinned = device->host_memory(4096);
    const Bytes in = counting(4096);
    std::ranges::copy(in, pinned->bytes().begin());
    Bytes out(4096);
    kernel->set(0, *buffer);
    kernel->set_value(1, static_cast<unsigned char>(5));
    queue->write(*buffer, 0, pinned->bytes());
    for (int i = 0; i < 3; ++i) queue->launch(*kernel, 4096, 0);
    queue->flush();
    queue->read(*buffer, 0, out);
    queue->finish();
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<std::byte>(i * 7 + 3 + 15)) << i;
    }
  }
}

TEST_F(EachDevice, ReadsAndWritesPartsOfABuffer) {
  for (const auto& device : opened_) {
    const auto queue = device->queue();
    const auto buffer = device->buffer(1000);
    const Bytes in = counting(100);
    Bytes out(100), before(1);
    queue->zero(*buffer);
    queue->write(*buffer, 300, in);
    queue->read(*buffer, 300, out);
    queue->read(*buffer, 299, before);
    queue->finish();
    EXPECT_EQ(out, in);
    EXPECT_EQ(before[0], std::byte{0});
  }
}

TEST_F(EachDevice, MapsItsMemory) {
  for (const auto& device : opened_) {
    const auto queue = device->queue();
    const auto buffer = device->buffer(256);
    std::byte* place = queue->map(*buffer, true);
    std::ranges::copy(counting(256), place);
    queue->unmap(*buffer, place);
    place = queue->map(*buffer, false);
    EXPECT_TRUE(std::ranges::equal(counting(256), std::span(place, 256)));
    queue->unmap(*buffer, place);
    queue->zero(*buffer);
    place = queue->map(*buffer, false);
    EXPECT_EQ(std::ranges::count(std::span(place, 256), std::byte{0}), 256);
    queue->unmap(*buffer, place);
    queue->finish();
  }
}

TEST_F(EachDevice, SaysWhatIsWrongWithAProgram) {
  for (const auto& device : opened_) {
    const std::string why = core::text_of_error(
        [&] { device->program("__kernel void f() { undeclared_name = 1; }", ""); });
    EXPECT_NE(why.find("undeclared_name"), std::string::npos) << why;
    EXPECT_THROW(device->program(kAdd, "")->kernel("multiply"), DeviceError);
  }
}

TEST_F(EachDevice, SaysThatItHasNotSoMuchMemory) {
  for (const auto& device : opened_) {
    try {
      const std::size_t too_much = device->description().memory_bytes + (std::size_t{1} << 40);
      const auto buffer = device->buffer(too_much);
      ADD_FAILURE() << device->description().name << " has " << too_much << " bytes";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.failure(), Failure::out_of_memory) << error.what();
    }
  }
}

}  // namespace
}  // namespace tabane::device

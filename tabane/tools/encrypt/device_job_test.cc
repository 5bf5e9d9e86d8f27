// Jobs on a coprocessor: the same files as without it, also where it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tabane/core/files_test.h"
#include "tabane/device/module.h"
#include "tabane/tools/encrypt/failing_device_test.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

constexpr Cipher kCiphers[] = {Cipher::aes_256_gcm, Cipher::aes_128_cbc, Cipher::aes_256_cbc};

class OnADevice : public SealsATree {
 protected:
  void SetUp() override {
    if (device::devices().list.empty()) GTEST_SKIP() << device::devices().reason;
    unsigned seed = 1;
    for (const std::size_t bytes :
         {0, 1, 15, 16, 17, 4096, 65535, 65536, 65537, 131072, 300'000, 1'500'000, 3'000'000}) {
      put("f" + std::to_string(bytes), pattern(bytes, seed++));
    }
    for (int i = 0; i < 300; ++i) {
      put("small/" + std::to_string(i), pattern(static_cast<std::size_t>(i) * 7, seed++));
    }
  }

  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((in / name).parent_path());
    core::write_file(in / name, text);
  }

  Request encryption(Cipher cipher, crypto::Engine engine, const std::filesystem::path& to) const {
    Request r = request(Direction::encrypt, in, to);
    r.cipher = cipher;
    r.engine = engine;
    if (cipher != Cipher::aes_256_gcm) r.fixed_iv = crypto::Block{std::byte{3}, std::byte{1}};
    return r;
  }

  static JobReport run(const Request& request, Faults* faults = nullptr) {
    Hooks hooks;
    if (faults != nullptr) {
      hooks.open_device = [faults](std::size_t index) {
        return std::make_unique<FailingDevice>(device::open_device(index), *faults);
      };
    }
    return run_job(request, hooks);
  }

  JobReport encrypted(Cipher cipher, Faults* faults = nullptr) {
    std::filesystem::remove_all(sealed);
    return run(encryption(cipher, crypto::Engine::opencl, sealed), faults);
  }

  // To "opened", or verified, what the CPU has sealed.
  JobReport opened(Direction direction, Faults* faults = nullptr) {
    std::filesystem::remove_all(root / "opened");
    Request r = request(direction, sealed, root / "opened");
    r.engine = crypto::Engine::opencl;
    return run(r, faults);
  }

  // CBC with one initialisation vector gives what another engine gives; what GCM gives is opened.
  void expect_right(Cipher cipher) {
    if (cipher == Cipher::aes_256_gcm) {
      EXPECT_EQ(verified(), Lines{});
      EXPECT_EQ(decrypted(), Lines{});
      EXPECT_EQ(everything(root / "opened"), everything(in));
      return;
    }
    const std::filesystem::path expected = root / "expected";
    std::filesystem::remove_all(expected);
    run_job(encryption(cipher, crypto::Engine::openssl, expected));
    EXPECT_EQ(everything(sealed), everything(expected));
  }
};

TEST_F(OnADevice, FilesAreThoseOfTheOtherEngines) {
  for (const unsigned n : {0u, 1u, 3u}) {
    threads = n;
    for (const Cipher cipher : kCiphers) {
      const JobReport outcome = encrypted(cipher);
      EXPECT_TRUE(outcome.complete);
      EXPECT_EQ(outcome.files, 313u);
      EXPECT_EQ(outcome.failures.size(), 0u);
      EXPECT_EQ(outcome.device_remarks, std::vector<std::string>{});
      EXPECT_EQ(outcome.engine, crypto::Engine::opencl);
      expect_right(cipher);
    }
  }
}

TEST_F(OnADevice, StoredInitialisationVectorsOpen) {
  Request r = encryption(Cipher::aes_256_cbc, crypto::Engine::opencl, sealed);
  r.fixed_iv.reset();
  run_job(r);
  Request back = request(Direction::decrypt, sealed, root / "opened");
  back.cipher = Cipher::aes_256_cbc;
  EXPECT_EQ(run_job(back).failures.size(), 0u);
  for (const char* name : {"f0", "f16", "f65536", "f3000000", "small/299"}) {
    EXPECT_EQ(core::read_file(root / "opened" / name), core::read_file(in / name)) << name;
  }
}

// Whenever it is lost, also between the key and the first data.
TEST_F(OnADevice, TheCpuDoesTheRestOfALostOne) {
  for (const Cipher cipher : kCiphers) {
    for (const int waits : {0, 1, 2, 3, 4, 5, 7, 10}) {
      Faults faults;
      faults.waits_left = waits;
      threads = 2;
      const JobReport outcome = encrypted(cipher, &faults);
      EXPECT_TRUE(outcome.complete);
      EXPECT_EQ(outcome.failures.size(), 0u);
      ASSERT_LE(outcome.device_remarks.size(), 1u);
      if (!outcome.device_remarks.empty()) {
        EXPECT_NE(outcome.device_remarks[0].find("it was unplugged"), std::string::npos);
        EXPECT_NE(outcome.device_remarks[0].find("the CPU has done"), std::string::npos);
      } else {
        EXPECT_GT(waits, 5) << "nobody was told";
      }
      expect_right(cipher);
    }
  }
}

TEST_F(OnADevice, TheCpuDoesWhatTheMemoryOfADeviceHasNoRoomFor) {
  for (const Cipher cipher : kCiphers) {
    for (const int buffers : {0, 1, 2, 3, 4, 5, 6, 7}) {
      Faults faults;
      faults.buffers_left = buffers;
      threads = 2;
      const JobReport outcome = encrypted(cipher, &faults);
      EXPECT_EQ(outcome.failures.size(), 0u);
      ASSERT_EQ(outcome.device_remarks.size(), 1u) << buffers;
      EXPECT_NE(outcome.device_remarks[0].find("its memory is full"), std::string::npos);
      expect_right(cipher);
    }
  }
}

TEST_F(OnADevice, TheCpuDoesAllForOneWithoutACompiler) {
  Faults faults;
  faults.has_compiler = false;
  EXPECT_EQ(encrypted(Cipher::aes_256_gcm, &faults).device_remarks.size(), 1u);
  expect_right(Cipher::aes_256_gcm);
}

TEST_F(OnADevice, MemoryThatHeldAKeyOrAPlainTextIsWiped) {
  for (const Cipher cipher : kCiphers) {
    Faults faults;
    if (cipher == Cipher::aes_256_gcm) {
      faults.secret = from_text(pattern(4096, 6).substr(100, 32));  // of f4096
    } else {
      const Request r = encryption(cipher, crypto::Engine::opencl, sealed);
      faults.secret.assign(r.key.bytes().begin(), r.key.bytes().begin() + 16);
    }
    encrypted(cipher, &faults);
    EXPECT_GT(faults.secrets_seen, 0);
    EXPECT_TRUE(faults.with_secret.empty());
  }
}

TEST_F(OnADevice, MemoryThatHeldAnOpenedTextIsWiped) {
  run(encryption(Cipher::aes_256_gcm, crypto::Engine::openssl, sealed));
  for (const Direction direction : {Direction::decrypt, Direction::verify}) {
    Faults faults;
    faults.secret = from_text(pattern(4096, 6).substr(100, 32));  // of f4096
    EXPECT_EQ(opened(direction, &faults).failures.size(), 0u);
    EXPECT_GT(faults.secrets_seen, 0);
    EXPECT_TRUE(faults.with_secret.empty());
  }
}

TEST_F(OnADevice, NoneIsOpenedForAQuickLook) {
  run(encryption(Cipher::aes_256_gcm, crypto::Engine::openssl, sealed));
  Request r = request(Direction::verify, sealed, "");
  r.engine = crypto::Engine::opencl;
  r.quick = true;
  Hooks hooks;
  hooks.open_device = [](std::size_t) -> std::unique_ptr<device::Device> {
    throw device::DeviceError(device::Failure::lost, "it was asked for");
  };
  const JobReport outcome = run_job(r, hooks);
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.failures.size(), 0u);
  EXPECT_EQ(outcome.device_remarks, std::vector<std::string>{});
}

TEST_F(OnADevice, WhatTheCpuHasSealedIsOpened) {
  run(encryption(Cipher::aes_256_gcm, crypto::Engine::openssl, sealed));
  for (const unsigned n : {0u, 1u, 3u}) {
    threads = n;
    for (const Direction direction : {Direction::decrypt, Direction::verify}) {
      const JobReport outcome = opened(direction);
      EXPECT_TRUE(outcome.complete);
      EXPECT_EQ(outcome.files, 313u);
      EXPECT_EQ(outcome.failures.size(), 0u);
      EXPECT_EQ(outcome.device_remarks, std::vector<std::string>{});
      if (direction == Direction::decrypt) {
        EXPECT_EQ(everything(root / "opened"), everything(in));
      }
    }
  }
}

TEST_F(OnADevice, TheCpuOpensTheRestForALostOne) {
  run(encryption(Cipher::aes_256_gcm, crypto::Engine::openssl, sealed));
  for (const int waits : {0, 1, 2, 3, 4, 5}) {
    Faults faults;
    faults.waits_left = waits;
    threads = 2;
    const JobReport outcome = opened(Direction::decrypt, &faults);
    EXPECT_EQ(outcome.failures.size(), 0u);
    EXPECT_EQ(outcome.device_remarks.size(), 1u) << waits;
    EXPECT_EQ(everything(root / "opened"), everything(in));
  }
}

// The same files, at the same places, whoever finds it.
TEST_F(OnADevice, DamageIsTold) {
  run(encryption(Cipher::aes_256_gcm, crypto::Engine::openssl, sealed));
  for (const char* const name : {"f17", "f65537", "f3000000", "small/299"}) {
    core::flip_bits(sealed / name, std::filesystem::file_size(sealed / name) - 20, 1);
  }
  core::flip_bits(sealed / "f1500000", 700'000, 1);
  std::map<std::string, std::string> expected;
  for (const Failure& failure : run(request(Direction::verify, sealed, "")).failures) {
    expected.emplace(failure.path, failure.what);
  }
  ASSERT_EQ(expected.size(), 5u);
  for (const int waits : {0, std::numeric_limits<int>::max()}) {
    Faults faults;
    faults.waits_left = waits;
    const JobReport outcome = opened(Direction::decrypt, &faults);
    std::map<std::string, std::string> found;
    for (const Failure& failure : outcome.failures) found.emplace(failure.path, failure.what);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(outcome.files, 308u);
    for (const auto& [name, reason] : expected) {
      EXPECT_FALSE(std::filesystem::exists(root / "opened" / name));
    }
  }
}

TEST_F(OnADevice, OnlyWhatItCanDoIsAskedOfIt) {
  for (const Direction direction : {Direction::decrypt, Direction::verify}) {
    Request r = request(direction, sealed, root / "opened");
    r.engine = crypto::Engine::opencl;
    r.cipher = Cipher::aes_128_cbc;
    EXPECT_NE(refusal(r).find("--engine opencl decrypts and verifies only aes-256-gcm"),
              std::string::npos);
  }
  Request stream = encryption(Cipher::aes_256_gcm, crypto::Engine::opencl, sealed);
  stream.in = kStandardStream;
  EXPECT_NE(refusal(stream).find("--engine opencl works on files"), std::string::npos);
}

TEST_F(OnADevice, AnotherOneIsRefusedBeforeAnythingIsWritten) {
  Request r = encryption(Cipher::aes_256_gcm, crypto::Engine::opencl, sealed);
  r.device = "abacus";
  EXPECT_NE(refusal(r).find("there is no OpenCL device abacus, only 0: "), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(sealed));
}

}  // namespace
}  // namespace tabane::encrypt

#include "tabane/studies/aes_folder/aes_folder.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tabane/core/error.h"
#include "tabane/device/module.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

namespace fs = std::filesystem;
using namespace aes_folder;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A directory for studies to work in; what they leave would be seen.
class AesFolder : public ::testing::Test {
 protected:
  AesFolder() {
    std::string name = fs::temp_directory_path() / "tabane-test-XXXXXX";
    place_ = mkdtemp(name.data());
    for (std::size_t i = 0; i < 16; ++i)
      key_.key[i] = std::byte(i), key_.iv[i] = std::byte(100 + i);
  }
  ~AesFolder() override { fs::remove_all(place_); }

  bool place_is_empty() const { return fs::is_empty(place_); }

  fs::path place_;
  FolderKey key_;
};

// By one EVP call, apart from the code under test.
std::string encrypt_by_openssl(const std::string& plain, const FolderKey& key) {
  std::string out(plain.size() + 16, '\0');
  int first = 0, last = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  const auto bytes = [](const auto* p) { return reinterpret_cast<const unsigned char*>(p); };
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), nullptr, bytes(key.key.data()),
                     bytes(key.iv.data()));
  EVP_EncryptUpdate(context, to, &first, bytes(plain.data()), static_cast<int>(plain.size()));
  EVP_EncryptFinal_ex(context, to + first, &last);
  EVP_CIPHER_CTX_free(context);
  out.resize(static_cast<std::size_t>(first + last));
  return out;
}

TEST_F(AesFolder, ReportsProgramGivesTheBytesOfOpenssl) {
  Scratch scratch(place_);
  for (std::size_t size : {0, 1, 15, 16, 17, 4096, 100001}) {
    std::ofstream(scratch.in() + "/" + std::to_string(size), std::ios::binary)
        << std::string(size, static_cast<char>(size % 251));
  }
  for (Schedule schedule : {Schedule::fixed, Schedule::dynamic}) {
    for (unsigned threads : {1u, 2u, 9u}) {
      encrypt_folder(scratch.in(), scratch.out(), key_, threads, schedule);
      for (const auto& entry : fs::directory_iterator(scratch.in()))
        EXPECT_EQ(contents(scratch.out() / entry.path().filename()),
                  encrypt_by_openssl(contents(entry.path()), key_))
            << entry.path();
      scratch.empty_output();
    }
  }
}

TEST_F(AesFolder, ReportsProgramDecryptsItsOutput) {
  Scratch scratch(place_);
  for (std::size_t size : {0, 1, 16, 4097})
    std::ofstream(scratch.in() + "/" + std::to_string(size), std::ios::binary)
        << std::string(size, 'x');
  encrypt_folder(scratch.in(), scratch.sealed(), key_, 1, Schedule::fixed);
  decrypt_folder(scratch.sealed(), scratch.out(), key_, 2);
  EXPECT_EQ(digest_of_directory(scratch.out()), digest_of_directory(scratch.in()));
  std::ofstream(scratch.sealed() + "/other") << "not whole blocks";
  std::ofstream(scratch.sealed() + "/other", std::ios::app) << '.';
  EXPECT_THROW(decrypt_folder(scratch.sealed(), scratch.out(), key_, 2), core::Error);
}

TEST_F(AesFolder, ReportsProgramNamesAFileThatCannotBeRead) {
  Scratch scratch(place_);
  fs::create_symlink("nowhere", scratch.in() + "/lost");
  try {
    encrypt_folder(scratch.in(), scratch.out(), key_, 2, Schedule::fixed);
    ADD_FAILURE() << "no exception";
  } catch (const core::SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("lost"), std::string::npos) << error.what();
  }
}

TEST_F(AesFolder, CopiesAreEqual) {
  Scratch scratch(place_);
  scratch.fill_input(3, 70001);
  copy_folder(scratch.in(), scratch.out(), 2);
  EXPECT_EQ(digest_of_directory(scratch.in()), digest_of_directory(scratch.out()));
}

TEST_F(AesFolder, OutputIsEmptiedOfDirectoriesToo) {
  Scratch scratch(place_);
  fs::create_directory(scratch.out() + "/.tabane");
  std::ofstream(scratch.out() + "/.tabane/keys") << 'x';
  scratch.empty_output();
  EXPECT_TRUE(fs::is_empty(scratch.out()));
}

TEST_F(AesFolder, DigestTellsNamesAndContentsApart) {
  Scratch scratch(place_);
  scratch.fill_input(2, 64);
  const std::string before = digest_of_directory(scratch.in());
  EXPECT_EQ(before.size(), 64u);
  fs::rename(scratch.in() + "/000001", scratch.in() + "/000002");
  const std::string renamed = digest_of_directory(scratch.in());
  EXPECT_NE(before, renamed);
  std::ofstream(scratch.in() + "/000000", std::ios::app) << 'x';
  EXPECT_NE(renamed, digest_of_directory(scratch.in()));
}

TEST_F(AesFolder, ProgramWithoutSomethingWritesTheSameBytesOrNothing) {
  Scratch scratch(place_);
  scratch.fill_input(5, 5000);
  encrypt_folder(scratch.in(), scratch.out(), key_, 2, Schedule::fixed);
  const std::string whole = digest_of_directory(scratch.out());
  KeptBuffers kept(2, 5000, key_);
  for (Without what : {Without::nothing, Without::fresh_buffers}) {
    scratch.empty_output();
    encrypt_folder(scratch.in(), scratch.out(), key_, 2, Schedule::fixed, what, &kept);
    EXPECT_EQ(digest_of_directory(scratch.out()), whole);
  }
  scratch.empty_output();
  for (Without what : {Without::writing, Without::reading, Without::chain, Without::cipher}) {
    encrypt_folder(scratch.in(), scratch.out(), key_, 2, Schedule::fixed, what, &kept);
    EXPECT_TRUE(fs::is_empty(scratch.out()));
  }
}

TEST_F(AesFolder, ScratchTakesAwayItselfAndWhatAKilledStudyLeftButNoRunningOne) {
  const fs::path left = place_ / "tabane-aes-folder-killed";
  fs::create_directories(left / "files");
  {
    Scratch running(place_);
    EXPECT_FALSE(fs::exists(left));
    Scratch second(place_);
    EXPECT_TRUE(fs::exists(running.in()));
  }
  EXPECT_TRUE(place_is_empty());
}

TEST_F(AesFolder, RefusesAPlaceWhereNoFilesCanBeMade) {
  AesFolderOptions options;
  options.directory = place_ / "missing";
  EXPECT_THROW(run_aes_folder(core::Topology::detect(), options), core::UsageError);
  std::swap(options.directory, options.also);
  EXPECT_THROW(run_aes_folder(core::Topology::detect(), options), core::UsageError);
}

TEST_F(AesFolder, RefusesWhatDoesNotFit) {
  AesFolderOptions options;
  options.files = {1'000'000};
  options.sizes = {std::uint64_t{1} << 32};
  options.directory = place_;
  EXPECT_THROW(run_aes_folder(core::Topology::detect(), options), core::UsageError);
  EXPECT_TRUE(place_is_empty());
}

TEST_F(AesFolder, RefusesOptionsThatCannotBe) {
  const auto run = [&](std::vector<std::uint64_t> files, std::vector<unsigned> threads) {
    AesFolderOptions options;
    options.files = std::move(files);
    options.threads = std::move(threads);
    options.directory = place_;
    run_aes_folder(core::Topology::detect(), options);
  };
  EXPECT_THROW(run({0}, {}), core::UsageError);
  EXPECT_THROW(run({2}, {0}), core::UsageError);
}

AesFolderOptions tiny(const fs::path& place) {
  AesFolderOptions options;
  options.files = {2};
  options.sizes = {1024};
  options.threads = {1, 3};
  options.runs = 2;
  options.directory = place;
  return options;
}

TEST_F(AesFolder, MeasuresAllImplementationsAndLeavesNothing) {
  AesFolderOptions options = tiny(place_);
  options.also = place_ / "also";
  fs::create_directory(options.also);
  const Record record = run_aes_folder(core::Topology::detect(), options);
  EXPECT_TRUE(record.complete);
  EXPECT_TRUE(warns(record, "few_runs"));
  EXPECT_TRUE(fs::is_empty(options.also));
  fs::remove(options.also);
  EXPECT_TRUE(place_is_empty());
  const auto find = [&](const std::string& who, const std::string& threads) {
    return record.find("aes_folder." + who + ".files2.bytes1024." + threads);
  };
  const std::string pus = std::to_string(core::Topology::detect().pus().size());
  for (const Implementation& one : implementations()) {
    if (one.on_device) continue;
    if (one.decrypts) {
      EXPECT_NE(find(one.name, "threads" + pus), nullptr) << one.name;
      continue;
    }
    for (const char* threads : {"threads1", "threads3"}) {
      const Result* result = find(one.name, threads);
      ASSERT_NE(result, nullptr) << one.name << threads;
      EXPECT_EQ(result->samples.size(), 2u);
      for (const char* beside : {"order", "cpu_s", "page_faults", "voluntary_switches",
                                 "involuntary_switches", "steal_s", "machine_cpu_wait_s"})
        EXPECT_EQ(result->beside.at(beside).size(), 2u) << beside;
    }
  }
  const Result* chosen = find("tabane_gcm", "automatic");
  ASSERT_NE(chosen, nullptr);
  EXPECT_GE(chosen->beside.at("threads_taken")[0], 1);
  const bool has_device = !device::devices().list.empty();
  EXPECT_EQ(find("tabane_device", "automatic") != nullptr, has_device);
  EXPECT_EQ(record.find("aes_folder.cpu.chains4.chain_bytes1024") != nullptr, has_device);
  for (const char* point : {"main.report_static", "main.copy", "also.report_static", "also.copy"}) {
    const Result* result = find(point, "threads" + pus);
    ASSERT_NE(result, nullptr) << point;
    EXPECT_EQ(result->samples.size(), 2u);
  }
  EXPECT_NE(find("without_writing", "threads" + pus), nullptr);
  EXPECT_EQ(missing_views("aes-folder", record,
                          {{"with --also", true}, {"with a coprocessor", has_device}}),
            Names());
  EXPECT_EQ(find_content<Curves>(record, "aes_folder.ciphers")->series.size(), 4u);
  const auto is_table = [](const View& view) { return std::holds_alternative<Rows>(view.content); };
  EXPECT_EQ(std::count_if(record.views.begin(), record.views.end(), is_table),
            has_device ? 12 : 11);
  EXPECT_NE(record.source.find("Shirase"), std::string::npos);
}

TEST_F(AesFolder, ReturnsToEachFolderInALaterPass) {
  AesFolderOptions options = tiny(place_);
  options.sizes = {1024, 2048};
  std::vector<std::string> visited;
  Hooks hooks;
  hooks.progress = [&](const std::string& what, double, double) {
    if (visited.empty() || visited.back() != what) visited.push_back(what);
  };
  run_aes_folder(core::Topology::detect(), options, hooks);
  EXPECT_EQ(std::count(visited.begin(), visited.end(), "2 x 1 KiB"), 2);
  EXPECT_EQ(std::count(visited.begin(), visited.end(), "2 x 2 KiB"), 2);
}

TEST_F(AesFolder, KeepsWhatIsFinishedWhenABlockFails) {
  AesFolderOptions options = tiny(place_);
  options.sizes = {1024, 2048};
  Hooks hooks;
  hooks.progress = [&](const std::string& what, double, double) {
    if (what != "2 x 2 KiB") return;
    for (const auto& scratch : fs::directory_iterator(place_)) fs::remove_all(scratch);
  };
  const Record record = run_aes_folder(core::Topology::detect(), options, hooks);
  EXPECT_NE(record.find("aes_folder.copy.files2.bytes1024.threads3"), nullptr);
  EXPECT_EQ(record.find("aes_folder.copy.files2.bytes2048.threads3"), nullptr);
  ASSERT_GE(record.skipped.size(), 3u);  // also the causes of both
  EXPECT_EQ(record.skipped[0].name, "2 x 2 KiB");
  EXPECT_NE(record.skipped[0].reason.find("No such file"), std::string::npos)
      << record.skipped[0].reason;
}

TEST_F(AesFolder, SaysSoWhenEverythingFails) {
  Hooks hooks;
  hooks.progress = [&](const std::string&, double, double) {
    for (const auto& scratch : fs::directory_iterator(place_)) fs::remove_all(scratch);
  };
  EXPECT_THROW(run_aes_folder(core::Topology::detect(), tiny(place_), hooks), core::Error);
}

TEST_F(AesFolder, StopsAtOnceAndKeepsWholeRounds) {
  for (const int calls : {0, 1, 20, 60}) {
    Hooks hooks;
    int left = calls;
    hooks.stop_requested = [&left] { return left-- <= 0; };
    AesFolderOptions options = tiny(place_);
    options.runs = 1000;
    const Record record = run_aes_folder(core::Topology::detect(), options, hooks);
    EXPECT_FALSE(record.complete);
    EXPECT_TRUE(place_is_empty());
    std::set<std::size_t> sizes;
    for (const Result& result : record.results)
      if (!result.samples.empty()) sizes.insert(result.samples.size());
    EXPECT_LE(sizes.size(), 1u);
  }
}

TEST_F(AesFolder, ProgressRisesToTheWhole) {
  Hooks hooks;
  std::vector<double> seen;
  hooks.progress = [&](const std::string&, double done, double left) {
    seen.push_back(done);
    EXPECT_GE(left, 0);
  };
  run_aes_folder(core::Topology::detect(), tiny(place_), hooks);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_LE(seen.back(), 1);
}

}  // namespace
}  // namespace tabane::lab

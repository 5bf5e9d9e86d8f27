#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/measurement.h"
#include "tabane/crypto/sha256.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

namespace fs = std::filesystem;
using core::Descriptor;

[[noreturn]] void fail(const char* call, const std::string& path) {
  throw core::SystemError(call, path, errno);
}

unsigned char* as_unsigned(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* as_unsigned(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

std::vector<std::string> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) fail("opendir", directory);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Calls work(thread, name) for all names in parallel. throws: what one of the calls threw.
template <class F>
void for_each_file(const std::vector<std::string>& names, unsigned threads, Schedule schedule,
                   F work) {
  omp_set_dynamic(0);
  omp_set_schedule(schedule == Schedule::fixed ? omp_sched_static : omp_sched_dynamic, 0);
  std::exception_ptr failed;
  std::mutex failed_mutex;
  const auto count = static_cast<std::ptrdiff_t>(names.size());
#pragma omp parallel for schedule(runtime) num_threads(static_cast <int>(threads))
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    try {  // no exception may leave the region
      work(omp_get_thread_num(), names[static_cast<std::size_t>(i)]);
    } catch (...) {
      const std::lock_guard lock(failed_mutex);
      failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

// Memory from malloc, as the report's C program has it.
std::unique_ptr<std::byte, void (*)(void*)> allocate(std::size_t bytes) {
  std::unique_ptr<std::byte, void (*)(void*)> memory(
      static_cast<std::byte*>(std::malloc(std::max<std::size_t>(bytes, 1))), std::free);
  if (!memory) throw std::bad_alloc();
  return memory;
}

Descriptor open_input(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) fail("open", path);
  return file;
}

std::size_t size_of(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail("fstat", path);
  return static_cast<std::size_t>(status.st_size);
}

void read_whole(const Descriptor& file, std::byte* bytes, std::size_t size,
                const std::string& path) {
  if (core::read_all(file.get(), bytes, size, path) != size)
    throw core::Error(path + ": became shorter while it was read");
}

Descriptor create_output(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) fail("open", path);
  return file;
}

// Returns the size with padding. sealed: has room for a block more than `size`.
std::size_t encrypt(const std::byte* plain, std::size_t size, std::byte* sealed,
                    const FolderKey& key) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           EVP_CIPHER_CTX_free);
  if (!context || EVP_EncryptInit_ex(context.get(), EVP_aes_128_cbc(), nullptr,
                                     as_unsigned(key.key.data()), as_unsigned(key.iv.data())) != 1)
    throw core::Error("OpenSSL cannot set up AES-128-CBC");
  // EVP counts in int: larger files go in pieces.
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  std::size_t done = 0;
  int written = 0;
  for (std::size_t at = 0; at < size; at += kPiece) {
    const int piece = static_cast<int>(std::min(kPiece, size - at));
    if (EVP_EncryptUpdate(context.get(), as_unsigned(sealed + done), &written,
                          as_unsigned(plain + at), piece) != 1)
      throw core::Error("OpenSSL cannot encrypt");
    done += static_cast<std::size_t>(written);
  }
  if (EVP_EncryptFinal_ex(context.get(), as_unsigned(sealed + done), &written) != 1)
    throw core::Error("OpenSSL cannot encrypt");
  return done + static_cast<std::size_t>(written);
}

void encrypt_file(const std::string& in, const std::string& out, const FolderKey& key) {
  Descriptor input = open_input(in);
  const std::size_t size = size_of(input, in);
  const auto plain = allocate(size);
  read_whole(input, plain.get(), size, in);
  input.reset();
  const auto sealed = allocate(size + crypto::kBlockBytes);
  const std::size_t sealed_size = encrypt(plain.get(), size, sealed.get(), key);
  core::write_all(create_output(out).get(), sealed.get(), sealed_size, out);
}

void copy_file(const std::string& in, const std::string& out) {
  const Descriptor input = open_input(in);
  std::size_t left = size_of(input, in);
  const Descriptor output = create_output(out);
  while (left > 0) {
    const ssize_t moved = copy_file_range(input.get(), nullptr, output.get(), nullptr, left, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) break;
    left -= static_cast<std::size_t>(moved);
  }
  constexpr std::size_t kPiece = 128 * 1024;
  std::vector<std::byte> piece(std::min(left, kPiece));
  for (; left > 0; left -= std::min(left, kPiece)) {
    read_whole(input, piece.data(), std::min(left, kPiece), in);
    core::write_all(output.get(), piece.data(), std::min(left, kPiece), out);
  }
}

// Cuts the bytes into as many chains as the cipher takes at the cost of one.
void encrypt_as_chains(KeptBuffers::PerThread& mine, std::size_t size) {
  using crypto::Block;
  using crypto::ChainPiece;
  using crypto::kBlockBytes;
  const std::size_t blocks = size / kBlockBytes + 1;
  const std::size_t chains = std::min(mine.cipher->lanes(), blocks);
  std::vector<Block> ivs(chains);
  std::vector<ChainPiece> pieces;
  std::size_t from = 0;
  for (std::size_t i = 0; i < chains; ++i) {
    const std::size_t to = blocks * (i + 1) / chains;
    pieces.push_back({mine.plain.data() + from * kBlockBytes,
                      mine.sealed.data() + from * kBlockBytes, (to - from) * kBlockBytes, &ivs[i]});
    from = to;
  }
  mine.cipher->encrypt(pieces);
}

void encrypt_file_without(Without what, const std::string& in, const std::string& out,
                          const FolderKey& key, std::size_t size, KeptBuffers::PerThread& mine) {
  if (what < Without::reading) {
    Descriptor input = open_input(in);
    size = size_of(input, in);
    TABANE_ASSERT(size + crypto::kBlockBytes <= mine.plain.size());
    read_whole(input, mine.plain.data(), size, in);
  }
  std::size_t sealed_size = 0;
  if (what < Without::chain) {
    sealed_size = encrypt(mine.plain.data(), size, mine.sealed.data(), key);
  } else if (what == Without::chain) {
    encrypt_as_chains(mine, size);
  }
  if (what < Without::writing)
    core::write_all(create_output(out).get(), mine.sealed.data(), sealed_size, out);
  core::keep(mine.sealed.data());
}

}  // namespace

void encrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads, Schedule schedule) {
  for_each_file(names_in(in), threads, schedule, [&](int, const std::string& name) {
    encrypt_file(in + "/" + name, out + "/" + name, key);
  });
}

void copy_folder(const std::string& in, const std::string& out, unsigned threads) {
  for_each_file(names_in(in), threads, Schedule::dynamic, [&](int, const std::string& name) {
    copy_file(in + "/" + name, out + "/" + name);
  });
}

KeptBuffers::KeptBuffers(unsigned threads, std::size_t largest, const FolderKey& key)
    : threads_(threads) {
  // Some processors copy several times slower out of a file's page into memory that begins a few
  // bytes behind a page boundary, which is where malloc's large blocks begin.
  constexpr std::size_t kPlainOffset = 512, kSealedOffset = 2048, kPage = 4096;
  const std::size_t room = (largest + crypto::kBlockBytes + kPage - 1) / kPage * kPage;
  for (PerThread& thread : threads_) {
    thread.memory.assign(2 * room + 2 * kPage, std::byte{1});
    const auto start = reinterpret_cast<std::uintptr_t>(thread.memory.data());
    std::byte* page = thread.memory.data() + (kPage - start % kPage) % kPage;
    thread.plain = {page + kPlainOffset, largest + crypto::kBlockBytes};
    thread.sealed = {page + room + kSealedOffset, largest + crypto::kBlockBytes};
    thread.cipher = std::make_unique<crypto::CbcCipher>(key.key);
  }
}

KeptBuffers::~KeptBuffers() = default;

void encrypt_folder_without(Without what, const std::string& in, const std::string& out,
                            const FolderKey& key, unsigned threads, KeptBuffers& kept) {
  if (what == Without::nothing) return encrypt_folder(in, out, key, threads, Schedule::fixed);
  const auto names = names_in(in);
  // Without reading, every file is as large as the buffers were made for.
  for_each_file(names, threads, Schedule::fixed, [&](int thread, const std::string& name) {
    KeptBuffers::PerThread& mine = kept.of(thread);
    encrypt_file_without(what, in + "/" + name, out + "/" + name, key,
                         mine.plain.size() - crypto::kBlockBytes, mine);
  });
}

void start_afresh() {
  omp_pause_resource_all(omp_pause_soft);
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

bool set_allocator(LargeBlocks how, std::size_t largest) {
#if defined(__GLIBC__)
  // A block above M_MMAP_THRESHOLD (at first 128 KiB) is mapped by itself. Freeing it raises this
  // threshold to the size mapped and M_TRIM_THRESHOLD, above which free memory at a heap's end goes
  // back to the system, to twice that; both only up to 32 MiB.
  constexpr std::size_t kFirst = 128 * 1024, kMost = 32 * 1024 * 1024, kPage = 4096;
  const std::size_t mapped = (largest + 2 * sizeof(std::size_t) + kPage - 1) / kPage * kPage;
  const bool adjusts = mapped > kFirst && mapped <= kMost;
  const std::size_t map_above = how == LargeBlocks::kept ? kMost : adjusts ? mapped : kFirst;
  const std::size_t trim_above = how == LargeBlocks::kept ? INT_MAX : (adjusts ? 2 : 1) * map_above;
  return mallopt(M_MMAP_THRESHOLD, static_cast<int>(map_above)) == 1 &&
         mallopt(M_TRIM_THRESHOLD, static_cast<int>(trim_above)) == 1;
#else
  static_cast<void>(how), static_cast<void>(largest);
  return false;
#endif
}

namespace {

constexpr const char* kMemoryDirectory = "/dev/shm";

bool writable(const std::string& directory) {
  std::error_code ignored;
  return fs::is_directory(directory, ignored) && access(directory.c_str(), W_OK | X_OK) == 0;
}

FileLocation describe(const std::string& directory) {
  return {.directory = directory,
          .in_memory = core::is_in_memory(directory),
          .free_bytes = core::writable_bytes(directory)};
}

void make_directory(const std::string& path) {
  std::error_code failed;
  fs::create_directory(path, failed);
  if (failed) throw core::SystemError("mkdir", path, failed.value());
}

void empty(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& name : names_in(directory))
    fs::remove_all(directory + "/" + name, ignored);
}

}  // namespace

FileLocation find_location(const std::string& wanted) {
  if (!wanted.empty()) {
    if (!writable(wanted))
      throw core::UsageError(
          fmt::format("--dir {}: not a directory in which files can be made", wanted));
    FileLocation location = describe(wanted);
    location.wanted = true;
    return location;
  }
  if (writable(kMemoryDirectory)) {
    FileLocation location = describe(kMemoryDirectory);
    if (location.in_memory) return location;
  }
  std::error_code ignored;
  return describe(fs::temp_directory_path(ignored).string());
}

Scratch::Scratch(const std::string& place) : folder_("tabane-aes-folder", place) {
  make_directory(in());
  make_directory(out());
}

void Scratch::fill_input(std::uint64_t files, std::uint64_t bytes) {
  empty(in());
  empty_output();
  std::mt19937_64 random(files * 31 + bytes);
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::generate(words.begin(), words.end(), std::ref(random));
  for (std::uint64_t i = 0; i < files; ++i) {
    if (!words.empty()) words[0] = random();  // no two files are the same
    core::write_file(fmt::format("{}/{:06}", in(), i),
                     {reinterpret_cast<const char*>(words.data()), bytes});
  }
}

void Scratch::empty_output() { empty(out()); }

std::string digest_of_directory(const std::string& directory) {
  std::vector<std::string> names = names_in(directory);
  std::ranges::sort(names);
  crypto::Sha256Stream digest;
  for (const std::string& name : names) {
    digest.put(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
    const std::string contents = core::read_file(directory + "/" + name);
    digest.put(std::as_bytes(std::span(contents)));
  }
  return crypto::hexadecimal(digest.finish());
}

}  // namespace tabane::lab::aes_folder

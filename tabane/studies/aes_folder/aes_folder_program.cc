// The report's program and plain copying, and the files that they work on.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/measurement.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/sha256.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

namespace fs = std::filesystem;
using core::Descriptor;
using crypto::kBlockBytes;

std::vector<std::string> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) throw core::SystemError("opendir", directory, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Calls work(thread, name) for all files in parallel. throws: what one of the calls threw.
void for_each_file(const std::string& directory, unsigned threads, Schedule schedule, auto work) {
  const std::vector<std::string> names = names_in(directory);
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

Descriptor open_file(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!file.valid()) throw core::SystemError("open", path, errno);
  return file;
}
Descriptor open_input(const std::string& path) { return open_file(path, O_RDONLY); }
Descriptor create_output(const std::string& path) {
  return open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
}

std::size_t size_of(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) throw core::SystemError("fstat", path, errno);
  return static_cast<std::size_t>(status.st_size);
}

void read_whole(const Descriptor& file, std::byte* bytes, std::size_t size,
                const std::string& path) {
  if (core::read_all(file.get(), bytes, size, path) != size)
    throw core::Error(path + ": became shorter while it was read");
}

enum class CipherDirection { decrypt, encrypt };  // as OpenSSL counts them

// Returns the size with padding, or without. out: has room for a block more than `in`.
std::size_t apply_cipher(CipherDirection direction, std::span<const std::byte> in, std::byte* out,
                         const FolderKey& key) {
  const crypto::CipherContext context(EVP_CIPHER_CTX_new());
  bool done =
      context && EVP_CipherInit_ex(context.get(), EVP_aes_128_cbc(), nullptr, crypto::in(key.key),
                                   crypto::in(key.iv), static_cast<int>(direction)) == 1;
  // EVP counts in int: larger files go in pieces.
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  unsigned char* const begin = reinterpret_cast<unsigned char*>(out);
  unsigned char* to = begin;
  int written = 0;
  for (; done && !in.empty(); in = in.subspan(std::min(kPiece, in.size())), to += written) {
    const int piece = static_cast<int>(std::min(kPiece, in.size()));
    done = EVP_CipherUpdate(context.get(), to, &written, crypto::in(in), piece) == 1;
  }
  crypto::require(done && EVP_CipherFinal_ex(context.get(), to, &written) == 1, "AES-128-CBC");
  return static_cast<std::size_t>(to - begin + written);
}

void convert_file(CipherDirection direction, const std::string& in, const std::string& out,
                  const FolderKey& key) {
  Descriptor input = open_input(in);
  const std::size_t size = size_of(input, in);
  // From malloc, as the report's C program has it, and not touched.
  const auto before = std::make_unique_for_overwrite<std::byte[]>(size);
  read_whole(input, before.get(), size, in);
  input.reset();
  const auto after = std::make_unique_for_overwrite<std::byte[]>(size + kBlockBytes);
  const std::size_t new_size = apply_cipher(direction, {before.get(), size}, after.get(), key);
  core::write_all(create_output(out).get(), after.get(), new_size, out);
}

// Cuts the bytes into as many chains as the cipher takes at the cost of one.
void encrypt_as_chains(KeptBuffers::OfThread& mine, std::size_t size) {
  const std::size_t blocks = size / kBlockBytes + 1;
  const std::size_t chains = std::min(mine.cipher.lanes(), blocks);
  std::vector<crypto::Block> ivs(chains);
  std::vector<crypto::ChainPiece> pieces;
  std::size_t from = 0;
  for (std::size_t i = 0; i < chains; ++i) {
    const std::size_t to = blocks * (i + 1) / chains * kBlockBytes;
    pieces.push_back({mine.plain.data() + from, mine.sealed.data() + from, to - from, &ivs[i]});
    from = to;
  }
  mine.cipher.encrypt(pieces);
}

void encrypt_file_without(Without what, const std::string& in, const std::string& out,
                          const FolderKey& key, std::size_t size, KeptBuffers::OfThread& mine) {
  if (what < Without::reading) {
    const Descriptor input = open_input(in);
    TABANE_ASSERT(size_of(input, in) <= size);
    size = size_of(input, in);
    read_whole(input, mine.plain.data(), size, in);
  }
  std::size_t sealed_size = 0;
  if (what < Without::chain) {
    sealed_size =
        apply_cipher(CipherDirection::encrypt, {mine.plain.data(), size}, mine.sealed.data(), key);
  } else if (what == Without::chain) {
    encrypt_as_chains(mine, size);
  }
  if (what < Without::writing)
    core::write_all(create_output(out).get(), mine.sealed.data(), sealed_size, out);
  core::keep(mine.sealed.data());
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
  std::vector<std::byte> piece(std::min<std::size_t>(left, 128 * 1024));
  for (; left > 0; left -= piece.size()) {
    piece.resize(std::min(left, piece.size()));
    read_whole(input, piece.data(), piece.size(), in);
    core::write_all(output.get(), piece.data(), piece.size(), out);
  }
}

}  // namespace

KeptBuffers::KeptBuffers(unsigned threads_kept, std::size_t most, const FolderKey& key)
    : largest(most) {
  while (threads.size() < threads_kept) {
    OfThread& one = threads.emplace_back(key);
    for (crypto::PageBuffer* buffer : {&one.plain, &one.sealed}) {
      buffer->reserve(largest + kBlockBytes);
      std::memset(buffer->data(), 1, largest + kBlockBytes);
    }
  }
}

void encrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads, Schedule schedule, Without without, KeptBuffers* kept) {
  for_each_file(in, threads, schedule, [&](int thread, const std::string& name) {
    const std::string from = in + "/" + name, to = out + "/" + name;
    if (without == Without::nothing) return convert_file(CipherDirection::encrypt, from, to, key);
    encrypt_file_without(without, from, to, key, kept->largest,
                         kept->threads[static_cast<std::size_t>(thread)]);
  });
}

void decrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads) {
  for_each_file(in, threads, Schedule::fixed, [&](int, const std::string& name) {
    convert_file(CipherDirection::decrypt, in + "/" + name, out + "/" + name, key);
  });
}

void copy_folder(const std::string& in, const std::string& out, unsigned threads) {
  for_each_file(in, threads, Schedule::dynamic, [&](int, const std::string& name) {
    copy_file(in + "/" + name, out + "/" + name);
  });
}

// ---- files ----

namespace {

void empty(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& name : names_in(directory))
    fs::remove_all(directory + "/" + name, ignored);
}

}  // namespace

Scratch::Scratch(const std::string& place) : folder_("tabane-aes-folder", place) {
  for (const std::string& path : {in(), out(), sealed(), sealed_by_gcm()}) {
    std::error_code failed;
    fs::create_directory(path, failed);
    if (failed) throw core::SystemError("mkdir", path, failed.value());
  }
}

void Scratch::fill_input(std::uint64_t files, std::uint64_t bytes) {
  for (const std::string& path : {in(), sealed(), sealed_by_gcm()}) empty(path);
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

// The report's program that encrypts a directory, written anew, and versions of it from which one
// thing after the other is taken away, so that the differences tell what each of them costs.
//
// AES-128-CBC with PKCS#7 padding through OpenSSL's EVP calls; a whole file in one allocation and
// its cipher text in another; OpenMP over the files; the same key and initial vector for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tabane/crypto/cbc_cipher.h"

namespace tabane::lab::aes_folder {

struct FolderKey {
  std::array<std::byte, 16> key{}, iv{};
};

enum class Schedule { fixed, dynamic };  // OpenMP's static and dynamic

// Encrypts every regular file of directory `in` to a file of the same name in directory `out`.
// throws: core::SystemError naming a file that failed; core::Error if OpenSSL or OpenMP fails.
void encrypt_folder(const std::string& in, const std::string& out, const FolderKey& key,
                    unsigned threads, Schedule schedule);

// Copies every regular file as cp does: inside the kernel where it can, else by reading and
// writing. throws: as encrypt_folder().
void copy_folder(const std::string& in, const std::string& out, unsigned threads);

// What is left out of the program; each value leaves out everything before it too.
enum class Without {
  nothing,
  fresh_buffers,  // the threads keep buffers that were touched before
  writing,        // no output files
  reading,        // no input files either
  chain,          // the same bytes as several independent chains, which share the AES pipelines
  cipher,         // threads that start, share out the files and end
};

// Buffers and ciphers that the threads keep.
class Kept {
 public:
  // Allocates and touches two buffers a thread. largest: of the files, bytes.
  Kept(unsigned threads, std::size_t largest, const FolderKey& key);
  ~Kept();
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  struct PerThread {
    std::vector<std::byte> memory;
    std::span<std::byte> plain, sealed;
    std::unique_ptr<crypto::CbcCipher> cipher;
  };
  PerThread& of(int thread) { return threads_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<PerThread> threads_;
};

// Does encrypt_folder() with static scheduling and without something. kept: for at least `threads`
// threads and the largest file. throws: as encrypt_folder().
void encrypt_folder_without(Without what, const std::string& in, const std::string& out,
                            const FolderKey& key, unsigned threads, Kept& kept);

// Ends the threads that OpenMP keeps and gives back the memory that the allocator keeps, so that
// the next run starts as a program does.
void start_afresh();

// How the allocator deals with large blocks.
enum class LargeBlocks {
  as_it_adjusts,  // as glibc sets itself once a block of that size was freed
  kept,           // neither mapped one by one nor given back
};
// Returns false where the allocator cannot be told. largest: bytes of the largest block.
bool set_allocator(LargeBlocks how, std::size_t largest);

}  // namespace tabane::lab::aes_folder

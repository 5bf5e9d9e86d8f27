// tabane's chains on the device beside those by hashcat's AES, which Debian's hashcat-data brings
// as source: a loop around its function for one block.
#include "tabane/device/bench_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "bench/peer_version.h"
#include "tabane/core/error.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/device/module.h"

namespace tabane::bench {
namespace {

constexpr std::size_t kChains = 4096, kChainBytes = std::size_t{64} << 10;
constexpr const char* kHashcat = "/usr/share/hashcat/OpenCL";

constexpr const char* kHashcatChains = R"(
#define M2S(x) <x>
#include M2S(INCLUDE_PATH/inc_vendor.h)
#include M2S(INCLUDE_PATH/inc_types.h)
#include M2S(INCLUDE_PATH/inc_platform.cl)
#include M2S(INCLUDE_PATH/inc_common.cl)
#include M2S(INCLUDE_PATH/inc_cipher_aes.cl)

typedef struct { u32 words[4]; } key_words;

KERNEL_FQ void hashcat_chains(GLOBAL_AS u32* data, u32 blocks, key_words key) {
#ifdef REAL_SHM
  LOCAL_VK u32 s_te0[256], s_te1[256], s_te2[256], s_te3[256], s_te4[256];
  for (u32 i = get_local_id(0); i < 256; i += get_local_size(0)) {
    s_te0[i] = te0[i];
    s_te1[i] = te1[i];
    s_te2[i] = te2[i];
    s_te3[i] = te3[i];
    s_te4[i] = te4[i];
  }
  SYNC_THREADS();
#else
  CONSTANT_AS u32a *s_te0 = te0, *s_te1 = te1, *s_te2 = te2, *s_te3 = te3, *s_te4 = te4;
#endif
  u32 keys[44];
  aes128_set_encrypt_key(keys, key.words, s_te0, s_te1, s_te2, s_te3);
  GLOBAL_AS u32* at = data + (ulong)get_global_id(0) * blocks * 4;
  u32 cipher[4] = {0, 0, 0, 0};
  for (u32 i = 0; i < blocks; ++i, at += 4) {
    u32 mixed[4] = {at[0] ^ cipher[0], at[1] ^ cipher[1], at[2] ^ cipher[2], at[3] ^ cipher[3]};
    aes128_encrypt(keys, mixed, cipher, s_te0, s_te1, s_te2, s_te3, s_te4);
    at[0] = cipher[0];
    at[1] = cipher[1];
    at[2] = cipher[2];
    at[3] = cipher[3];
  }
}
)";

struct KeyWords {
  std::uint32_t words[4];
};
constexpr KeyWords kKey{{0x16157e2b, 0xa6d2ae28, 0x8815f7ab, 0x3c4fcf09}};

// What hashcat gives its kernels on such a device.
std::string hashcat_options(const device::Description& about) {
  const bool nvidia = about.vendor.find("NVIDIA") != std::string::npos;
  const int vendor = about.kind == device::Kind::cpu ? 64 : nvidia ? 32 : 1;
  std::string options = fmt::format(
      "-I {0} -DKERNEL_STATIC -DINCLUDE_PATH={0} -DVECT_SIZE=1 -DHAS_VPERM=0 -DDGST_ELEM=4 "
      "-DDEVICE_TYPE={1} -DVENDOR_ID={2} -w",
      kHashcat, about.kind == device::Kind::cpu ? 2 : 4, vendor);
  for (int i = 0; i < 4; ++i) options += fmt::format(" -DDGST_POS{0}={0} -DDGST_R{0}={0}", i);
  return options;
}

class Kernels {
 public:
  Kernels() : aes_(device::open_device(device::choose_device(device::devices(), "")), 1) {
    device::Device& device = aes_.device();
    data_ = device.buffer(kChains * kChainBytes);
    places_ = device.buffer(kChains * 2 * sizeof(std::uint32_t));
    ivs_ = device.buffer(kChains * sizeof(crypto::Block));
    keys_ = device.buffer(sizeof(crypto::RoundKeys::words));
    queue_ = device.queue();
    std::vector<std::uint32_t> places;
    for (std::size_t i = 0; i < kChains; ++i) {
      places.push_back(static_cast<std::uint32_t>(i * kChainBytes / crypto::kBlockBytes));
      places.push_back(kChainBytes / crypto::kBlockBytes);
    }
    const crypto::RoundKeys keys = crypto::expand_key(std::as_bytes(std::span(&kKey, 1)));
    queue_->write(*places_, 0, std::as_bytes(std::span(places)));
    queue_->write(*keys_, 0, std::as_bytes(std::span(keys.words)));
    start_again();
    ours_ = aes_.program(10).kernel("encrypt_chains");
    ours_->set(0, *data_);
    ours_->set(1, *places_);
    ours_->set(2, *ivs_);
    ours_->set(3, *keys_);
    ours_->set(4, aes_.tables());
    ours_->set_value(5, static_cast<std::uint32_t>(kChains));
  }

  // throws: device::DeviceError.
  void build_hashcat() {
    program_ = aes_.device().program(kHashcatChains, hashcat_options(about()));
    hashcat_ = program_->kernel("hashcat_chains");
    hashcat_->set(0, *data_);
    hashcat_->set_value(1, static_cast<std::uint32_t>(kChainBytes / crypto::kBlockBytes));
    hashcat_->set_value(2, kKey);
  }

  const device::Description& about() { return aes_.device().description(); }
  void ours() {
    queue_->launch(*ours_, kChains, aes_.variant().group);
    queue_->finish();
  }
  void hashcat(std::size_t group) {
    queue_->launch(*hashcat_, kChains, group);
    queue_->finish();
  }

  // The first and the last chain of zeros, encrypted.
  std::vector<std::byte> after(const std::function<void()>& work) {
    start_again();
    work();
    std::vector<std::byte> found(2 * kChainBytes);
    queue_->read(*data_, 0, std::span(found).first(kChainBytes));
    queue_->read(*data_, (kChains - 1) * kChainBytes, std::span(found).last(kChainBytes));
    queue_->finish();
    return found;
  }

 private:
  void start_again() {
    queue_->zero(*data_);
    queue_->zero(*ivs_);
    queue_->finish();
  }

  crypto::DeviceAes aes_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> data_, places_, ivs_, keys_;
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Kernel> ours_, hashcat_;
};

Entrant hashcat_entrant(Kernels& kernels, std::size_t group, double bytes) {
  return {.name = fmt::format("hashcat's AES, groups of {}", group),
          .work = core::repeat([&kernels, group] { kernels.hashcat(group); }),
          .amount = bytes,
          .how = "inc_cipher_aes.cl; hashcat-data " +
                 version_said_by("dpkg-query -W -f '${Version}' hashcat-data")};
}

void add_hashcat(Question& question, Kernels& kernels, double bytes) {
  kernels.build_hashcat();
  if (kernels.after([&] { kernels.ours(); }) != kernels.after([&] { kernels.hashcat(64); }))
    throw core::Error("hashcat's AES and tabane's do not give the same bytes");
  const bool cpu = kernels.about().kind == device::Kind::cpu;
  for (const std::size_t group :
       cpu ? std::vector<std::size_t>{1, 16, 64} : std::vector<std::size_t>{32, 64, 256})
    question.peers.push_back(hashcat_entrant(kernels, group, bytes));
}

}  // namespace

void ask_device_kernels(Panel& panel) {
  const std::string name = "AES-128-CBC on the device, 4096 chains of 64 KiB, no transfers";
  if (!panel.wants(name)) return;
  Kernels kernels;
  const double bytes = static_cast<double>(kChains * kChainBytes);
  Question question{name,
                    "B/s",
                    {.name = "tabane",
                     .work = core::repeat([&] { kernels.ours(); }),
                     .amount = bytes,
                     .how = device::text_of(kernels.about())},
                    {}};
  if (!std::filesystem::exists(kHashcat)) {
    question.peers = {{.name = "hashcat's AES", .missing = "hashcat-data is not installed"}};
  } else {
    try {
      add_hashcat(question, kernels, bytes);
    } catch (const core::Error& error) {
      question.peers = {{.name = "hashcat's AES", .missing = error.what()}};
    }
  }
  question.measure = long_runs(panel.settings(), 15, 60);
  panel.ask(question);
}

}  // namespace tabane::bench

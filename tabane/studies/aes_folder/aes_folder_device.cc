// Measuring the coprocessor beside the CPU.
#include "tabane/studies/aes_folder/aes_folder_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tabane/core/error.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/core/units.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/crypto/secret.h"
#include "tabane/device/module.h"

namespace tabane::lab::aes_folder {
namespace {

using crypto::Block;
using crypto::ChainPiece;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;

std::vector<Chains> plan(std::vector<std::uint64_t> lengths, std::uint64_t most_bytes) {
  constexpr std::uint64_t kBlock = crypto::kBlockBytes;
  if (lengths.empty()) lengths = {4 * kKi, 64 * kKi, kMi};
  std::vector<Chains> works = {{1, kBlock}};
  for (const std::uint64_t length : lengths) {
    const std::uint64_t bytes = (length + kBlock - 1) / kBlock * kBlock;
    if (bytes <= kBlock) continue;
    for (std::uint64_t count = 1; count <= 4096 && count * bytes <= most_bytes; count *= 4) {
      works.push_back({count, bytes});
    }
  }
  return works;
}

}  // namespace

std::string Chains::label() const {
  return fmt::format("{} x {}", count, core::format_bytes(bytes));
}

Factors Chains::point(const char* who) const {
  return {{"chains_by", who}, {"chains", count}, {"chain_bytes", bytes}};
}

struct DeviceBench::State {
  std::vector<Chains> works;
  std::string about;
  bool is_cpu = false;
  std::unique_ptr<crypto::DeviceAes> aes;
  std::unique_ptr<crypto::DeviceSlot> slot;
  core::PinnedPool pool;
  std::vector<std::unique_ptr<crypto::CbcCipher>> ciphers;  // one of each thread
  Block iv{};
  std::vector<Block> ivs;
  std::vector<ChainPiece> pieces;

  explicit State(const std::vector<unsigned>& pus) : pool(pus) {}

  // Where the chains stand, with their initialisation vectors as at the start.
  std::span<const ChainPiece> place(const Chains& chains) {
    pieces.clear();
    ivs.assign(chains.count, iv);
    for (std::size_t i = 0; i < chains.count; ++i) {
      const std::size_t at = i * chains.bytes;
      pieces.push_back({slot->in().data() + at, slot->out().data() + at, chains.bytes, &ivs[i]});
    }
    return pieces;
  }

  void run_cpu(std::span<const ChainPiece> all) {
    const std::size_t threads = pool.size();
    pool.run([&](std::size_t i) {
      const std::size_t begin = all.size() * i / threads, end = all.size() * (i + 1) / threads;
      ciphers[i]->encrypt(all.subspan(begin, end - begin));
    });
  }
};

DeviceBench::DeviceBench(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBench::~DeviceBench() = default;

std::unique_ptr<DeviceBench> DeviceBench::open(const FolderKey& key,
                                               const std::vector<unsigned>& pus,
                                               const std::vector<std::uint64_t>& lengths,
                                               bool quick, std::string& why) {
  const device::Devices& all = device::devices();
  if (all.list.empty()) {
    why = all.reason;
    return nullptr;
  }
  try {
    const std::size_t index = device::choose_device(all, "");
    auto state = std::make_unique<State>(pus);
    state->about = device::text_of(all.list[index]);
    state->is_cpu = all.list[index].kind == device::Kind::cpu;
    const std::uint64_t most = (state->is_cpu ? 64 : 256) * kMi / (quick ? 4 : 1);
    state->works = plan(lengths, most);
    state->aes = std::make_unique<crypto::DeviceAes>(device::open_device(index), 1);
    state->slot = std::make_unique<crypto::DeviceSlot>(*state->aes, most);
    state->slot->set_key(key.key);
    std::ranges::copy(key.iv, state->iv.begin());
    crypto::fill_random(state->slot->in());
    for (std::size_t i = 0; i < state->pool.size(); ++i)
      state->ciphers.push_back(std::make_unique<crypto::CbcCipher>(key.key));
    return std::unique_ptr<DeviceBench>(new DeviceBench(std::move(state)));
  } catch (const core::Error& error) {
    why = error.what();
    return nullptr;
  }
}

const std::string& DeviceBench::about() const { return state_->about; }
bool DeviceBench::is_cpu() const { return state_->is_cpu; }
const std::vector<Chains>& DeviceBench::works() const { return state_->works; }

std::vector<Contender> DeviceBench::contenders(const Chains& chains) {
  State* const state = state_.get();
  const auto by_device = [state, chains] {
    const auto steps = state->slot->encrypt_step_by_step(state->place(chains));
    return Sample{.seconds = steps.to_device_s + steps.kernel_s + steps.from_device_s,
                  .beside = {{kToDevice, steps.to_device_s},
                             {kKernel, steps.kernel_s},
                             {kFromDevice, steps.from_device_s}}};
  };
  const auto by_cpu = [state, chains] {
    const auto pieces = state->place(chains);
    const auto begin = Clock::now();
    state->run_cpu(pieces);
    return Sample{.seconds = std::chrono::duration<double>(Clock::now() - begin).count()};
  };
  return {{chains.point("device"), by_device}, {chains.point("cpu"), by_cpu}};
}

void DeviceBench::check(const Chains& chains) {
  const auto out = state_->slot->out().first(chains.count * chains.bytes);
  state_->slot->encrypt_step_by_step(state_->place(chains));
  const std::vector<std::byte> by_device(out.begin(), out.end());
  std::ranges::fill(out, std::byte{0});
  state_->run_cpu(state_->place(chains));
  if (!std::ranges::equal(by_device, out))
    throw core::VerificationError(chains.label() + ": the coprocessor's cipher text", 1, 0);
}

}  // namespace tabane::lab::aes_folder

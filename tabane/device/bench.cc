// Coprocessors: their figures against clpeak's, AES on them against the fastest AES in OpenCL that
// is packaged (hashcat's), and whole commands against the CPU.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/topology.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/device/module.h"
#include "tabane/simd/elementwise.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {
namespace {

constexpr std::size_t kChains = 4096, kChainBytes = std::size_t{64} << 10;
constexpr const char* kHashcat = "/usr/share/hashcat/OpenCL";

constexpr const char* kHashcatChains =
#include "tabane/device/bench_hashcat.cl"
    ;

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

Contender hashcat_contender(Kernels& kernels, std::size_t group, double bytes) {
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
    question.peers.push_back(hashcat_contender(kernels, group, bytes));
}

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

// ---- against clpeak ----

// A figure that both have. clpeak's: the highest of the lines below a heading that begin with
// `line`, in units of 10^9; and where another step belongs to the same way, the bandwidth of both
// one after the other.
struct Figure {
  const char* name;  // of ours, below device.0
  const char* heading;
  const char* line;
  const char* other_line = nullptr;
  bool computes = false;
};

// Ours gives a transfer to the queue and waits for its end, which clpeak calls non-blocking. Ours
// counts the mapping of memory, where some devices transfer it, and clpeak tells it apart.
constexpr Figure kFigures[] = {
    {"memory.read", "Global memory bandwidth", ""},
    {"transfer.to_device.pageable", "Transfer bandwidth", "enqueueWriteBuffer non-blocking"},
    {"transfer.from_device.pageable", "Transfer bandwidth", "enqueueReadBuffer non-blocking"},
    {"transfer.to_device.mapped", "Transfer bandwidth", "memcpy to mapped", "enqueueUnmap"},
    {"transfer.from_device.mapped", "Transfer bandwidth", "memcpy from mapped", "enqueueMapBuffer"},
    {"peak.fma.single", "Single-precision compute", "", nullptr, true},
    {"peak.fma.double", "Double-precision compute", "", nullptr, true},
    {"peak.integer", "Integer compute (", "", nullptr, true}};

// Only what is compared: the rest takes as long again.
constexpr const char* kClpeakMoves = "clpeak -p 0 -d 0 --global-bandwidth --transfer-bandwidth";
constexpr const char* kClpeakComputes = " --compute-sp --compute-dp --compute-integer";

// Lines "    float16 : 21.04" below the first heading of that text; 0: there is none.
double highest_line(const std::string& output, const char* heading, const char* wanted) {
  double best = 0;
  bool inside = false;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.rfind(" : "), text = line.find_first_not_of(' ');
    if (colon == std::string::npos) {
      if (line.find(heading) != std::string::npos)
        inside = true;
      else if (text != std::string::npos)
        inside = false;
      continue;
    }
    if (inside && line.compare(text, std::strlen(wanted), wanted) == 0)
      best = std::max(best, 1e9 * std::strtod(line.c_str() + colon + 3, nullptr));
  }
  return best;
}

double found_by_clpeak(const std::string& output, const Figure& figure) {
  const double found = highest_line(output, figure.heading, figure.line);
  if (figure.other_line == nullptr || found == 0) return found;
  const double other = highest_line(output, figure.heading, figure.other_line);
  return other == 0 ? 0 : 1 / (1 / found + 1 / other);
}

// Both programs in turn; what a round has found serves all questions.
class Rounds {
 public:
  explicit Rounds(const Settings& settings)
      : settings_(settings), folder_("tabane-bench", settings.directory) {}

  // How many of them clpeak computes in: that takes most of its time and differs most.
  std::size_t computing() const { return settings_.quick ? 1 : 6; }
  std::size_t all() const { return settings_.quick ? 3 : 9; }

  double ours(std::size_t round, const Figure& figure) {
    while (surveys_.size() <= round) {
      const fs::path record = folder_.path() / "survey.json";
      run_command({settings_.program, "survey", "--only", "device", "--quick", "-q",
                   "--json=" + record.string()});
      surveys_.push_back(lab::record_from_json(lab::Json::parse(core::read_file(record))));
    }
    const lab::Result* result = surveys_[round].find(std::string("device.0.") + figure.name);
    if (result == nullptr || !result->value)
      throw core::Error(std::string("the survey has no device.0.") + figure.name);
    return *result->value;
  }
  double clpeak(std::size_t round, const Figure& figure) {
    while (outputs_.size() <= round) {
      const fs::path output = folder_.path() / "clpeak";
      const bool computes = outputs_.size() < computing();
      run_command(shell(fmt::format("{}{} > '{}'", kClpeakMoves, computes ? kClpeakComputes : "",
                                    output.string())));
      outputs_.push_back(core::read_file(output));
    }
    const double found = found_by_clpeak(outputs_[round], figure);
    if (found == 0) throw core::Error(std::string("clpeak has no ") + figure.heading);
    return found;
  }

 private:
  const Settings& settings_;
  const core::ScratchFolder folder_;
  std::vector<lab::Record> surveys_;
  std::vector<std::string> outputs_;
};

// Rates that were measured elsewhere, one a round: the time of a unit.
Contender told(std::string name, const std::function<double(std::size_t round)>& rate) {
  return {
      .name = std::move(name),
      .work = {},
      .amount = 1,
      .target = 0.95,
      .timed = [rate, round = std::size_t{0}](std::uint64_t) mutable { return 1 / rate(round++); }};
}

void ask_beside_clpeak(Panel& panel) {
  Rounds rounds(panel.settings());
  for (const Figure& figure : kFigures) {
    const std::string name = std::string("device figures, ") + figure.name;
    if (!panel.wants(name)) continue;
    Question question{name, figure.computes ? "op/s" : "B/s", {}, {}};
    question.ours = told("tabane survey", [&](std::size_t i) { return rounds.ours(i, figure); });
    question.peers = {told("clpeak", [&](std::size_t i) { return rounds.clpeak(i, figure); })};
    question.peers[0].how =
        started_as({std::string(kClpeakMoves) + (figure.computes ? kClpeakComputes : "")},
                   version_said_by("clpeak --version"));
    if (!in_path("clpeak")) question.peers[0].missing = "clpeak is not installed";
    const std::size_t epochs = figure.computes ? rounds.computing() : rounds.all();
    question.measure = long_runs(panel.settings(), static_cast<int>(epochs), 1);
    question.measure->min_epochs = question.measure->max_epochs = static_cast<int>(epochs);
    question.measure->warmup_epochs = 0;
    panel.ask(question);
  }
}

// ---- whole commands ----

// What the bus carries at most: pinned memory to the device and from it at the same time.
class Bus {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;

  // All of it is used once, so that there is memory behind it.
  Bus() {
    std::ranges::copy(simd::generated_bytes(kBytes), from_host_->bytes().begin());
    to_->write(*out_, 0, from_host_->bytes());
    to_->finish();
    carry();
  }

  void carry() {
    to_->write(*in_, 0, from_host_->bytes());
    from_->read(*out_, 0, to_host_->bytes());
    to_->flush();
    from_->flush();
    to_->finish();
    from_->finish();
  }

 private:
  std::unique_ptr<device::Device> device_ =
      device::open_device(device::choose_device(device::devices(), ""));
  std::unique_ptr<device::Queue> to_ = device_->queue(), from_ = device_->queue();
  std::unique_ptr<device::Buffer> in_ = device_->buffer(kBytes), out_ = device_->buffer(kBytes);
  std::unique_ptr<device::HostMemory> from_host_ = device_->host_memory(kBytes),
                                      to_host_ = device_->host_memory(kBytes);
};

void ask_about_commands(Panel& panel) {
  const std::string name = "4096 files of 64 KiB by the coprocessor, encrypt";
  if (!panel.wants(name)) return;
  std::vector<unsigned> pus;
  const core::Topology topology = core::Topology::detect();
  for (const core::Pu& pu : topology.pus()) pus.push_back(pu.os_index);
  core::PinnedPool pool(pus);
  Asking asking{panel, pool, {}};
  Workplace place(panel.settings(), asking);
  place.fill(16, 256, std::uint64_t{64} << 10);
  Bus bus;
  for (const CipherKind& kind : all_ciphers()) {
    if (kind.name == "aes-256-cbc") continue;
    place.seal_once(kind);
    Question question =
        place.question(name + " " + kind.name, "B/s",
                       place.tabane(kind, Direction::encrypt, {"--engine", "opencl"}),
                       {place.tabane(kind, Direction::encrypt, {"--engine", "auto"})});
    question.peers[0].name = fmt::format("the CPU, {} PUs", pus.size());
    question.peers[0].target = 0;  // reported
    question.peers.push_back({.name = "the bus, both ways at once",
                              .work = core::repeat([&bus] { bus.carry(); }),
                              .amount = static_cast<double>(Bus::kBytes),
                              .target = 0,
                              .roof = true,
                              .how = "transfers of 64 MiB of pinned memory"});
    panel.ask(question);
  }
}

void ask_all(Panel& panel) {
  const device::Devices& all = device::devices();
  if (all.list.empty()) {
    panel.skip("coprocessors", all.reason);
    return;
  }
  panel.part("kernels of a device", [&] { ask_device_kernels(panel); });
  panel.part("figures of a device", [&] { ask_beside_clpeak(panel); });
  panel.part("commands with a device", [&] { ask_about_commands(panel); });
}

const RegisteredTopic kTopic({"device", "coprocessors", ask_all});

}  // namespace
}  // namespace tabane::bench

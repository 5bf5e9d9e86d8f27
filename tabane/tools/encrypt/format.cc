#include "tabane/tools/encrypt/format.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/device_sealer.h"
#include "tabane/tools/encrypt/sealed_file.h"

namespace tabane::encrypt {
namespace {

// The part of a sequence of `total` steps that a unit does, if a step is `step` bytes of the input.
Range range_of(const Unit& unit, std::uint64_t piece_bytes, std::uint64_t step,
               std::uint64_t total) {
  if (unit.pieces == 1) return {0, total};
  const std::uint64_t first = std::min(total, unit.piece * piece_bytes / step);
  const bool last = unit.piece + 1 == unit.pieces;
  const std::uint64_t end = last ? total : std::min(total, (unit.piece + 1) * piece_bytes / step);
  return {first, end - first};
}

// Does a piece's work and ends it.
void work_at_once(FileTask& task, const auto& work) {
  try {
    work();
  } catch (const std::exception& error) {
    task.fail(error);
  }
  task.end_piece();
}

class SealedFormat : public Format {
 public:
  SealedFormat(const JobState& job, crypto::Engine engine)
      : seals_(job.request.encrypts()), worker_(engine) {}

  void prepare(FileTask& task) override {
    auto& sealed = static_cast<SealedTask&>(task);
    seals_ ? worker_.prepare_to_seal(sealed) : worker_.prepare_to_open(sealed);
  }
  Range cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const override {
    const auto& sealed = static_cast<const SealedTask&>(task);
    return range_of(unit, piece_bytes, sealed.chunk_bytes(), sealed.chunks());
  }
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override {
    auto& sealed = static_cast<SealedTask&>(*task);
    work_at_once(*task, [&] {
      seals_ ? worker_.encrypt(sealed, range.first, range.count)
             : worker_.decrypt(sealed, range.first, range.count);
    });
  }

 private:
  const bool seals_;
  SealedFileWorker worker_;
};

// Pieces end when the sealer has written them.
class DeviceFormat : public SealedFormat {
 public:
  DeviceFormat(const JobState& job, crypto::Engine engine)
      : SealedFormat(job, engine), sealer_(*job.device, engine, !job.request.encrypts()) {}

  void work(const std::shared_ptr<FileTask>& task, const Range& range) override {
    sealer_.add(std::static_pointer_cast<SealedTask>(task), range.first, range.count);
  }
  void finish() override { sealer_.finish(); }
  bool works_at_once() const override { return false; }

 private:
  DeviceSealer sealer_;
};

std::span<const std::byte> cbc_key(const Request& request) {
  return std::span(request.key.bytes()).first(key_bytes(request.cipher));
}

class CbcOpening : public Format {
 public:
  CbcOpening(const JobState& job, crypto::Engine engine)
      : worker_(cbc_key(job.request), engine, job.device) {}

  void prepare(FileTask& task) override { worker_.prepare_to_decrypt(static_cast<CbcTask&>(task)); }
  Range cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const override {
    return range_of(unit, piece_bytes, 1, static_cast<const CbcTask&>(task).bytes());
  }
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override {
    work_at_once(*task,
                 [&] { worker_.decrypt(static_cast<CbcTask&>(*task), range.first, range.count); });
  }

 private:
  CbcFileWorker worker_;
};

// Files of several units are on their way at once, as in each a block needs the one before.
class CbcChains : public Format {
 public:
  CbcChains(const JobState& job, crypto::Engine engine, std::function<Upcoming()> upcoming)
      : worker_(cbc_key(job.request), engine, job.device), upcoming_(std::move(upcoming)) {}

  void prepare(FileTask& task) override { worker_.prepare_to_encrypt(static_cast<CbcTask&>(task)); }
  Range cut(const FileTask& task, const Unit&, std::uint64_t) const override {
    return {0, static_cast<const CbcTask&>(task).bytes()};
  }
  void work(const std::shared_ptr<FileTask>& task, const Range&) override {
    worker_.add(std::static_pointer_cast<CbcTask>(task));
    while (!takes_more()) worker_.encrypt_slices();
  }
  void finish() override {
    while (worker_.open().files > 0) worker_.encrypt_slices();
  }
  bool works_at_once() const override { return false; }

 private:
  bool takes_more() const {
    const OpenChains open = worker_.open();
    const Upcoming next = upcoming_();
    if (next.large_bytes == 0) return open.files < worker_.lanes();
    return takes_chain(open, next.large_bytes, next.share, worker_.lanes());
  }

  CbcFileWorker worker_;
  const std::function<Upcoming()> upcoming_;
};

}  // namespace

std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces) {
  if (job.request.is_sealed()) return std::make_shared<SealedTask>(job, file, pieces);
  return std::make_shared<CbcTask>(job, file, pieces);
}

std::unique_ptr<Format> make_format(JobState& job, crypto::Engine engine,
                                    std::function<Upcoming()> upcoming) {
  if (!job.request.is_sealed()) {
    if (!job.request.encrypts()) return std::make_unique<CbcOpening>(job, engine);
    return std::make_unique<CbcChains>(job, engine, std::move(upcoming));
  }
  if (job.device != nullptr) {
    try {
      return std::make_unique<DeviceFormat>(job, engine);
    } catch (const device::DeviceError& error) {  // it has no room for this thread
      job.device->note_failure(error);
    }
  }
  return std::make_unique<SealedFormat>(job, engine);
}

}  // namespace tabane::encrypt

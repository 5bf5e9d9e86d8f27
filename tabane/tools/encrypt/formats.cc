#include "tabane/tools/encrypt/formats.h"

#include <utility>

#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/device_sealer.h"
#include "tabane/tools/encrypt/sealed_file.h"

namespace tabane::encrypt {

std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces) {
  if (job.request.is_sealed()) return std::make_shared<SealedTask>(job, file, pieces);
  return std::make_shared<CbcTask>(job, file, pieces);
}

std::unique_ptr<Format> make_format(JobState& job, crypto::Engine engine,
                                    std::function<Upcoming()> upcoming) {
  if (!job.request.is_sealed()) {
    return std::make_unique<CbcFormat>(job, engine, std::move(upcoming));
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

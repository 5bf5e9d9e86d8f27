// The formats that jobs have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tabane/crypto/engine.h"
#include "tabane/tools/encrypt/file_task.h"

namespace tabane::encrypt {

// The task of a file that is done in so many pieces, in the job's format.
std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces);

// engine: of the CPU; the job's device goes first. upcoming: asked by what encrypts with CBC.
std::unique_ptr<Format> make_format(
    JobState& job, crypto::Engine engine,
    std::function<Upcoming()> upcoming = [] { return Upcoming{}; });

}  // namespace tabane::encrypt

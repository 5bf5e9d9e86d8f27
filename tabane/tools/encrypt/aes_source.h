// The text of aes.cl, which is put into the program when it is built.
#pragma once

namespace tabane::workloads::aes_dir {

extern const char* const kAesSource;

}  // namespace tabane::workloads::aes_dir

// The text of aes.cl, which is put into the program when it is built.
#pragma once

namespace tabane::crypto {

extern const char* const kAesSource;

}  // namespace tabane::crypto

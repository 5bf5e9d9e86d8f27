// The text of aes.cl, which is put into the program when it is built.
#pragma once

namespace tabane::encrypt {

extern const char* const kAesSource;

}  // namespace tabane::encrypt

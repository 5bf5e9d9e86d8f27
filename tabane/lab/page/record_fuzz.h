// Reads any text as a record and makes its page, and checks what must always hold.
#pragma once

#include <string_view>

namespace tabane::lab {

enum class RecordFuzzResult { refused, opened };

// Ends the process if a record that is opened does not come back from its own JSON. Throws nothing
// and draws nothing.
RecordFuzzResult fuzz_record(std::string_view text);

}  // namespace tabane::lab

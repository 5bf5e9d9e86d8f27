// All interleavings of a sender and a receiver on a small channel: 4 lines, 2 blocks, 12 messages.
//
// Both are step machines. A step does what comes between two accesses to memory that the other side
// also uses, so each has at most one such access, as the calls in channel.cc have them in that
// order:
//
//   sender    has_lines      load consumed, only when what it knew is used up
//             take_blocks     load released
//             memcpy         store each word of the payload
//             publish        store the sequence number of the first line
//   receiver  next           load the sequence number of the line that comes next
//             copy           load each word of the payload; a message in a block may instead stay
//                            there, and is read (again) and released at any later time
//             release_blocks  store released
//             consume        store consumed, after each second line
//
// That stores become visible in this order is what release and acquire are for; channel_test.cc
// under ThreadSanitizer looks at that. Each wrong variant breaks one rule, and must be found.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr int kLines = 4, kBlocks = 2, kWords = 2, kPublishEach = 2;

enum class Mutant {
  none,
  sender_ignores_consumed,
  sender_ignores_released,
  sender_publishes_first,
  sender_forgets_the_lap,
  receiver_consumes_first,
  receiver_releases_first,
  receiver_never_publishes,
  receiver_holds_all_blocks,
};

// lines: 1 or 2, the message is in them; 0: in a block.
struct Message {
  int lines;
};
constexpr std::array<Message, 12> kMessages{
    {{1}, {0}, {2}, {0}, {0}, {2}, {1}, {0}, {0}, {0}, {1}, {2}}};
constexpr int kCount = static_cast<int>(kMessages.size());

// A message's payload is its number, in each word. Bytes only, so that states can be compared.
struct State {
  // shared
  std::array<std::int8_t, kLines> sequence{};
  std::array<std::int8_t, kLines> block_of{};
  std::array<std::array<std::int8_t, kWords>, kLines> line{};
  std::array<std::array<std::int8_t, kWords>, kBlocks> block{};
  std::int8_t consumed = 0, released = 0;
  // the sender's
  std::int8_t s_step = 0, s_message = 0, s_word = 0, s_position = 0, s_consumed = 0, s_taken = 0,
              s_block = 0;
  // the receiver's
  std::int8_t r_step = 0, r_message = 0, r_word = 0, r_position = 0, r_published = 0;
  std::array<std::int8_t, kBlocks> r_held{};  // number of the message that stays there, + 1
};

enum SenderStep : std::int8_t { begin, look_at_consumed, take, write, publish };
enum ReceiverStep : std::int8_t { next, read, release, consume };

class Explorer {
 public:
  // views_last: what stays in blocks is released only after all messages have come.
  Explorer(Mutant mutant, bool views_last) : mutant_(mutant), views_last_(views_last) {}

  // Returns what goes wrong in some interleaving; empty: nothing in any of them.
  std::string explore() {
    std::vector<State> todo{State{}};
    while (!todo.empty() && wrong_.empty()) {
      const State state = todo.back();
      todo.pop_back();
      following_.clear();
      sender_step(state);
      receiver_steps(state);
      const bool over = state.s_message == kCount && state.r_message == kCount && !holds(state);
      if (following_.empty() && !over && wrong_.empty()) wrong_ = "nobody can go on";
      for (const State& one : following_) {
        if (seen_.insert(std::string(reinterpret_cast<const char*>(&one), sizeof one)).second) {
          todo.push_back(one);
        }
      }
    }
    return wrong_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  static int lines_of(int message) { return std::max(1, kMessages[message].lines); }
  static bool in_block(int message) { return kMessages[message].lines == 0; }
  static bool holds(const State& s) { return s.r_held[0] != 0 || s.r_held[1] != 0; }
  static std::int8_t number(int value) { return static_cast<std::int8_t>(value); }
  void expect(bool condition, const char* what) {
    if (!condition && wrong_.empty()) wrong_ = what;
  }
  void then(const State& state) { following_.push_back(state); }

  // --- the sender, as Sender and Endpoint::advance ---
  void sender_step(State s) {
    if (s.s_message == kCount) return;
    switch (s.s_step) {
      case begin:
        if (s.s_position + lines_of(s.s_message) - s.s_consumed <= kLines ||
            mutant_ == Mutant::sender_ignores_consumed) {
          s.s_step = in_block(s.s_message) ? take : first_of_message();
        } else {
          s.s_step = look_at_consumed;
        }
        return then(s);
      case look_at_consumed:
        if (s.s_consumed == s.consumed) return;  // waits
        s.s_consumed = s.consumed;
        s.s_step = begin;
        return then(s);
      case take:
        return take_block(s);
      case write:
        return write_word(s);
      case publish:
        return publish_line(s);
    }
  }
  SenderStep first_of_message() const {
    return mutant_ == Mutant::sender_publishes_first ? publish : write;
  }
  void take_block(State s) {
    for (int block = 0; block < kBlocks; ++block) {
      if (((s.s_taken ^ s.released) >> block & 1) != 0 &&
          mutant_ != Mutant::sender_ignores_released) {
        continue;
      }
      s.s_taken = number(s.s_taken ^ 1 << block);
      s.s_block = number(block);
      s.s_step = first_of_message();
      return then(s);
    }
  }
  void write_word(State s) {
    if (in_block(s.s_message)) {
      s.block[s.s_block][s.s_word] = s.s_message;
    } else {
      // The second word is in the second line, if there is one.
      const int line = lines_of(s.s_message) == 2 ? s.s_position + s.s_word : s.s_position;
      s.line[line % kLines][s.s_word] = s.s_message;
      if (line != s.s_position) s.sequence[line % kLines] = number(line + 1);
    }
    s.s_word = number((s.s_word + 1) % kWords);
    if (s.s_word == 0) {
      if (mutant_ == Mutant::sender_publishes_first) {
        end_message(s);
      } else {
        s.s_step = publish;
      }
    }
    then(s);
  }
  void publish_line(State s) {
    const int line = s.s_position % kLines;
    s.block_of[line] = s.s_block;
    s.sequence[line] = mutant_ == Mutant::sender_forgets_the_lap ? 1 : number(s.s_position + 1);
    if (mutant_ == Mutant::sender_publishes_first) {
      s.s_step = write;
    } else {
      end_message(s);
    }
    then(s);
  }
  static void end_message(State& s) {
    s.s_position = number(s.s_position + lines_of(s.s_message));
    ++s.s_message;
    s.s_step = begin;
  }

  // --- the receiver, as Receiver and Endpoint::poll ---
  void receiver_steps(const State& state) {
    for (int block = 0; block < kBlocks; ++block) release_held(state, block);
    if (state.r_message == kCount) return;
    switch (state.r_step) {
      case next:
        return look_at_next(state);
      case read:
        return read_word(state);
      case release:
        return release_block(state, state.block_of[state.r_position % kLines]);
      case consume:
        return consume_lines(state);
    }
  }
  // The end of a view: its bytes must be as they came.
  void release_held(State s, int block) {
    if (s.r_held[block] == 0 || (views_last_ && s.r_message < kCount)) return;
    for (const std::int8_t word : s.block[block]) {
      expect(word + 1 == s.r_held[block], "a message that is held is overwritten");
    }
    s.r_held[block] = 0;
    s.released = number(s.released ^ 1 << block);
    then(s);
  }
  void look_at_next(State s) {
    const std::int8_t there = s.sequence[s.r_position % kLines];
    const int wanted = mutant_ == Mutant::sender_forgets_the_lap ? 1 : s.r_position + 1;
    if (there != wanted) return;  // waits
    const bool block_first = mutant_ == Mutant::receiver_releases_first && in_block(s.r_message);
    s.r_step = block_first ? release : mutant_ == Mutant::receiver_consumes_first ? consume : read;
    then(s);
    if (!in_block(s.r_message) || mutant_ == Mutant::receiver_releases_first) return;
    // At most half of the blocks may be held.
    if (holds(s) && mutant_ != Mutant::receiver_holds_all_blocks) return;
    const int block = s.block_of[s.r_position % kLines];
    s.r_held[block] = number(s.r_message + 1);
    s.r_step = consume;
    then(s);
  }
  void read_word(State s) {
    const int line = lines_of(s.r_message) == 2 ? s.r_position + s.r_word : s.r_position;
    const std::int8_t word = in_block(s.r_message)
                                 ? s.block[s.block_of[s.r_position % kLines]][s.r_word]
                                 : s.line[line % kLines][s.r_word];
    expect(word == s.r_message, "a message is not what was sent");
    s.r_word = number((s.r_word + 1) % kWords);
    if (s.r_word == 0) {
      if (mutant_ == Mutant::receiver_consumes_first) {
        end_receive(s);
      } else if (in_block(s.r_message) && mutant_ != Mutant::receiver_releases_first) {
        s.r_step = release;
      } else {
        s.r_step = consume;
      }
    }
    then(s);
  }
  void release_block(State s, int block) {
    s.released = number(s.released ^ 1 << block);
    s.r_step = mutant_ == Mutant::receiver_releases_first ? read : consume;
    then(s);
  }
  void consume_lines(State s) {
    const int position = s.r_position + lines_of(s.r_message);
    if (position - s.r_published >= kPublishEach && mutant_ != Mutant::receiver_never_publishes) {
      s.consumed = s.r_published = number(position);
    }
    if (mutant_ == Mutant::receiver_consumes_first) {
      s.r_step = read;
    } else {
      end_receive(s);
    }
    then(s);
  }
  static void end_receive(State& s) {
    s.r_position = number(s.r_position + lines_of(s.r_message));
    ++s.r_message;
    s.r_step = next;
  }

  Mutant mutant_;
  bool views_last_;
  std::unordered_set<std::string> seen_;
  std::vector<State> following_;
  std::string wrong_;
};

TEST(ChannelModel, DeliversEveryMessageInEveryInterleaving) {
  for (const bool views_last : {false, true}) {
    Explorer explorer(Mutant::none, views_last);
    EXPECT_EQ(explorer.explore(), "");
    EXPECT_GT(explorer.states(), 2000u);
  }
}

TEST(ChannelModel, FindsEveryWrongVariant) {
  for (const Mutant mutant : {Mutant::sender_ignores_consumed, Mutant::sender_ignores_released,
                              Mutant::sender_publishes_first, Mutant::sender_forgets_the_lap,
                              Mutant::receiver_consumes_first, Mutant::receiver_releases_first,
                              Mutant::receiver_never_publishes}) {
    EXPECT_NE(Explorer(mutant, false).explore(), "") << "variant " << static_cast<int>(mutant);
  }
  EXPECT_EQ(Explorer(Mutant::receiver_holds_all_blocks, true).explore(), "nobody can go on");
}

}  // namespace

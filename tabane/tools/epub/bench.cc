// Protecting e-books with whole commands, against the tools that one would make a script of, and
// against only unpacking and packing.
#include "bench/bench.h"

#include <fmt/format.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/scratch.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/epub/new_archive.h"
#include "tabane/tools/epub/package.h"

namespace tabane::bench {
namespace {

// The parts of a book, with their bytes.
struct Parts {
  int chapters;
  std::size_t chapter_bytes;
  int pictures;
  std::size_t picture_bytes;
  int sounds;
  std::size_t sound_bytes;

  int resources() const { return chapters + pictures + sounds; }
};
constexpr Parts kLarge{100, 150'000, 80, 250'000, 20, 750'000};  // 200 resources, 50 MB
constexpr Parts kSmall{40, 15'000, 20, 25'000, 2, 75'000};

std::string noise(std::mt19937_64& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(text.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return text;
}

// Words of a small vocabulary, which deflate to less than half.
std::string chapter(std::mt19937_64& random, std::size_t bytes) {
  std::vector<std::string> words(4000);
  for (std::string& word : words) {
    for (auto letters = 2 + random() % 8; letters > 0; --letters) {
      word += static_cast<char>('a' + random() % 20);
    }
  }
  std::string text =
      "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>c</title></head><body><p>";
  while (text.size() < bytes) text += words[random() % words.size()] + " ";
  return text + "</p></body></html>";
}

void write_book(const fs::path& path, const Parts& parts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string items;
  epub::NewArchive book(path);
  book.add_text(epub::kMimetypeName, std::string(epub::kMimetype), false);
  const auto add = [&](const char* prefix, int count, const char* type, bool deflate,
                       const auto& content) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{}{}", prefix, i);
      book.add_text("OPS/" + name, content(), deflate);
      items += fmt::format("<item id=\"{0}\" href=\"{0}\" media-type=\"{1}\"/>", name, type);
    }
  };
  add("chapter", parts.chapters, "application/xhtml+xml", true,
      [&] { return chapter(random, parts.chapter_bytes); });
  add("picture", parts.pictures, "image/jpeg", true,
      [&] { return noise(random, parts.picture_bytes); });
  add("sound", parts.sounds, "audio/mpeg", false, [&] { return noise(random, parts.sound_bytes); });
  book.add_text("OPS/package.opf",
                fmt::format("<package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\">"
                            "<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">"
                            "<dc:identifier>urn:x:1</dc:identifier><dc:title>A book</dc:title>"
                            "</metadata><manifest>{}</manifest></package>",
                            items),
                true);
  book.add_text(epub::kContainerName,
                "<container xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles>"
                "<rootfile full-path=\"OPS/package.opf\"/></rootfiles></container>",
                true);
  book.write(false);
}

class Books {
 public:
  explicit Books(const Settings& settings)
      : settings_(settings), folder_("tabane-bench-epub", settings.directory) {
    core::write_file(folder_ / "passphrase", "correct horse battery\n");
    fs::permissions(folder_ / "passphrase", fs::perms::owner_read | fs::perms::owner_write);
  }

  fs::path path(const std::string& name) const { return folder_ / name; }

  Contender tabane(const std::vector<std::string>& books, const std::string& out) const {
    Command command{settings_.program, "epub", "protect"};
    command.insert(command.end(), books.begin(), books.end());
    command.insert(command.end(), {"-o", path(out).string(), "--passphrase-file",
                                   path("passphrase").string(), "--force", "-q"});
    Contender ours = contender("tabane epub protect", command, 1);
    if (settings_.program.empty()) ours.missing = "tabane was not found";
    return ours;
  }
  Contender script(const std::string& name, const std::string& text, double target,
                   std::initializer_list<const char*> tools) const {
    Contender peer = contender(name, {"bash", "-ec", text, "bash", path("").string()}, target);
    for (const char* const tool : tools) {
      if (!in_path(tool)) peer.missing = fmt::format("{} was not found", tool);
    }
    return peer;
  }
  Contender contender(const std::string& name, const Command& command, double target) const {
    const auto run = [command](std::uint64_t times) {
      for (; times > 0; --times) run_command(command);
    };
    return {
        .name = name, .work = run, .amount = 1, .target = target, .how = started_as(command, {})};
  }

 private:
  const Settings& settings_;
  core::ScratchFolder folder_;
};

// $1: the folder. Text is deflated by gzip, whose head and tail cost nothing; one key, an IV each.
constexpr const char* kProtectByScript = R"(
cd "$1"; rm -rf plain closed script.epub; mkdir closed; unzip -q book.epub -d plain
key=$(openssl rand -hex 32); cd plain
find . -type f | while read -r f; do
  mkdir -p "../closed/${f%/*}"; iv=$(openssl rand -hex 16)
  case $f in
    */picture*|*/sound*) openssl enc -aes-256-cbc -K "$key" -iv "$iv" -in "$f";;
    *) gzip -c "$f" | openssl enc -aes-256-cbc -K "$key" -iv "$iv";;
  esac > "../closed/$f"
done
cd ../closed; zip -q -0 -X -r ../script.epub .
)";

constexpr const char* kRepackTwoAtOnce = R"(
cd "$1"; rm -rf unpacked repacked; mkdir unpacked repacked
ls books | xargs -P2 -I{} sh -c 'unzip -q books/{} -d unpacked/{} &&
  cd unpacked/{} && zip -q -0 -X -r ../../repacked/{} . && rm -rf ../{}'
)";

void ask_one(Panel& panel) {
  const std::string name = "1 book of 200 resources and 50 MB";
  if (!panel.wants(name)) return;
  const Books books(panel.settings());
  write_book(books.path("book.epub"), kLarge, 1);
  Question question{name, "books/s", books.tabane({books.path("book.epub")}, "ours.epub"), {}};
  question.measure = long_runs(panel.settings(), 6, 60);
  question.peers.push_back(books.script("unzip, gzip, openssl enc, zip -0", kProtectByScript, 5,
                                        {"unzip", "gzip", "openssl", "zip"}));
  question.peers.push_back(books.contender(
      "lcpencrypt of Readium",
      {"lcpencrypt", "-input", books.path("book.epub"), "-storage", books.path(""), "-filename",
       "readium.epub", "-temp", books.path(""), "-url", "http://localhost"},
      1));
  if (!in_path("lcpencrypt")) question.peers.back().missing = "lcpencrypt was not found";
  panel.ask(question);
}

void ask_many(Panel& panel) {
  const std::string name = "100 books at once";
  if (!panel.wants(name)) return;
  const Books books(panel.settings());
  fs::create_directory(books.path("books"));
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < 100; ++i) {
    paths.push_back(books.path("books") / fmt::format("{}.epub", i));
    write_book(paths.back(), kSmall, i);
  }
  Question question{name, "runs/s", books.tabane(paths, "ours"), {}};
  question.measure = long_runs(panel.settings(), 6, 60);
  question.peers.push_back(books.script("unzip and zip -0, two at once", kRepackTwoAtOnce, 1 / 1.5,
                                        {"unzip", "zip", "xargs"}));
  panel.ask(question);
}

void ask_all(Panel& panel) {
  ask_one(panel);
  ask_many(panel);
}

const RegisteredTopic kTopic({"epub", "protecting e-books", ask_all});

}  // namespace
}  // namespace tabane::bench

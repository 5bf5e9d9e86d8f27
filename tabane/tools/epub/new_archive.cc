#include "tabane/tools/epub/new_archive.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::epub {
namespace {

constexpr zip_int64_t kFailed = -1;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// What libzip knows of an object that answers its commands: its last error.
class ZipSource {
 public:
  explicit ZipSource(std::exception_ptr& problem) : problem_(problem) { zip_error_init(&error_); }
  ZipSource(const ZipSource&) = delete;
  ZipSource& operator=(const ZipSource&) = delete;

  // Calls self->answer(); Source: a ZipSource. Keeps the first exception of all sources.
  template <class Source>
  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    auto& source = *static_cast<Source*>(self);
    if (command == ZIP_SOURCE_ERROR) return zip_error_to_data(&source.error_, data, size);
    try {
      return source.answer(data, size, command);
    } catch (...) {
      if (!source.problem_) source.problem_ = std::current_exception();
      return source.failed(ZIP_ER_INTERNAL, EIO);
    }
  }

 protected:
  ~ZipSource() { zip_error_fini(&error_); }
  zip_int64_t failed(int code, int system_code) {
    zip_error_set(&error_, code, system_code);
    return kFailed;
  }

  std::exception_ptr& problem_;
  zip_error_t error_;
};

}  // namespace

// The file that libzip writes. libzip seeks back only to complete the headers of entries; its
// writes of eight KiB are collected into larger ones.
class NewArchive::File : public ZipSource {
 public:
  File(const std::filesystem::path& path, std::exception_ptr& problem)
      : ZipSource(problem),
        folder_(core::open_parent(path, path.string())),
        file_(folder_.get(), path.filename().string(), 0666, path.string()),
        shown_(path.string()) {
    buffer_.reserve(kBufferBytes);
  }

  void finish(bool replace) { file_.rename(replace); }

  zip_int64_t answer(void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_STAT:  // there is no archive yet
        return failed(ZIP_ER_READ, ENOENT);
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_WRITE:
        put({static_cast<const std::byte*>(data), size});
        return static_cast<zip_int64_t>(size);
      case ZIP_SOURCE_TELL_WRITE:
        return static_cast<zip_int64_t>(at_ + buffer_.size());
      case ZIP_SOURCE_SEEK_WRITE:
        return seek(data, size);
      case ZIP_SOURCE_COMMIT_WRITE:
        flush();
        return 0;
      default:
        return failed(ZIP_ER_OPNOTSUPP, 0);
    }
  }

 private:
  zip_int64_t seek(void* data, zip_uint64_t size) {
    const std::uint64_t here = at_ + buffer_.size();
    end_ = std::max(end_, here);
    const zip_int64_t to = zip_source_seek_compute_offset(here, end_, data, size, &error_);
    if (to < 0) return kFailed;
    if (static_cast<std::uint64_t>(to) == here) return 0;
    flush();
    at_ = static_cast<std::uint64_t>(to);
    return 0;
  }

  void put(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  void flush() {
    core::write_all_at(file_.fd(), buffer_.data(), buffer_.size(), at_, shown_);
    at_ += buffer_.size();
    buffer_.clear();
  }

  core::Descriptor folder_;
  core::TemporaryFile file_;
  std::string shown_;
  std::vector<std::byte> buffer_;
  std::uint64_t at_ = 0;   // of the buffer's first byte
  std::uint64_t end_ = 0;  // of what was written before the last seek
};

namespace {

// A content as a source of libzip, which owns it.
class Added : public ZipSource {
 public:
  Added(std::unique_ptr<Content> content, std::time_t time, std::exception_ptr& problem)
      : ZipSource(problem), content_(std::move(content)), time_(time) {}

  zip_int64_t answer(void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_READABLE;
      case ZIP_SOURCE_OPEN:
        return 0;
      case ZIP_SOURCE_READ:
        return static_cast<zip_int64_t>(content_->read({static_cast<std::byte*>(data), size}));
      case ZIP_SOURCE_CLOSE:
        content_->close();
        return 0;
      case ZIP_SOURCE_STAT:
        describe(*static_cast<zip_stat_t*>(data));
        return sizeof(zip_stat_t);
      case ZIP_SOURCE_FREE:
        delete this;
        return 0;
      default:
        return failed(ZIP_ER_OPNOTSUPP, 0);
    }
  }

 private:
  void describe(zip_stat_t& status) const {
    const Content::Shape shape = content_->shape();
    zip_stat_init(&status);
    status.mtime = time_;
    status.valid |= ZIP_STAT_MTIME;
    if (shape.deflated) {
      status.comp_method = ZIP_CM_DEFLATE;
      status.crc = shape.deflated->crc;
      status.size = shape.deflated->bytes;
      status.valid |= ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC | ZIP_STAT_SIZE;
      if (shape.stored) {
        status.comp_size = *shape.stored;
        status.valid |= ZIP_STAT_COMP_SIZE;
      }
    } else if (shape.stored) {
      status.size = *shape.stored;
      status.valid |= ZIP_STAT_SIZE;
    }
  }

  std::unique_ptr<Content> content_;
  std::time_t time_;
};

}  // namespace

NewArchive::NewArchive(const std::filesystem::path& path)
    : path_(path.string()), file_(std::make_unique<File>(path, problem_)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source =
      zip_source_function_create(&ZipSource::call<File>, file_.get(), &error);
  if (source != nullptr) {
    zip_.reset(zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error));
    if (!zip_) zip_source_free(source);
  }
  const std::string text = zip_ ? "" : zip_error_strerror(&error);
  zip_error_fini(&error);
  if (!zip_) throw core::Error("{} cannot be made: {}", path_, text);
}

NewArchive::~NewArchive() = default;

void NewArchive::place(const std::string& name, zip_source* source, std::time_t time,
                       bool deflate) {
  const zip_int64_t index =
      source == nullptr ? -1 : zip_file_add(zip_.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    const std::string why = zip_strerror(zip_.get());
    zip_source_free(source);
    throw core::Error("{}: {} cannot be added: {}", path_, name, why);
  }
  const auto place = static_cast<zip_uint64_t>(index);
  zip_set_file_compression(zip_.get(), place, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  zip_file_set_mtime(zip_.get(), place, time, 0);
}

void NewArchive::add(const std::string& name, std::time_t time, std::unique_ptr<Content> content,
                     bool deflated) {
  auto added = std::make_unique<Added>(std::move(content), time, problem_);
  zip_source_t* const source =
      zip_source_function(zip_.get(), &ZipSource::call<Added>, added.get());
  if (source != nullptr) static_cast<void>(added.release());
  place(name, source, time, deflated);
}

void NewArchive::add_text(const std::string& name, const std::string& text, bool deflate) {
  void* const copy = std::malloc(text.size() + 1);  // which libzip frees
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  zip_source_t* const source = zip_source_buffer(zip_.get(), copy, text.size(), 1);
  if (source == nullptr) std::free(copy);
  place(name, source, std::time(nullptr), deflate);
}

void NewArchive::copy(const Archive& from, const Entry& entry) {
  zip_source_t* const source =
      zip_source_zip(zip_.get(), from.handle(), entry.index, ZIP_FL_COMPRESSED, 0, -1);
  place(entry.name, source, entry.time, entry.deflated);
}

void NewArchive::write(bool replace) {
  if (zip_close(zip_.get()) != 0) {
    if (problem_) std::rethrow_exception(problem_);
    throw core::Error("{} cannot be written: {}", path_, zip_strerror(zip_.get()));
  }
  static_cast<void>(zip_.release());
  file_->finish(replace);
}

}  // namespace tabane::epub

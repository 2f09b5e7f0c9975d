// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/ledger_files.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/live/compute_choice.hpp"
#include "orrery/live/rank/ledger_file.hpp"

namespace orrery::live {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 32;

int anonymous_file() {
  const int descriptor = ::memfd_create("orrery-ledger", MFD_CLOEXEC);
  if (descriptor < 0) throw InputError{fmt::format("memfd_create: {}", std::strerror(errno))};
  return descriptor;
}

/// What `visit` says of the ledger; InputError where it is none.
template <class Visit>
auto read_ledger(const std::string& path, Visit visit) {
  const std::string text = read_file(path, kLargest);
  try {
    return visit(LedgerReader{text});
  } catch (const LedgerError& error) {
    throw InputError{fmt::format("{}: {}", path, error.what())};
  }
}

}  // namespace

bool has_device_time(const std::string& path) {
  return read_ledger(path, [](const LedgerReader& reader) { return reader.is_device_time(); });
}

LedgerFiles::~LedgerFiles() {
  for (const int descriptor : in_) ::close(descriptor);
  for (const int descriptor : out_) ::close(descriptor);
}

void LedgerFiles::provide(const std::string& folder, std::size_t rank, std::size_t world) {
  if (!is_everybodys_) {
    is_everybodys_ =
        read_ledger(ledger_path(folder, 0), [](const LedgerReader& reader) { return reader.world() == 1; });
  }
  const std::string path = ledger_path(folder, *is_everybodys_ ? 0 : rank);
  const std::string text = read_file(path, kLargest);
  try {
    const LedgerReader reader{text};
    if (!*is_everybodys_ && (reader.world() != world || reader.rank() != rank)) {
      throw InputError{fmt::format("{}: the ledger of rank {} of {}; this is rank {} of {}", path,
                                   reader.rank(), reader.world(), rank, world)};
    }
  } catch (const LedgerError& error) {
    throw InputError{fmt::format("{}: {}", path, error.what())};
  }
  in_.push_back(anonymous_file());
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(in_.back(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw InputError{fmt::format("{}: {}", path, std::strerror(errno))};
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

void LedgerFiles::record() { out_.push_back(anonymous_file()); }

std::string LedgerFiles::recorded(std::size_t rank) const {
  struct stat status{};
  if (rank >= out_.size() || ::fstat(out_[rank], &status) != 0) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::pread(out_[rank], text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  return text;
}

}  // namespace orrery::live

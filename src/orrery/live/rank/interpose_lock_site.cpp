// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_lock_site.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "orrery/live/rank/interpose.hpp"

namespace orrery::live {
namespace {

using Address = std::uintptr_t;

struct Range {
  Address begin = 0;
  Address end = 0;
};

/// Where Python's code for taking a lock is; empty in a process without Python.
Range find_lock_code() {
  void* const code = ::dlsym(RTLD_DEFAULT, "PyThread_acquire_lock_timed");
  if (code == nullptr) return {};
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  if (::dladdr1(code, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 || symbol == nullptr) {
    return {};
  }
  const auto begin = reinterpret_cast<Address>(code);
  return {begin, begin + symbol->st_size};
}

/// A place that reads the clock: where it goes on, and where its function keeps the address it will return to, from
/// the frame of the interposed function. The same at every call, as its frame has one size there.
struct Site {
  std::atomic<Address> reader = 0;
  std::atomic<std::ptrdiff_t> offset = 0;
};
constinit std::array<Site, 8> sites{};

/// For the end of the reader's frame; its return address lies just below.
struct Search {
  Address reader;
  bool is_found = false;
  Address end_of_frame = 0;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (search.is_found) {  // A frame begins where the one it called ends.
    search.end_of_frame = _Unwind_GetCFA(context);
    return _URC_END_OF_STACK;
  }
  search.is_found = _Unwind_GetIP(context) == search.reader;
  return _URC_NO_REASON;
}

/// The offset of a place, by unwinding; 0 when it cannot be known.
std::ptrdiff_t measure(Address reader, Address frame) {
  const InsideLibrary inside;
  Search search{.reader = reader};
  _Unwind_Backtrace(look_at, &search);
  if (search.end_of_frame <= frame) return 0;
  return static_cast<std::ptrdiff_t>(search.end_of_frame - sizeof(Address) - frame);
}

std::ptrdiff_t offset_of(Address reader, Address frame) {
  for (Site& site : sites) {
    Address known = site.reader.load(std::memory_order_acquire);
    if (known == reader) return site.offset.load(std::memory_order_relaxed);
    if (known != 0) continue;
    const std::ptrdiff_t offset = measure(reader, frame);
    if (site.reader.compare_exchange_strong(known, 1, std::memory_order_acq_rel)) {
      site.offset.store(offset, std::memory_order_relaxed);
      site.reader.store(reader, std::memory_order_release);
    }
    return offset;
  }
  return 0;  // More places than we care for.
}

}  // namespace

bool is_for_python_lock(const void* frame) {
  static const Range lock_code = find_lock_code();
  if (lock_code.begin == 0) return false;
  // The saved frame pointer, then where the interposed function returns to.
  const auto base = reinterpret_cast<Address>(frame);
  const Address reader = static_cast<const Address*>(frame)[1];
  const std::ptrdiff_t offset = offset_of(reader, base);
  if (offset == 0) return false;
  const Address caller = *reinterpret_cast<const Address*>(base + static_cast<Address>(offset));
  return caller >= lock_code.begin && caller < lock_code.end;
}

}  // namespace orrery::live

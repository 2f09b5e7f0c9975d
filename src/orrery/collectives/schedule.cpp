// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/schedule.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "orrery/base/check.hpp"

namespace orrery::collectives {

namespace {

struct Spelling {
  std::string_view text;  // Lower case, without separators.
  Operation operation;
};

constexpr std::array kSpellings = {
    Spelling{"allreduce", Operation::kAllReduce},
    Spelling{"allgather", Operation::kAllGather},
    Spelling{"reducescatter", Operation::kReduceScatter},
    Spelling{"alltoall", Operation::kAllToAll},
    Spelling{"all2all", Operation::kAllToAll},
    Spelling{"broadcast", Operation::kBroadcast},
    Spelling{"bcast", Operation::kBroadcast},
    Spelling{"reduce", Operation::kReduce},
    Spelling{"gather", Operation::kGather},
    Spelling{"scatter", Operation::kScatter},
    Spelling{"barrier", Operation::kBarrier},
    Spelling{"sendrecv", Operation::kSendReceive},
    Spelling{"sendreceive", Operation::kSendReceive},
    Spelling{"p2p", Operation::kSendReceive},
};

std::optional<Operation> exact_spelling(std::string_view text) {
  const auto found = std::ranges::find(kSpellings, text, &Spelling::text);
  return found == kSpellings.end() ? std::nullopt : std::optional{found->operation};
}

}  // namespace

std::string_view to_text(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "all_reduce";
    case Operation::kAllGather:
      return "all_gather";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kAllToAll:
      return "all_to_all";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduce:
      return "reduce";
    case Operation::kGather:
      return "gather";
    case Operation::kScatter:
      return "scatter";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kSendReceive:
      return "send_recv";
  }
  ORRERY_CHECK(false, "no such operation: {}", static_cast<int>(operation));
  return "";
}

std::optional<Operation> parse_operation(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '_' || c == '-') continue;
    const bool is_upper = c >= 'A' && c <= 'Z';
    plain += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (const auto found = exact_spelling(plain)) return found;
  // The uneven forms (all_gatherv) are the same operation with another layout.
  if (!plain.ends_with('v')) return std::nullopt;
  plain.pop_back();
  return exact_spelling(plain);
}

Layout::Layout(const std::vector<Bytes>& sizes) {
  first_.reserve(sizes.size() + 1);
  first_.push_back(0);
  for (const Bytes size : sizes) {
    ORRERY_CHECK(size.count() >= 0, "a chunk has {} bytes", size.count());
    first_.push_back(first_.back() + size.count());
  }
}

Layout Layout::even(Bytes total, std::uint32_t chunks, Bytes element) {
  ORRERY_CHECK(chunks > 0, "a layout needs chunks");
  ORRERY_CHECK(total.count() >= 0 && element.count() > 0, "{} bytes of elements of {}", total.count(),
               element.count());
  const std::int64_t elements = div_ceil(total.count(), element.count());
  const std::int64_t each = elements / chunks;
  const std::int64_t longer = elements % chunks;
  std::vector<Bytes> sizes;
  sizes.reserve(chunks);
  // A total that is no multiple of the element ends in a short one, which the last chunk with data has.
  std::int64_t left = total.count();
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t wanted = (each + (chunk < longer ? 1 : 0)) * element.count();
    sizes.emplace_back(std::min(wanted, left));
    left -= sizes.back().count();
  }
  return Layout{sizes};
}

Bytes Layout::bytes(const ChunkRange& range, std::span<const std::uint32_t> list) const {
  const std::size_t end = std::size_t{range.first} + range.count;
  if (!range.listed) {
    ORRERY_CHECK(end < first_.size(), "chunks [{}, {}) of {}", range.first, end, chunk_count());
    return Bytes{first_[end] - first_[range.first]};
  }
  ORRERY_CHECK(end <= list.size(), "list entries [{}, {}) of {}", range.first, end, list.size());
  std::int64_t sum = 0;
  for (const std::uint32_t chunk : list.subspan(range.first, range.count)) {
    ORRERY_CHECK(chunk < chunk_count(), "chunk {} of {}", chunk, chunk_count());
    sum += first_[chunk + 1] - first_[chunk];
  }
  return Bytes{sum};
}

}  // namespace orrery::collectives

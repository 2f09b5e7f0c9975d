// SPDX-License-Identifier: Apache-2.0
// Requests to the key-value store of a rendezvous.
#include <cstring>

#include "orrery/live/parts.hpp"
#include "orrery/live/rank/guarded.hpp"
#include "orrery/live/rank/session.hpp"

using namespace orrery::live;

int orrery_store(const char* name, uint32_t operation, const orrery_bytes* parts, size_t count,
                 int64_t timeout_ps, void (*reply)(void* context, const void* data, size_t size),
                 void* context) {
  if (session() == nullptr) return refuse(ENOTCONN, "no rank");
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.adopt_thread();
    self.pass(Point::kStore);
    const std::string_view title{name};
    std::size_t bytes = part_bytes(title.size());
    for (std::size_t i = 0; i < count; ++i) bytes += part_bytes(parts[i].size);
    auto* const request =
        static_cast<StoreRequest*>(self.heap().allocate(sizeof(StoreRequest) + bytes, sizeof(StoreRequest)));
    request->operation = operation;
    request->parts = static_cast<std::uint32_t>(count + 1);
    request->timeout_ps = timeout_ps;
    request->bytes = bytes;
    PartWriter writer{reinterpret_cast<std::byte*>(request + 1)};
    writer.add(title);
    for (std::size_t i = 0; i < count; ++i) {
      writer.add({static_cast<const char*>(parts[i].data), parts[i].size});
    }
    const std::int64_t answer = self.request(Request::kStore, self.arena().offset_of(request));
    if (answer == 0 && request->reply != 0) {
      std::byte* const text = self.arena().at(request->reply);
      const auto replies = *reinterpret_cast<const std::uint64_t*>(text);
      PartReader reader{text + sizeof(std::uint64_t), ~std::size_t{0}};
      for (std::uint64_t i = 0; i < replies; ++i) {
        const std::string_view part = reader.next();
        reply(context, part.data(), part.size());
      }
      ArenaHeap::release(text);
    }
    ArenaHeap::release(request);
    self.resume_computing();
    if (answer == kTimedOut) return refuse(ETIMEDOUT, "timed out");
    return answer == 0 ? 0 : refuse(EINVAL, "the store refused the request");
  });
}

// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contract of every network model: "these bytes leave now" in, "last byte arrived" out.
/// A model sees the engine, the routes and the links; never devices, collectives or output formats.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/base/units.hpp"
#include "orrery/config/registry.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/topology/router.hpp"

namespace orrery::network {

/// Messages of one stream arrive in the order they were sent, and the next one's bytes follow the last
/// one's (a connection). Messages of different streams, or of kNoStream, share links as the model says.
using StreamId = Id<struct StreamTag>;
inline constexpr StreamId kNoStream{};

/// Told when the last byte of a message is there. Called from inside the engine's run, never from send().
class Receiver {
 public:
  virtual void on_delivered(std::uint64_t cookie) = 0;

 protected:
  ~Receiver() = default;
};

struct Message {
  topology::RouteId route;  ///< From source to target; an empty route is a local copy and arrives at once.
  Bytes size;               ///< Payload only; a model adds its own headers.
  StreamId stream = kNoStream;
  Receiver* receiver = nullptr;
  std::uint64_t cookie = 0;  ///< Handed back to the receiver.
};

/// A link as it is now.
struct LinkState {
  Bandwidth bandwidth;
  Duration latency{};
  bool up = true;
};

/// Facts about links that a model counted, for results and timelines.
struct LinkCounters {
  std::uint64_t messages = 0;
  Bytes bytes;
  // Of models that know packets; 0 elsewhere.
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;   ///< Packets lost at the queue in front of it.
  std::uint64_t marks = 0;   ///< Packets marked there (ECN).
  std::uint64_t pauses = 0;  ///< Times the far end made it pause.
  Bytes longest_queue;       ///< Most that waited in front of it.
};

/// What the time of a message may depend on besides the message.
enum class Dependence : std::uint8_t {
  kOnStream,   ///< Earlier messages of its stream that are under way.
  kOnTraffic,  ///< Whatever is under way.
  kOnHistory,  ///< Anything that ever was: random numbers, states that outlast the messages.
};

class NetworkModel : Pinned {
 public:
  virtual ~NetworkModel() = default;
  /// Opens a connection; cheap. Ids are dense from 0.
  virtual StreamId open_stream() = 0;
  /// So many streams are about to be opened, over as many new routes. A hint: only speed may change.
  virtual void expect(std::size_t streams) { static_cast<void>(streams); }
  /// Injects `message` at the engine's current time. Its receiver is called exactly once.
  virtual void send(const Message& message) = 0;
  /// A link changed at the engine's current time; messages under way feel it from now on.
  virtual void change_link(topology::LinkId link, const LinkState& state) = 0;
  /// While links do not change. Whoever knows that nothing has changed need not simulate again.
  [[nodiscard]] virtual Dependence dependence() const { return Dependence::kOnHistory; }
  /// Bytes and messages that crossed each link so far.
  [[nodiscard]] virtual std::vector<LinkCounters> link_counters() const = 0;
  /// Free text for the result's notes, e.g. the bound of an approximation; empty when exact.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// What a model is built from; all of it outlives the model.
struct NetworkContext {
  engine::Engine& engine;
  topology::Router& router;
  std::span<const topology::LinkJitter> jitter{};
  std::uint64_t seed = 0;
};

using NetworkRegistry = config::Registry<NetworkModel, NetworkContext>;

/// Every model of models.def.
[[nodiscard]] NetworkRegistry builtin_networks();

}  // namespace orrery::network

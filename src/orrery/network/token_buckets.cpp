// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/token_buckets.hpp"

#include <algorithm>
#include <utility>

namespace orrery::network {
namespace {

struct Bucket {
  Bytes depth;
  Bandwidth rate;
  Time full{};  ///< When it is, if nothing more comes.

  [[nodiscard]] Bytes left(Time now) const {
    const Duration missing = std::max(full - now, Duration{});
    const Duration filling = transfer_time(depth, rate);
    if (missing == Duration{}) return depth;
    if (missing >= filling) return Bytes{};
    const auto share = static_cast<__int128>(depth.count()) * (filling - missing).count() / filling.count();
    return Bytes{static_cast<std::int64_t>(share)};
  }
  void take(Bytes size, Time now) { full = saturating_add(std::max(full, now), transfer_time(size, rate)); }
};

class TokenBuckets final : public NetworkModel {
 public:
  TokenBuckets(std::unique_ptr<NetworkModel> model, const NetworkContext& context, std::vector<Bucket> buckets)
      : model_{std::move(model)},
        engine_{context.engine},
        router_{context.router},
        buckets_{std::move(buckets)},
        passed_(buckets_.size()) {}

  StreamId open_stream() override { return model_->open_stream(); }
  void expect(std::size_t streams) override { model_->expect(streams); }

  void send(const Message& message) override {
    const std::span<const topology::LinkId> links = router_.links(message.route);
    const Time now = engine_.now();
    Bytes passes = links.empty() ? Bytes{} : message.size;
    for (const topology::LinkId link : links) passes = std::min(passes, buckets_[link.index()].left(now));
    for (const topology::LinkId link : links) {
      buckets_[link.index()].take(message.size, now);
      passed_[link.index()] += passes;
    }
    Message rest = message;
    rest.size = message.size - passes;
    model_->send(rest);
  }

  void change_link(topology::LinkId link, const LinkState& state) override {
    // What is missing stays missing, and comes at the new rate from now on.
    Bucket& bucket = buckets_[link.index()];
    const Bytes missing = bucket.depth - bucket.left(engine_.now());
    if (state.bandwidth != Bandwidth{}) bucket.rate = state.bandwidth;
    bucket.full = engine_.now() + transfer_time(missing, bucket.rate);
    model_->change_link(link, state);
  }

  [[nodiscard]] std::vector<LinkCounters> link_counters() const override {
    std::vector<LinkCounters> counters = model_->link_counters();
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i].bytes += passed_[i];
    return counters;
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return model_->notes(); }

 private:
  std::unique_ptr<NetworkModel> model_;
  engine::Engine& engine_;
  topology::Router& router_;
  std::vector<Bucket> buckets_;  ///< By link; without depth where there is none.
  std::vector<Bytes> passed_;    ///< By link: what the model was not told of.
};

}  // namespace

std::unique_ptr<NetworkModel> with_buckets(std::unique_ptr<NetworkModel> model, const NetworkContext& context) {
  const topology::Graph& graph = context.router.graph();
  std::vector<Bucket> buckets;
  buckets.reserve(graph.link_count());
  for (std::size_t i = 0; i < graph.link_count(); ++i) {
    const topology::LinkSpec& spec = graph.link(topology::LinkId{i});
    buckets.push_back({.depth = spec.burst, .rate = spec.bandwidth});
  }
  if (std::ranges::all_of(buckets, [](const Bucket& bucket) { return bucket.depth == Bytes{}; })) return model;
  return std::make_unique<TokenBuckets>(std::move(model), context, std::move(buckets));
}

}  // namespace orrery::network

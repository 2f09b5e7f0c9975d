// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/token_buckets.hpp"

#include <algorithm>
#include <utility>

namespace orrery::network {
namespace {

__extension__ using Wide = __int128;

class Bucket {
 public:
  Bucket(Bytes depth, Bandwidth rate) : depth_{depth}, rate_{rate} {}

  [[nodiscard]] Bytes depth() const { return depth_; }
  /// Whole bytes, rounded down.
  [[nodiscard]] Bytes left(Time now) const {
    if (!is_up_ || depth_ == Bytes{}) return Bytes{};
    const Duration filling = transfer_time(depth_, rate_);
    const Duration missing = std::max(full_ - now, Duration{});
    if (missing >= filling) return Bytes{};
    const Wide share = Wide{depth_.count()} * (filling - missing).count() / filling.count();
    return Bytes{static_cast<std::int64_t>(share)};
  }
  void take(Bytes size, Time now) {
    if (depth_ == Bytes{}) return;
    const Duration more = transfer_time(size, rate_);
    if (is_up_) {
      full_ = saturating_add(std::max(full_, now), more);
    } else {
      stopped_ += more;
    }
  }
  /// What is owed stays owed, at the new rate from now on; while the link is down nothing is paid.
  void change(const LinkState& state, Time now) {
    if (depth_ == Bytes{}) return;
    const Duration owed = is_up_ ? std::max(full_ - now, Duration{}) : stopped_;
    is_up_ = state.up && state.bandwidth != Bandwidth{};
    if (!is_up_) {
      stopped_ = owed;
      return;
    }
    const Wide bits = Wide{owed.count()} * rate_.bits_per_second();
    const Wide then = std::min(bits / state.bandwidth.bits_per_second(), Wide{Duration::max().count()});
    rate_ = state.bandwidth;
    full_ = saturating_add(now, Duration{static_cast<std::int64_t>(then)});
  }

 private:
  Bytes depth_;
  Bandwidth rate_;
  Time full_{};         ///< When it is, if nothing more comes.
  bool is_up_ = true;   ///< Else
  Duration stopped_{};  ///< it would take so long from the moment on that it is up again.
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
    buckets_[link.index()].change(state, engine_.now());
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
    buckets.emplace_back(spec.burst, spec.bandwidth);
  }
  if (std::ranges::all_of(buckets, [](const Bucket& bucket) { return bucket.depth() == Bytes{}; })) return model;
  return std::make_unique<TokenBuckets>(std::move(model), context, std::move(buckets));
}

}  // namespace orrery::network

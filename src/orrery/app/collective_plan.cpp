// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/collective_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "orrery/app/cluster_digest.hpp"
#include "orrery/app/output_check.hpp"
#include "orrery/app/rank_group.hpp"
#include "orrery/app/size_list.hpp"
#include "orrery/base/text.hpp"
#include "orrery/timeline/timeline_file.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app {
namespace {

using collectives::Operation;
using collectives::Rank;

constexpr std::int64_t kMaxIterations = 1'000'000;
constexpr std::int64_t kMaxWorkers = 1024;
constexpr std::int64_t kMaxBudget = 1'000'000'000'000'000;

/// Reads one option after the other; errors carry the option's name.
class OptionReader {
 public:
  explicit OptionReader(const CollectiveOptions& options) : options_{options} {}

  [[nodiscard]] std::string name(const char* option) const { return options_.option_prefix + option; }
  [[noreturn]] void fail(const char* option, std::string value, std::string expected,
                         std::string nearest = {}) const {
    throw InputError{{.source = name(option),
                      .position = {},
                      .field = {},
                      .value = std::move(value),
                      .expected = std::move(expected),
                      .nearest = std::move(nearest)}};
  }
  std::int64_t between(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) const {
    if (value < low || value > high) {
      fail(option, fmt::format("{}", value), fmt::format("expected a whole number from {} to {}", low, high));
    }
    return value;
  }

  [[nodiscard]] Operation operation() const {
    if (const auto found = collectives::parse_operation(options_.operation)) return *found;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < collectives::kOperationCount; ++i) {
      names.emplace_back(to_text(static_cast<Operation>(i)));
    }
    throw InputError{{.source = "operation",
                      .position = {},
                      .field = {},
                      .value = options_.operation,
                      .expected = "expected one of: " + join(names, ", "),
                      .nearest = nearest_name(options_.operation, names)}};
  }

  [[nodiscard]] std::vector<Rank> group(const topology::Cluster& cluster, Operation operation) const {
    const std::size_t available = cluster.ranks.size();
    if (available == 0) fail("cluster", options_.cluster, "the cluster has no ranks");
    if (!options_.group.empty()) {
      if (options_.ranks) fail("group", options_.group, fmt::format("not together with {}", name("ranks")));
      return parse_group(options_.group, available, name("group"));
    }
    // A message has two ends; asking for the whole cluster would be no mistake that helps anybody.
    const bool is_pair = operation == Operation::kSendReceive && available > 1;
    std::size_t count = is_pair ? 2 : available;
    if (options_.ranks) {
      if (*options_.ranks < 1 || *options_.ranks > static_cast<std::int64_t>(available)) {
        fail("ranks", fmt::format("{}", *options_.ranks),
             fmt::format("cluster '{}' has {} rank{}; expected 1 to {}", cluster.name, available,
                         available == 1 ? "" : "s", available));
      }
      count = static_cast<std::size_t>(*options_.ranks);
    }
    std::vector<Rank> group(count);
    std::iota(group.begin(), group.end(), Rank{0});
    return group;
  }

  /// Bytes of an uneven collective, and the one size that stands for them.
  [[nodiscard]] std::vector<Bytes> uneven(Operation operation, std::size_t ranks,
                                          std::vector<Bytes>& sizes) const {
    std::vector<Bytes> bytes;
    for (const std::int64_t size : options_.uneven) {
      bytes.emplace_back(between("uneven", size, 0, std::int64_t{1} << 50));
    }
    const bool is_pairs = operation == Operation::kAllToAll;
    const bool is_per_rank = operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
                             operation == Operation::kGather || operation == Operation::kScatter;
    if (!is_pairs && !is_per_rank) {
      fail("uneven", {}, fmt::format("{} has no uneven form", to_text(operation)));
    }
    const std::size_t wanted = is_pairs ? ranks * ranks : ranks;
    if (bytes.size() != wanted) {
      fail("uneven", {},
           fmt::format("expected {} sizes ({}), got {}", wanted,
                       is_pairs ? "one per pair of ranks, sender slow" : "one per rank", bytes.size()));
    }
    Bytes total;
    const std::size_t row = is_pairs ? ranks : bytes.size();
    for (std::size_t first = 0; first < bytes.size(); first += row) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(first);
      total = std::max(total, std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(row), Bytes{}));
    }
    sizes.assign(1, total);
    return bytes;
  }

  [[nodiscard]] Duration skew() const {
    const auto skew = parse_duration(options_.skew);
    constexpr Duration kLongest = std::chrono::hours{1};
    if (!skew || *skew > kLongest) {
      fail("skew", options_.skew, "expected a time of at most an hour, such as 1us");
    }
    return *skew;
  }

  [[nodiscard]] std::size_t workers() const {
    if (between("workers", options_.workers, 0, kMaxWorkers) > 0) {
      return static_cast<std::size_t>(options_.workers);
    }
    return std::max(1U, std::thread::hardware_concurrency());
  }

 private:
  const CollectiveOptions& options_;
};

std::string sizes_text(const std::vector<Bytes>& sizes) {
  std::vector<std::string> texts;
  for (const Bytes size : sizes) texts.push_back(to_text(size));
  return join(texts, ",");
}

}  // namespace

collectives::CollectiveRequest CollectivePlan::request(Bytes size, std::int64_t root) const {
  collectives::CollectiveRequest request;
  request.operation = operation;
  request.size = size;
  request.root = static_cast<Rank>(root);
  request.element = dtype.size;
  request.floating = dtype.is_floating;
  request.sizes = uneven;
  return request;
}

CollectivePlan plan_collective(const CollectiveOptions& options) {
  const OptionReader read{options};
  CollectivePlan plan;
  plan.operation = read.operation();
  plan.network = choose_network(options.network, network::builtin_networks(), read.name("network"));
  plan.dtype = parse_element_type(options.dtype, read.name("dtype"));
  plan.skew = read.skew();
  plan.workers = read.workers();
  read.between("iterations", options.iterations, 1, kMaxIterations);
  read.between("budget", options.budget, 1, kMaxBudget);
  if (plan.operation == Operation::kBarrier) {
    plan.sizes = {Bytes{}};
  } else {
    plan.sizes = parse_sizes(options.size, read.name("size"));
  }
  if (!options.trace.empty()) {
    timeline::check_timeline_path(options.trace);
    check_output(options.trace);
  }
  if (options.cluster.empty()) read.fail("cluster", {}, "expected a file, a preset or a generator");
  topology::LoadOptions load;
  load.source = read.name("cluster");
  load.catalog = options.catalog;
  load.lenient = options.lenient;
  plan.cluster = topology::load_cluster(options.cluster, load);
  plan.group = read.group(plan.cluster, plan.operation);
  for (const Rank rank : plan.group) plan.nodes.push_back(plan.cluster.ranks[rank]);
  read.between("root", options.root, 0, static_cast<std::int64_t>(plan.group.size()) - 1);
  if (!options.uneven.empty()) plan.uneven = read.uneven(plan.operation, plan.group.size(), plan.sizes);
  plan.algorithms = collectives::builtin_algorithms();
  return plan;
}

std::vector<std::pair<std::string, std::string>> describe_plan(const CollectivePlan& plan,
                                                               const CollectiveOptions& options) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  std::vector<std::pair<std::string, std::string>> settings{
      {"operation", std::string{to_text(plan.operation)}},
      {"cluster", plan.cluster.name},
      {"cluster_digest", fmt::format("{:016x}", cluster_digest(plan.cluster))},
      {"group", group_text(plan.group)},
      {"size", sizes_text(plan.sizes)},
      {"algorithm", options.algorithm},
      {"network", plan.network.resolved},
      {"dtype", plan.dtype.name},
      {"root", number(options.root)},
      {"skew", to_text(plan.skew)},
      {"iterations", number(options.iterations)},
  };
  if (options.budget != kEffortBudget) settings.emplace_back("budget", number(options.budget));
  if (!plan.uneven.empty()) settings.emplace_back("uneven", sizes_text(plan.uneven));
  return settings;
}

}  // namespace orrery::app

// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/op.hpp"

#include <utility>

namespace orrery::workload {
namespace {

class StoredSource final : public OpSource {
 public:
  StoredSource(std::shared_ptr<const std::vector<std::vector<Op>>> ops, Rank rank)
      : ops_{std::move(ops)}, rank_{rank} {}
  bool next(Op& op) override {
    const std::vector<Op>& mine = (*ops_)[rank_];
    if (next_ == mine.size()) return false;
    op = mine[next_++];
    return true;
  }

 private:
  std::shared_ptr<const std::vector<std::vector<Op>>> ops_;
  Rank rank_;
  std::size_t next_ = 0;
};

}  // namespace

void Op::clear() {
  Op empty;
  empty.name = std::move(name);
  empty.data_deps = std::move(data_deps);
  empty.control_deps = std::move(control_deps);
  empty.group = std::move(group);
  empty.dims = std::move(dims);
  empty.sizes = std::move(sizes);
  empty.tensors = std::move(tensors);
  *this = std::move(empty);
  name.clear();
  data_deps.clear();
  control_deps.clear();
  group.clear();
  dims.clear();
  sizes.clear();
  tensors.clear();
}

Workload stored_workload(std::string name, std::vector<std::vector<Op>> ops, Groups groups) {
  return shared_workload(std::move(name),
                         std::make_shared<const std::vector<std::vector<Op>>>(std::move(ops)),
                         std::move(groups));
}

Workload shared_workload(std::string name, std::shared_ptr<const std::vector<std::vector<Op>>> ops,
                         Groups groups) {
  const auto ranks = static_cast<Rank>(ops->size());
  return {.name = std::move(name), .ranks = ranks, .groups = std::move(groups), .open = [ops](Rank rank) {
            return std::make_unique<StoredSource>(ops, rank);
          }};
}

}  // namespace orrery::workload

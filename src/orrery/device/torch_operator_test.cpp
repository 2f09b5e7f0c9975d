// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/torch_operator.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "orrery/device/torch_names.hpp"

namespace orrery::device {
namespace {

constexpr std::uint32_t kFloat = 6;
constexpr std::uint32_t kBfloat16 = 15;
constexpr std::uint32_t kLong = 4;

/// Keeps the sizes that shapes look at.
class Shapes {
 public:
  Shapes& add(std::vector<std::int64_t> sizes, std::uint32_t argument = 0, std::uint32_t type = kFloat) {
    // Copies share them.
    kept_.push_back(std::make_shared<const std::vector<std::int64_t>>(std::move(sizes)));
    TensorShape shape{.sizes = *kept_.back(), .type = type, .argument = argument};
    shape.element = type == kBfloat16 ? 2 : type == kLong ? 8 : 4;
    shape.distinct = elements_of(shape);
    shapes_.push_back(shape);
    return *this;
  }
  TensorShape& last() { return shapes_.back(); }
  operator std::span<const TensorShape>() const { return shapes_; }  // NOLINT: that is what it is for.

 private:
  std::vector<std::shared_ptr<const std::vector<std::int64_t>>> kept_;
  std::vector<TensorShape> shapes_;
};

TEST(Classify, Products) {
  const Operator mm = classify(
      {.name = "aten::mm", .inputs = Shapes{}.add({3, 7}).add({7, 5}), .outputs = Shapes{}.add({3, 5})});
  EXPECT_EQ(mm.family, "gemm@nn");
  EXPECT_EQ(mm.kind, OperatorClass::kGemm);
  EXPECT_EQ(mm.axes, (Axes{.sizes = {1, 3, 5, 7}, .count = 4}));
  EXPECT_EQ(mm.work.flops, 2.0 * 3 * 5 * 7);
  const Operator addmm = classify({.name = "aten::addmm",
                                   .inputs = Shapes{}.add({5}).add({3, 7}).add({7, 5}),
                                   .outputs = Shapes{}.add({3, 5})});
  EXPECT_EQ(addmm.axes, mm.axes);
  const Operator bmm = classify({.name = "aten::bmm",
                                 .inputs = Shapes{}.add({4, 3, 7}).add({4, 7, 5}),
                                 .outputs = Shapes{}.add({4, 3, 5})});
  EXPECT_EQ(bmm.axes, (Axes{.sizes = {4, 3, 5, 7}, .count = 4}));
  const Operator mv =
      classify({.name = "aten::mv", .inputs = Shapes{}.add({3, 7}).add({7}), .outputs = Shapes{}.add({3})});
  EXPECT_EQ(mv.axes, (Axes{.sizes = {1, 3, 1, 7}, .count = 4}));
}

TEST(Classify, ProductsKnowTheirLayout) {
  Shapes linear = Shapes{}.add({3, 7}).add({7, 5});
  linear.last().is_dense = false;  // The transposed weight of a linear layer.
  EXPECT_EQ(classify({.name = "aten::mm", .inputs = linear}).family, "gemm");
  Shapes gradient = Shapes{}.add({3, 7});
  gradient.last().is_dense = false;
  EXPECT_EQ(classify({.name = "aten::mm", .inputs = gradient.add({7, 5})}).family, "gemm@tn");
}

TEST(Classify, ProductsKnowTheirType) {
  const Shapes inputs = Shapes{}.add({3, 7}).add({7, 5});
  EXPECT_EQ(classify({.name = "aten::mm", .inputs = inputs}).type, DataType::kFp32);
  EXPECT_EQ(classify({.name = "aten::mm", .inputs = inputs, .allows_tf32 = true}).type, DataType::kTf32);
  const Shapes halves = Shapes{}.add({3, 7}, 0, kBfloat16).add({7, 5}, 1, kBfloat16);
  EXPECT_EQ(classify({.name = "aten::mm", .inputs = halves, .allows_tf32 = true}).type, DataType::kBf16);
}

TEST(Classify, AttentionWithFewerKeyHeadsAndBackward) {
  const Shapes inputs = Shapes{}.add({2, 8, 16, 64}).add({2, 4, 32, 64}).add({2, 4, 32, 64});
  const Operator forward =
      classify({.name = "aten::_scaled_dot_product_flash_attention_for_cpu", .inputs = inputs, .flag = true});
  EXPECT_EQ(forward.family, "attention_causal");
  EXPECT_EQ(forward.axes, (Axes{.sizes = {2, 8, 4, 16, 32, 64}, .count = 6}));
  const Shapes with_gradient = Shapes{}.add({2, 8, 16, 64}).add({2, 8, 16, 64}).add({2, 8, 16, 64});
  const Operator backward = classify(
      {.name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward", .inputs = with_gradient});
  EXPECT_EQ(backward.family, "attention_backward");
  EXPECT_EQ(backward.work.flops, 10.0 * 2 * 8 * 16 * 16 * 64);
  EXPECT_EQ(classify({.name = "aten::_scaled_dot_product_attention_math", .inputs = inputs}).kind,
            OperatorClass::kOther);
}

TEST(Classify, ElementwiseMovesWhatIsInMemory) {
  Shapes inputs = Shapes{}.add({8, 16}).add({8, 16}, 1);
  inputs.last().distinct = 16;  // A row that is expanded.
  const Operator add = classify({.name = "aten::add_", .inputs = inputs, .outputs = Shapes{}.add({8, 16})});
  EXPECT_EQ(add.name, "add");
  EXPECT_EQ(add.kind, OperatorClass::kElementwise);
  EXPECT_EQ(add.work.bytes, 4.0 * (128 + 16 + 128));
  EXPECT_EQ(add.axes, (Axes{.sizes = {128}, .count = 1}));
}

TEST(Classify, CopiesDoNotReadTheirTarget) {
  const Shapes inputs = Shapes{}.add({10}).add({10}, 1, kBfloat16);
  const Operator copy = classify({.name = "aten::copy_", .inputs = inputs, .outputs = Shapes{}.add({10})});
  EXPECT_EQ(copy.work.bytes, 10.0 * (2 + 4));
  const Operator zero =
      classify({.name = "aten::zero_", .inputs = Shapes{}.add({10}), .outputs = Shapes{}.add({10})});
  EXPECT_EQ(zero.work.bytes, 40);
  Shapes strided = Shapes{}.add({4, 4});
  strided.last().is_dense = false;
  EXPECT_EQ(classify({.name = "aten::clone", .inputs = strided, .outputs = Shapes{}.add({4, 4})}).family,
            "copy_strided");
}

TEST(Classify, EmbeddingReadsTheRowsThatItTakes) {
  const Shapes inputs = Shapes{}.add({1000, 16}).add({3}, 1, kLong);
  const Operator op =
      classify({.name = "aten::embedding", .inputs = inputs, .outputs = Shapes{}.add({3, 16})});
  EXPECT_EQ(op.kind, OperatorClass::kEmbedding);
  EXPECT_EQ(op.work.bytes, 2.0 * 4 * 48 + 24);
}

TEST(Classify, NormsHaveRowsAndColumns) {
  const Operator op = classify({.name = "aten::native_layer_norm",
                                .inputs = Shapes{}.add({2, 8, 16}).add({16}, 1),
                                .outputs = Shapes{}.add({2, 8, 16})});
  EXPECT_EQ(op.family, "layer_norm");
  EXPECT_EQ(op.axes, (Axes{.sizes = {16, 16}, .count = 2}));
}

TEST(Classify, OptimizersOverLists) {
  const Shapes lists = Shapes{}.add({10}, 0).add({20}, 0).add({10}, 1).add({20}, 1);
  const Operator foreach = classify({.name = "aten::_foreach_add_", .inputs = lists});
  EXPECT_EQ(foreach.kind, OperatorClass::kOptimizer);
  EXPECT_EQ(foreach.launches, 2);
  EXPECT_EQ(foreach.axes, (Axes{.sizes = {2, 30}, .count = 2}));
  EXPECT_EQ(foreach.work.bytes, 4.0 * (30 + 30 + 30));
  const Shapes states = Shapes{}.add({10}, 0).add({10}, 1).add({10}, 2).add({10}, 3);
  EXPECT_EQ(classify({.name = "aten::_fused_adamw_", .inputs = states}).work.bytes, 4.0 * (40 + 30));
}

TEST(Classify, Convolutions) {
  const Shapes inputs = Shapes{}.add({2, 3, 8, 8}).add({16, 3, 3, 3}, 1);
  const Operator op =
      classify({.name = "aten::convolution", .inputs = inputs, .outputs = Shapes{}.add({2, 16, 6, 6})});
  EXPECT_EQ(op.work.flops, 2.0 * (2 * 16 * 6 * 6) * 27);
}

TEST(Classify, ViewsAndWaits) {
  for (const char* name : {"aten::view", "aten::t", "aten::empty", "aten::detach_"}) {
    EXPECT_EQ(classify({.name = name}).kind, OperatorClass::kView) << name;
  }
  EXPECT_EQ(classify({.name = "aten::_local_scalar_dense"}).kind, OperatorClass::kWait);
}

TEST(Classify, UnknownOperatorsAreBytesInAndOut) {
  const Operator op =
      classify({.name = "mine::thing", .inputs = Shapes{}.add({10}), .outputs = Shapes{}.add({20})});
  EXPECT_FALSE(op.is_known);
  EXPECT_EQ(op.name, "mine::thing");
  EXPECT_EQ(op.work.bytes, 4.0 * 30);
}

TEST(TorchNames, FusedKernels) {
  EXPECT_TRUE(is_fused_kernel("aten::scaled_dot_product_attention"));
  EXPECT_FALSE(is_fused_kernel("aten::matmul"));
}

}  // namespace
}  // namespace orrery::device

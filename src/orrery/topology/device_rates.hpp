// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a device file says about operators, beyond the peak: rates by element type, efficiencies by class of operator.
/// docs/models/device.md has the formula that they go into.
#include "orrery/base/units.hpp"
#include "orrery/config/spec.hpp"

namespace orrery::topology {

/// Dense rates; zero means "not said".
struct PeakSpec {
  Flops fp64, fp32, tf32, fp16, bf16, fp8, int8;
  auto operator<=>(const PeakSpec&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("fp64", &PeakSpec::fp64, "Of 64-bit numbers.");
    field("fp32", &PeakSpec::fp32, "Of 32-bit numbers.");
    field("tf32", &PeakSpec::tf32, "Of products of 32-bit numbers rounded to 19 bits.");
    field("fp16", &PeakSpec::fp16, "Of 16-bit numbers.");
    field("bf16", &PeakSpec::bf16, "Of 16-bit numbers with a short mantissa.");
    field("fp8", &PeakSpec::fp8, "Of 8-bit floating-point numbers.");
    field("int8", &PeakSpec::int8, "Of 8-bit integers.");
  }
};

/// The share of a peak or bandwidth that operators of a class reach when they are large.
struct EfficiencySpec {
  double gemm = 1, attention = 1, conv = 1, elementwise = 1, reduction = 1, memory = 1, embedding = 1,
         optimizer = 1, other = 1;
  bool operator==(const EfficiencySpec&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    const config::Rule share{.min = 1e-4, .max = 2};
    field("gemm", &EfficiencySpec::gemm, "Products of matrices.", share);
    field("attention", &EfficiencySpec::attention, "Fused attention.", share);
    field("conv", &EfficiencySpec::conv, "Convolutions.", share);
    field("elementwise", &EfficiencySpec::elementwise, "Sums, products, activations.", share);
    field("reduction", &EfficiencySpec::reduction, "Sums, norms, softmax.", share);
    field("memory", &EfficiencySpec::memory, "Copies and fills.", share);
    field("embedding", &EfficiencySpec::embedding, "Reads and writes by index.", share);
    field("optimizer", &EfficiencySpec::optimizer, "Steps over lists of tensors.", share);
    field("other", &EfficiencySpec::other, "All other operators.", share);
  }
};

}  // namespace orrery::topology

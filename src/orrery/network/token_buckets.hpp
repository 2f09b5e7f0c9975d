// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Links whose limit is a token bucket, before any network model.
///
/// A bucket of B bytes fills at the link's rate R. A message takes what is in it at once; the rest is the model's to
/// carry. So of S bytes after a rest S - B take their time, and the bucket is full again B / R after the last of them.
/// One number a link says it all: when the bucket would be full if nothing more came (the generic cell rate algorithm,
/// ITU-T I.371).
///
/// Only on routes all of whose links have a bucket, which gives as much as the emptiest has: elsewhere the other links
/// would carry for nothing what passes here at once. Messages of one instant take from it one after the other. Routes
/// are those of the message: where the packet model chooses other ways, the bucket is not theirs.
#include <memory>

#include "orrery/network/network_model.hpp"

namespace orrery::network {

/// `model` itself where no link has a bucket.
[[nodiscard]] std::unique_ptr<NetworkModel> with_buckets(std::unique_ptr<NetworkModel> model,
                                                         const NetworkContext& context);

}  // namespace orrery::network

// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Settings of the packet model. Defaults are InfiniBand's framing on lossless links that never run out of buffer.
#include <cstdint>
#include <string>

#include "orrery/config/spec.hpp"

namespace orrery::network {

struct PacketSpec {
  Bytes mtu{4096};
  Bytes header{26};
  std::string forwarding = "store_and_forward";
  std::string routing = "ecmp";
  std::int64_t spray_paths = 16;
  std::string control = "none";
  Bytes window{0};
  std::string window_rule = "path";
  Bytes ack{64};
  bool ack_load = false;
  std::string delivery = "arrival";
  std::string loss = "none";
  Bytes buffer{0};
  Bytes pause_at{262144};
  Bytes resume_at{131072};
  std::string recovery = "trim";
  Duration timeout = std::chrono::microseconds{500};
  Bytes ecn_min{102400};
  Bytes ecn_max{409600};
  double ecn_probability = 0.2;
  Duration cnp_interval = std::chrono::microseconds{50};
  Duration rate_timer = std::chrono::microseconds{55};
  Bandwidth rate_step = Bandwidth::bits_per_second(40'000'000);
  double alpha_gain = 0.00390625;
  Duration overhead{};
  bool trains = true;
  std::string batches = "auto";

  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("mtu", &PacketSpec::mtu, "Most payload of a packet.", Rule{.positive = true});
    field("header", &PacketSpec::header,
          "Added to each packet. InfiniBand 26, RoCE v2 62 (82 with framing).");
    field("forwarding", &PacketSpec::forwarding,
          "When a switch sends a packet on: all of it there, or its header.",
          Rule{.choices = {"store_and_forward", "cut_through"}});
    field("routing", &PacketSpec::routing,
          "Route of each pair of ends, or one of equal routes by message or packet.",
          Rule{.choices = {"ecmp", "message", "spray"}});
    field("spray_paths", &PacketSpec::spray_paths, "Of message and spray: draws of a route per pair of ends.",
          Rule{.min = 1, .max = 1024});
    field("control", &PacketSpec::control, "What holds a sender back.",
          Rule{.choices = {"none", "window", "dcqcn", "credit"}});
    field("window", &PacketSpec::window,
          "Most bytes of a message under way; of control. 0 = what the path holds.");
    field("window_rule", &PacketSpec::window_rule,
          "Of window 0: path never holds a lone message back; bdp is 2 latency + mtu / bandwidth, times "
          "bandwidth.",
          Rule{.choices = {"path", "bdp"}});
    field("ack_load", &PacketSpec::ack_load, "Acknowledgements take time on the links back; of control.");
    field("delivery", &PacketSpec::delivery,
          "A message is there with its last byte, or when its sender knows.",
          Rule{.choices = {"arrival", "acknowledged"}});
    field("ack", &PacketSpec::ack, "Size of an acknowledgement; it goes ahead of data.");
    field("loss", &PacketSpec::loss, "Full buffers: none (they have no end), drop, or hold by pfc or credit.",
          Rule{.choices = {"none", "drop", "pfc", "credit"}});
    field("buffer", &PacketSpec::buffer, "Of a port, for loss drop and credit. 0 = 1 MiB.");
    field("pause_at", &PacketSpec::pause_at, "Of pfc: bytes from one link that make it pause.",
          Rule{.positive = true});
    field("resume_at", &PacketSpec::resume_at, "Of pfc: bytes from one link that let it go on.");
    field("recovery", &PacketSpec::recovery,
          "Of drop: each lost packet is asked for again, or all from it on.",
          Rule{.choices = {"trim", "go_back_n"}});
    field("timeout", &PacketSpec::timeout, "Of go_back_n: without news for so long, send again.",
          Rule{.positive = true});
    field("ecn_min", &PacketSpec::ecn_min, "Of dcqcn: queue from which packets are marked.");
    field("ecn_max", &PacketSpec::ecn_max, "Of dcqcn: queue from which every packet is marked.");
    field("ecn_probability", &PacketSpec::ecn_probability, "Of dcqcn: of a mark just below ecn_max.",
          Rule{.min = 0, .max = 1});
    field("cnp_interval", &PacketSpec::cnp_interval, "Of dcqcn: least time between two cuts of a rate.",
          Rule{.positive = true});
    field("rate_timer", &PacketSpec::rate_timer, "Of dcqcn: time between two raises.",
          Rule{.positive = true});
    field("rate_step", &PacketSpec::rate_step, "Of dcqcn: additive raise of the target.",
          Rule{.positive = true});
    field("alpha_gain", &PacketSpec::alpha_gain, "Of dcqcn: weight of the newest mark.",
          Rule{.min = 0, .max = 1});
    field("overhead", &PacketSpec::overhead, "Added to the latency of every message.");
    field("trains", &PacketSpec::trains,
          "Messages alone on their links in one step; the same times, only faster.");
    field("batches", &PacketSpec::batches,
          "Port by port where control and loss are none; the same times. auto: where that is faster.",
          Rule{.choices = {"auto", "always", "never"}});
  }
};

}  // namespace orrery::network

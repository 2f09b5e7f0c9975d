// SPDX-License-Identifier: Apache-2.0
#include "orrery/config/spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::config {
namespace {

struct StarSpec {
  std::int64_t hosts = 0;
  Bandwidth bandwidth;
  Duration latency{500'000};
  std::string duplex = "full";
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("hosts", &StarSpec::hosts, "Number of hosts.", Rule{.required = true, .min = 1, .max = 1e6});
    field("bandwidth", &StarSpec::bandwidth, "Of each link.", Rule{.required = true, .positive = true});
    field("latency", &StarSpec::latency, "Of each link.");
    field("duplex", &StarSpec::duplex, "Whether directions share.", Rule{.choices = {"full", "half"}});
  }
};

std::string error_of(std::string_view text) {
  try {
    const Document document = Document::parse(text, "t.yaml");
    static_cast<void>(read_spec<StarSpec>(Cursor{document}));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spec, ReadsFieldsAndKeepsDefaults) {
  const Document document = Document::parse("{hosts: 4, bandwidth: 1Gbps}", "t.yaml");
  const StarSpec spec = read_spec<StarSpec>(Cursor{document});
  EXPECT_EQ(spec.hosts, 4);
  EXPECT_EQ(spec.latency, Duration{500'000});
  EXPECT_EQ(write_spec(spec), "{hosts: 4, bandwidth: 1Gbps, latency: 500ns, duplex: full}");
}

TEST(Spec, EveryMistakeIsNamed) {
  EXPECT_EQ(error_of("{hosts: 4, bandwith: 1Gbps}"),
            "t.yaml:1:12: bandwith: unknown key (did you mean 'bandwidth'?)");
  EXPECT_THAT(error_of("{hosts: 4}"), testing::HasSubstr("required key 'bandwidth' is missing"));
  EXPECT_THAT(error_of("{hosts: 0, bandwidth: 1Gbps}"),
              testing::HasSubstr("hosts: '0': expected a number from 1 to 1000000"));
  EXPECT_THAT(error_of("{hosts: 1.5, bandwidth: 1Gbps}"), testing::HasSubstr("expected a whole number"));
  EXPECT_THAT(error_of("{hosts: 4, bandwidth: 1}"), testing::HasSubstr("expected a bandwidth with unit"));
  EXPECT_THAT(error_of("{hosts: 4, bandwidth: 0Gbps}"), testing::HasSubstr("must be more than zero"));
  EXPECT_THAT(error_of("{hosts: 4, bandwidth: 1Gbps, duplex: fulll}"),
              testing::HasSubstr("did you mean 'full'"));
  EXPECT_THAT(error_of("{hosts: [4], bandwidth: 1Gbps}"), testing::HasSubstr("expected a whole number"));
  EXPECT_THAT(error_of("[1]"), testing::HasSubstr("expected a mapping"));
}

TEST(Spec, DescribesItself) {
  const std::vector<FieldDoc> docs = describe_spec<StarSpec>();
  ASSERT_EQ(docs.size(), 4U);
  EXPECT_TRUE(docs[0].required);
  EXPECT_EQ(docs[2].default_value, "500ns");
  EXPECT_EQ(docs[3].type, "full | half");
}

}  // namespace
}  // namespace orrery::config

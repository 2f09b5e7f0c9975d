// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/manifest.hpp"

#include <fmt/format.h>

#include <string_view>

#include "orrery/base/check.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/base/text.hpp"

namespace orrery::timeline {
namespace {

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t hash_of(const std::vector<std::pair<std::string, std::string>>& configuration) {
  Digest digest;
  for (const auto& [key, value] : configuration) {
    digest.add(key);
    digest.add(value);
  }
  return digest.value();
}

std::string without_folder(std::string_view word) {
  // In "--cluster=/data/c.yaml" the path begins behind the equals sign.
  const std::size_t equals = word.starts_with('-') ? word.find('=') : std::string_view::npos;
  const std::size_t begin = equals == std::string_view::npos ? 0 : equals + 1;
  const std::string_view path = word.substr(begin);
  if (!path.starts_with('/') || path.ends_with('/')) return std::string{word};
  return std::string{word.substr(0, begin)}.append(path.substr(path.rfind('/') + 1));
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%[]{}";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text.append(c == '\'' ? std::string{"'\\''"} : std::string(1, c));
  return text.append("'");
}

/// Keeps a value with line breaks on its one comment line.
std::string on_one_line(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text.append("\\n");
    } else if (c != '\r') {
      text.push_back(c);
    }
  }
  return text;
}

}  // namespace

std::string portable_command(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  shown.reserve(words.size());
  for (const std::string& word : words) shown.push_back(quoted(without_folder(word)));
  return join(shown, " ");
}

nlohmann::ordered_json to_json(const Manifest& manifest) {
  nlohmann::ordered_json configuration = nlohmann::ordered_json::object();
  for (const auto& [key, value] : manifest.configuration) {
    ORRERY_CHECK(!configuration.contains(key), "setting {} stands twice in a manifest", key);
    configuration[key] = value;
  }
  return {{"version", manifest.version},
          {"commit", manifest.commit},
          {"seed", manifest.seed},
          {"digest", hex(manifest.digest)},
          {"configuration_hash", hex(hash_of(manifest.configuration))},
          {"command", portable_command(manifest.command)},
          {"configuration", std::move(configuration)}};
}

std::string to_comment_lines(const Manifest& manifest) {
  std::string lines;
  const auto add = [&lines](std::string_view key, std::string_view value) {
    lines.append(fmt::format("# {}: {}\n", key, on_one_line(value)));
  };
  const nlohmann::ordered_json json = to_json(manifest);
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      for (const auto& [name, setting] : value.items()) {
        add(key + "." + name, setting.get_ref<const std::string&>());
      }
    } else {
      add(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return lines;
}

}  // namespace orrery::timeline

// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/collective.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/app/output_check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/collective_text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/config/document.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples = R"(Size is the whole buffer, as nccl-tests counts it.

Examples:
  orrery collective all_reduce --cluster hgx-h100
  orrery collective all_reduce --cluster hgx-h100 --algorithm nccl --size 1KiB..1GiB:x4
  orrery collective all_to_all --cluster fattree:k=8,bandwidth=100Gbps,latency=1us --ranks 16 --size 8MiB
  orrery collective all_gather --cluster mycluster.yaml --group 0,2,4-7 --algorithm ring,direct --json
  orrery collective broadcast --cluster jetson-lan --root 3 --size 10MB --trace broadcast.json.gz)";

struct Arguments {
  app::CollectiveOptions options;
  std::string ranks;
  std::string root = "0";
  std::string seed = "0";
  std::string iterations = "1";
  std::string workers = "0";
  std::string budget = std::to_string(app::kEffortBudget);
  std::string queue = "auto";
  std::string csv;
  std::string output;
  std::string sizes_file;
  bool is_json = false;
  bool is_quiet = false;
};

engine::QueueKind read_queue(const std::string& text) {
  if (text == "auto") return engine::QueueKind::kAuto;
  if (text == "radix") return engine::QueueKind::kRadix;
  if (text == "dary") return engine::QueueKind::kDary;
  throw InputError{"--queue: '" + text + "': expected one of: auto, radix, dary"};
}

/// A YAML or JSON list of sizes: numbers are bytes, texts have units.
std::vector<std::int64_t> read_sizes_file(const std::string& path) {
  const config::Document document = config::Document::load(path);
  const config::Cursor list{document};
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const config::Cursor item = list.item(i);
    const std::string& text = item.scalar("a size in bytes, or with its unit");
    const std::optional<std::int64_t> plain = parse_integer(text);
    const std::optional<Bytes> bytes = plain ? Bytes{*plain} : parse_bytes(text);
    if (!bytes || bytes->count() < 0) item.fail("expected a size in bytes, or with its unit");
    sizes.push_back(bytes->count());
  }
  if (sizes.empty()) list.fail("the list is empty");
  return sizes;
}

void run(Arguments& arguments) {
  app::CollectiveOptions& options = arguments.options;
  if (options.operation.empty()) {
    throw InputError{
        "orrery collective: expected an operation, such as all_reduce; 'orrery describe' lists them"};
  }
  if (!arguments.ranks.empty()) options.ranks = read_integer("--ranks", arguments.ranks);
  options.root = read_integer("--root", arguments.root);
  options.iterations = read_integer("--iterations", arguments.iterations);
  options.workers = read_integer("--workers", arguments.workers);
  options.budget = read_integer("--budget", arguments.budget);
  options.queue = read_queue(arguments.queue);
  options.seed = read_seed(arguments.seed);
  if (!arguments.sizes_file.empty()) options.uneven = read_sizes_file(arguments.sizes_file);
  for (const std::string& path : {arguments.csv, arguments.output}) {
    if (!path.empty()) app::check_output(path);
  }
  options.wants_stop = was_interrupted;
  const app::CollectiveResult result = [&] {
    Progress progress{arguments.is_quiet};  // Gone before anything is printed.
    options.on_progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    return app::collective(options);
  }();
  if (!arguments.csv.empty()) app::write_csv(result, arguments.csv);
  const std::string json = app::to_json(result);
  if (!arguments.output.empty()) {
    OutputFile file{arguments.output};
    file.write(json);
    file.commit();
  }
  print(arguments.is_json ? json : format_collective(result));
}

}  // namespace

void add_collective(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("collective", "Times of a collective, for sizes and algorithms.");
  const auto arguments = std::make_shared<Arguments>();
  app::CollectiveOptions& options = arguments->options;
  options.option_prefix = "--";
  options.command = session.words;
  const auto add = [command](const char* name, std::string& value, const char* kind, const char* help) {
    CLI::Option* option = command->add_option(name, value, help)->type_name(kind);
    if (!value.empty()) option->capture_default_str();
  };
  add("operation", options.operation, "NAME", "all_reduce, all_gather, reduce_scatter, all_to_all, ...");
  add("--cluster", options.cluster, "CLUSTER", "File, preset, or generator such as star:hosts=8,...");
  add("--ranks", arguments->ranks, "N", "Use the first so many ranks (default: all; send_recv: 2)");
  add("--group", options.group, "RANKS", "Use these ranks, in this order: 0,2,4-7");
  add("--size", options.size, "SIZES", "1KiB..1GiB doubles; 1KiB..1GiB:x4; 1KiB,3MB");
  add("--sizes-file", arguments->sizes_file, "FILE", "Uneven sizes: a YAML or JSON list, one per rank");
  add("--algorithm", options.algorithm, "NAMES", "Names, or all, auto, gloo, nccl, msccl:FILE");
  add("--budget", arguments->budget, "N", "Of auto: most messages, k sent in a row counting k * k");
  add("--network", options.network, "MODEL", "Model, as flow:resolve_delay=1us, or a YAML file");
  add("--dtype", options.dtype, "TYPE", "Element type, e.g. bfloat16, int32");
  add("--root", arguments->root, "RANK", "Of broadcast, reduce, gather, scatter; sender of send_recv");
  add("--seed", arguments->seed, "N", "Of everything random");
  add("--skew", options.skew, "TIME", "Ranks begin at random times up to this apart");
  add("--iterations", arguments->iterations, "N", "Back to back; time is the mean");
  add("--workers", arguments->workers, "N", "Threads, 0 = one per core; never changes a result");
  add("--csv", arguments->csv, "FILE", "Also write the rows to this CSV file");
  add("--output", arguments->output, "FILE", "Also write the JSON result to this file");
  add("--trace", options.trace, "FILE", "Timeline (.json, .json.gz, .csv) of the best at the largest size");
  command->add_option("--queue", arguments->queue)->group("");  // Event queue, for tests.
  command->add_flag("--lenient", options.lenient, "InfraGraph files: follow upstream where it is looser");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->add_flag("--quiet", arguments->is_quiet, "No progress");
  command->footer(kExamples);
  command->callback([arguments, &session] { session.action = [arguments] { run(*arguments); }; });
}

}  // namespace orrery::cli

// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/tagged_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "orrery/base/error.hpp"

namespace orrery::live {

TaggedOutput::TaggedOutput(std::size_t ranks, int output, int errors) {
  for (std::size_t i = 0; i < 2 * ranks; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw InputError{fmt::format("pipe: {}", std::strerror(errno))};
    Stream stream;
    stream.read = ends[0];
    stream.write = ends[1];
    stream.target = i % 2 == 0 ? output : errors;
    stream.tag = fmt::format("[{}] ", i / 2);
    streams_.push_back(std::move(stream));
  }
}

TaggedOutput::~TaggedOutput() {
  for (Stream& stream : streams_) {
    if (stream.write >= 0) ::close(std::exchange(stream.write, -1));
  }
  if (thread_.joinable()) thread_.join();
  for (const Stream& stream : streams_) {
    if (stream.read >= 0) ::close(stream.read);
  }
}

std::vector<int> TaggedOutput::descriptors() const {
  std::vector<int> ends;
  for (const Stream& stream : streams_) ends.push_back(stream.write);
  return ends;
}

void TaggedOutput::start() {
  for (Stream& stream : streams_) ::close(std::exchange(stream.write, -1));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[this] { loop(); }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TaggedOutput::loop() {
  std::array<char, 65536> buffer{};
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<Stream*> open;
    for (Stream& stream : streams_) {
      if (stream.read < 0) continue;
      polled.push_back({.fd = stream.read, .events = POLLIN, .revents = 0});
      open.push_back(&stream);
    }
    if (open.empty()) return;
    ::poll(polled.data(), polled.size(), -1);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t got = ::read(polled[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        pass_on(*open[i], {buffer.data(), static_cast<std::size_t>(got)});
      } else if (got == 0 || errno != EINTR) {
        flush(*open[i]);
        ::close(std::exchange(open[i]->read, -1));
      }
    }
  }
}

void TaggedOutput::pass_on(Stream& stream, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    stream.line += text.substr(0, end);
    if (end == std::string_view::npos) return;
    stream.line += '\n';
    flush(stream);
    text.remove_prefix(end + 1);
  }
}

void TaggedOutput::flush(Stream& stream) {
  if (stream.line.empty()) return;
  if (stream.line.back() != '\n') stream.line += '\n';
  const std::string line = stream.tag + std::exchange(stream.line, {});
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(stream.target, line.data() + done, line.size() - done);
    if (count < 0 && errno != EINTR) return;  // Nobody reads: the run goes on.
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace orrery::live

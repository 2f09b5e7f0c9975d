// SPDX-License-Identifier: Apache-2.0
// Goal: alarms come in virtual time and end waits as they do for real; who waits for a lock gives the clock away.
#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "orrery/live/rank/interposed_rank.hpp"

namespace orrery::live {
namespace {

std::atomic<int> alarms;

class InterposedAlarm : public Interposed {
 protected:
  InterposedAlarm() {
    alarms = 0;
    handle([](int) { ++alarms; });
  }
  ~InterposedAlarm() override {
    ::alarm(0);
    handle(SIG_DFL);
  }
  static void handle(void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    ::sigaction(SIGALRM, &action, nullptr);
  }
  static void set_timer(std::int64_t ms, std::int64_t every_ms = 0) {
    const auto time = [](std::int64_t value) { return timeval{.tv_sec = value / 1000, .tv_usec = value % 1000 * 1000}; };
    const itimerval value{.it_interval = time(every_ms), .it_value = time(ms)};
    EXPECT_EQ(::setitimer(ITIMER_REAL, &value, nullptr), 0);
  }
  static void expect_interrupted(int result) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, EINTR);
  }
};

TEST_F(InterposedAlarm, EndsASleepAndTellsWhatIsLeft) {
  EXPECT_EQ(::alarm(10), 0U);
  EXPECT_EQ(::alarm(2), 10U);
  const timespec long_time = spec(5 * kSecond);
  timespec left{};
  expect_interrupted(::nanosleep(&long_time, &left));
  EXPECT_EQ(alarms, 1);
  EXPECT_NEAR(static_cast<double>(in_ns(left)) / kMs, 3000, 1);
  EXPECT_EQ(::sleep(1), 0U) << "it came once";
  EXPECT_EQ(alarms, 1);
  ::alarm(1);
  EXPECT_EQ(::sleep(4), 3U);
  expect_virtual(4000);
}

TEST_F(InterposedAlarm, ComesAgainAtItsInterval) {
  set_timer(300, 200);
  itimerval left{};
  EXPECT_EQ(::getitimer(ITIMER_REAL, &left), 0);
  EXPECT_EQ(left.it_interval.tv_usec, 200'000);
  EXPECT_GT(left.it_value.tv_usec, 299'000);
  for (int i = 0; i < 3; ++i) expect_interrupted(::usleep(900'000));
  EXPECT_EQ(alarms, 3);
  set_timer(0);
  EXPECT_EQ(::usleep(900'000), 0);
  EXPECT_EQ(alarms, 3);
  EXPECT_EQ(::getitimer(ITIMER_REAL, &left), 0);
  EXPECT_EQ(left.it_value.tv_sec + left.it_value.tv_usec, 0);
}

TEST_F(InterposedAlarm, ComesWhenTheClockIsReadLater) {
  ::alarm(1);
  clock_ps += 2 * kSecond * kPsPerNs;  // Computing.
  EXPECT_EQ(alarms, 0);
  read_clock(CLOCK_MONOTONIC);
  EXPECT_EQ(alarms, 1);
}

TEST_F(InterposedAlarm, EndsWaitsWithoutATimeout) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  ::alarm(1);
  expect_interrupted(::sem_wait(&semaphore));
  ::alarm(1);
  const timespec end = after(CLOCK_REALTIME, 5 * kSecond);
  expect_interrupted(::sem_timedwait(&semaphore, &end));
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pollfd polled{.fd = ends[0], .events = POLLIN, .revents = 0};
  ::alarm(1);
  expect_interrupted(::poll(&polled, 1, -1));
  ::alarm(1);
  expect_interrupted(::pause());
  EXPECT_EQ(alarms, 4);
  expect_virtual(4000);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(InterposedAlarm, DoesNothingWhereItIsIgnored) {
  handle(SIG_IGN);
  ::alarm(1);
  EXPECT_EQ(::sleep(3), 0U);
  expect_virtual(3000);
}

TEST_F(InterposedAlarm, IsNotAChilds) {
  ::alarm(1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::alarm(0) == 0 ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(InterposedAlarm, RefusesNonsense) {
  const itimerval nonsense{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1'000'000}};
  EXPECT_EQ(::setitimer(ITIMER_REAL, &nonsense, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

/// A worker that has used the library, and then waits for work in its queue.
class InterposedQueue : public Interposed {
 protected:
  InterposedQueue() {
    ::sem_init(&queue_, 0, 0);
    ::sem_init(&done_, 0, 0);
    worker_ = std::thread{[this] {
      interpose_claim();
      ::sem_post(&done_);
      ::sem_wait(&queue_);
    }};
    ::sem_wait(&done_);
  }
  ~InterposedQueue() override {
    ::sem_post(&queue_);
    worker_.join();
  }

 private:
  sem_t queue_;
  sem_t done_;
  std::thread worker_;
};

TEST_F(InterposedQueue, WhoWaitsForALockGivesTheClockAway) {
  ::sleep(3);
  ::poll(nullptr, 0, 2000);
  expect_virtual(5000);
}

TEST_F(InterposedQueue, ALoopOnTheClockEnds) {
  const std::int64_t end = read_clock(CLOCK_MONOTONIC) + 1000;
  while (read_clock(CLOCK_MONOTONIC) < end) {
  }
  EXPECT_TRUE(interpose_is_rank_thread());
}

TEST_F(Interposed, AnEndedThreadGivesTheClockBack) {
  std::thread{[] { interpose_claim(); }}.join();
  ::sleep(3);
  expect_virtual(3000);
}

}  // namespace
}  // namespace orrery::live

// SPDX-License-Identifier: Apache-2.0
// Goal: alarms come in virtual time and end waits as they do for real; who waits for a lock gives the clock away.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
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
    const auto time = [](std::int64_t value) {
      return timeval{.tv_sec = value / 1000, .tv_usec = value % 1000 * 1000};
    };
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
  const std::int64_t end = real_now() + 10 * kSecond;
  while (alarms == 0 && real_now() < end) ::sched_yield();
  EXPECT_EQ(alarms, 1);
}

TEST_F(InterposedAlarm, EndsWaitsForALockOrASignal) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  ::alarm(2);
  expect_interrupted(::sem_wait(&semaphore));
  ::alarm(2);
  const timespec end = after(CLOCK_REALTIME, 5 * kSecond);
  expect_interrupted(::sem_timedwait(&semaphore, &end));
  ::alarm(2);
  expect_interrupted(::pause());
  EXPECT_EQ(alarms, 3);
  expect_virtual(6000);
}

TEST_F(InterposedAlarm, EndsWaitsForDescriptors) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  timeval left{.tv_sec = 5, .tv_usec = 0};
  ::alarm(2);
  expect_interrupted(::select(ends[0] + 1, &set, nullptr, nullptr, &left));
  EXPECT_TRUE(FD_ISSET(ends[0], &set)) << "as Linux leaves it";
  EXPECT_EQ((left.tv_sec * 1000 + left.tv_usec / 1000 + 1) / 10, 300);
  expect_virtual(2000);
  pollfd polled{.fd = ends[0], .events = POLLIN, .revents = 0};
  set_timer(200);
  expect_interrupted(::poll(&polled, 1, -1));  // Whoever may answer lives in real time: so does this.
  char byte = 0;
  set_timer(200);
  expect_interrupted(static_cast<int>(::read(ends[0], &byte, 1)));
  EXPECT_EQ(virtual_ms(), 2400);
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
  if (child == 0) {
    arm();  // A rank of its own.
    ::_exit(::alarm(0) == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(InterposedAlarm, GoesOnInVirtualTimeWhenItWasSetBefore) {
  interpose_disarm();
  ::alarm(50);
  arm();
  const unsigned left = ::sleep(60);  // A little of the 50 has gone by really.
  EXPECT_TRUE(left == 10 || left == 11) << left;
  EXPECT_EQ(alarms, 1);
  EXPECT_GE(virtual_ms(), 49'000);
  EXPECT_LE(virtual_ms(), 50'000);
}

TEST_F(InterposedAlarm, RefusesNonsense) {
  const itimerval nonsense{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1'000'000}};
  EXPECT_EQ(::setitimer(ITIMER_REAL, &nonsense, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

/// A worker that has used the library, and then waits for work in its queue; the work takes real time, no virtual one.
class InterposedQueue : public Interposed {
 protected:
  InterposedQueue() {
    ::sem_init(&queue_, 0, 0);
    ::sem_init(&done_, 0, 0);
    worker_ = std::thread{[this] {
      interpose_claim();
      ::sem_post(&done_);
      ::sem_wait(&queue_);
      interpose_claim();
      const InsideLibrary inside;
      ::usleep(200'000);
      ::sem_post(&done_);
    }};
    ::sem_wait(&done_);
  }
  ~InterposedQueue() override {
    ::sem_post(&queue_);
    worker_.join();
  }

  sem_t queue_;  // NOLINT(*-non-private-member-variables-in-classes)
  sem_t done_;   // NOLINT(*-non-private-member-variables-in-classes)

 private:
  std::thread worker_;
};

TEST_F(InterposedQueue, WhoWaitsForALockGivesTheClockAway) {
  ::sleep(3);
  ::poll(nullptr, 0, 2000);
  expect_virtual(5000);
}

TEST_F(InterposedQueue, NoTimeoutRunsDownWhileItWorks) {
  ::usleep(100'000);  // The worker waits now.
  const std::int64_t before = virtual_ms();
  ::sem_post(&queue_);
  const timespec end = after(CLOCK_MONOTONIC, 300 * kSecond);
  EXPECT_EQ(::sem_clockwait(&done_, CLOCK_MONOTONIC, &end), 0);
  EXPECT_EQ(virtual_ms(), before);
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

// SPDX-License-Identifier: Apache-2.0
// Goal: each function of libc that has to do with time gives virtual time on the rank's thread of an armed process,
// takes none of the host's, and is itself everywhere else. Method: a rank that is nothing but a clock; the functions
// stand before libc's because the library is linked in, as they do when it is preloaded.
#include "orrery/live/rank/interposed_rank.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace orrery::live {
namespace {

TEST_F(Interposed, ClocksShowVirtualTimeFromTheirBases) {
  clock_ps = 3 * kSecond * kPsPerNs;
  for (const clockid_t clock :
       {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME}) {
    EXPECT_EQ(read_clock(clock) / kMs, (kMonotonicBase + 3 * kSecond) / kMs);
  }
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_REALTIME_COARSE}) {
    EXPECT_EQ(read_clock(clock) / kMs, (kDefaultEpochNs + 3 * kSecond) / kMs);
  }
  constexpr std::int64_t kEpochSeconds = kDefaultEpochNs / kSecond + 3;
  timeval of_day{};
  EXPECT_EQ(::gettimeofday(&of_day, nullptr), 0);
  EXPECT_EQ(of_day.tv_sec, kEpochSeconds);
  time_t stored = 0;
  EXPECT_EQ(::time(&stored), kEpochSeconds);
  EXPECT_EQ(stored, kEpochSeconds);
  timespec utc{};
  EXPECT_EQ(::timespec_get(&utc, TIME_UTC), TIME_UTC);
  EXPECT_EQ(utc.tv_sec, kEpochSeconds);
  EXPECT_EQ(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::seconds{1}, 503);
}

TEST_F(Interposed, CpuTimeClocksAreReal) {
  const int before = reads;
  EXPECT_LT(read_clock(CLOCK_PROCESS_CPUTIME_ID), 400 * kSecond);
  EXPECT_GT(read_clock(CLOCK_THREAD_CPUTIME_ID), 0);
  EXPECT_EQ(reads, before);
}

TEST_F(Interposed, OnlyTheRanksThreadChargesByReading) {
  const int before = reads;
  std::thread{[] { EXPECT_EQ(read_clock(CLOCK_MONOTONIC), kMonotonicBase); }}.join();
  EXPECT_EQ(reads, before);
  {
    const InsideLibrary inside;
    EXPECT_EQ(read_clock(CLOCK_MONOTONIC), kMonotonicBase);
  }
  EXPECT_EQ(reads, before);
  (void)read_clock(CLOCK_MONOTONIC);
  EXPECT_EQ(reads, before + 1);
}

TEST_F(Interposed, TheThreadThatClaimedLastIsTheRanks) {
  // It lives on while the other one looks: who waits for a thread that has ended may take over.
  std::atomic<int> own = 0;
  std::atomic<bool> is_over = false;
  std::thread other{[&] {
    interpose_claim();
    const int before = reads;
    (void)read_clock(CLOCK_MONOTONIC);
    own = reads - before;
    while (!is_over) {
    }
  }};
  while (own == 0) {
  }
  EXPECT_EQ(own, 1);
  EXPECT_FALSE(interpose_is_rank_thread());
  interpose_claim();
  EXPECT_TRUE(interpose_is_rank_thread());
  is_over = true;
  other.join();
}

TEST_F(Interposed, DisarmedClocksAreReal) {
  interpose_disarm();
  EXPECT_NEAR(static_cast<double>(read_clock(CLOCK_MONOTONIC)), static_cast<double>(real_now()), 1e9);
  EXPECT_FALSE(interpose_is_armed());
}

TEST_F(Interposed, SleepsTakeNoRealTime) {
  const timespec second = spec(kSecond);
  EXPECT_EQ(::nanosleep(&second, nullptr), 0);
  EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, 0, &second, nullptr), 0);
  const timespec at = after(CLOCK_MONOTONIC, kSecond);
  EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr), 0);
  EXPECT_EQ(read_clock(CLOCK_MONOTONIC), in_ns(at));
  EXPECT_EQ(::usleep(1'000'000), 0);
  EXPECT_EQ(::sleep(1), 0U);
  std::this_thread::sleep_for(std::chrono::seconds{1});
  expect_virtual(6000);
}

TEST_F(Interposed, ASleepUntilThePastReturnsAtOnce) {
  const timespec past = spec(kSecond);
  EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, nullptr), 0);
  EXPECT_EQ(virtual_ms(), 0);
}

TEST_F(Interposed, MistakesAreStillTheKernels) {
  const timespec wrong{.tv_sec = 0, .tv_nsec = 2 * kSecond};
  EXPECT_EQ(::nanosleep(&wrong, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, nullptr), EINVAL);
}

TEST_F(Interposed, TimedSemaphoresTimeOutInVirtualTime) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 1);
  const timespec first = after(CLOCK_REALTIME, kSecond);
  EXPECT_EQ(::sem_timedwait(&semaphore, &first), 0);
  EXPECT_EQ(virtual_ms(), 0);
  EXPECT_EQ(::sem_timedwait(&semaphore, &first), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  const timespec second = after(CLOCK_MONOTONIC, 2 * kSecond);
  EXPECT_EQ(::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &second), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  expect_virtual(3000);
}

TEST_F(Interposed, AWaitForAThreadThatComputesDoesNotTimeOut) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  std::thread worker{[&] {
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < 50 * kMs) {
    }
    ::sem_post(&semaphore);
  }};
  const timespec deadline = after(CLOCK_MONOTONIC, 20 * kSecond);
  EXPECT_EQ(::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &deadline), 0);
  EXPECT_EQ(virtual_ms(), 0);
  worker.join();
}

TEST_F(Interposed, AWaitForAThreadThatSleepsTakesItsSleep) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  std::thread worker{[&] {
    ::usleep(900'000);
    ::sem_post(&semaphore);
  }};
  const timespec deadline = after(CLOCK_MONOTONIC, 20 * kSecond);
  EXPECT_EQ(::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &deadline), 0);
  worker.join();
  expect_virtual(900);
}

TEST_F(Interposed, AnotherThreadsTimeoutComesBeforeTheEndOfALongerSleep) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  std::atomic<bool> is_waiting = false;
  std::int64_t woken_ms = 0;
  std::thread worker{[&] {
    const timespec deadline = spec(kMonotonicBase + 50 * kSecond);
    is_waiting = true;
    EXPECT_EQ(::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &deadline), -1);
    woken_ms = virtual_ms();
  }};
  while (!is_waiting) {
  }
  ::sleep(100);
  worker.join();
  EXPECT_EQ(woken_ms, 50'000);
  expect_virtual(100'000);
}

TEST_F(Interposed, AThreadThatPollsTheClockGoesOnWhileTheRankIsStuck) {
  std::thread worker{[] {
    const std::int64_t end = read_clock(CLOCK_MONOTONIC) + 200 * kMs;
    while (read_clock(CLOCK_MONOTONIC) < end) ::usleep(100'000);
  }};
  worker.join();  // Nothing here shows in any function of ours.
  EXPECT_GE(virtual_ms(), 200);
  ::sleep(1);
  EXPECT_TRUE(interpose_is_rank_thread());
  EXPECT_GE(virtual_ms(), 1200);
}

TEST_F(Interposed, WaitsWithoutDescriptorsAreSleeps) {
  timeval second{.tv_sec = 1, .tv_usec = 0};
  EXPECT_EQ(::select(0, nullptr, nullptr, nullptr, &second), 0);
  const timespec also = spec(kSecond);
  EXPECT_EQ(::pselect(0, nullptr, nullptr, nullptr, &also, nullptr), 0);
  EXPECT_EQ(::poll(nullptr, 0, 1000), 0);
  EXPECT_EQ(::ppoll(nullptr, 0, &also, nullptr), 0);
  expect_virtual(4000);
}

class InterposedPipe : public Interposed {
 protected:
  InterposedPipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~InterposedPipe() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void answer() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  [[nodiscard]] int reader() const { return ends_[0]; }

 private:
  int ends_[2]{};
};

TEST_F(InterposedPipe, PollsTimeOutInVirtualTime) {
  pollfd polled{.fd = reader(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&polled, 1, 1000), 0);
  const timespec second = spec(kSecond);
  EXPECT_EQ(::ppoll(&polled, 1, &second, nullptr), 0);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(reader(), &set);
  timeval time{.tv_sec = 1, .tv_usec = 0};
  EXPECT_EQ(::select(reader() + 1, &set, nullptr, nullptr, &time), 0);
  EXPECT_FALSE(FD_ISSET(reader(), &set));
  const int epoll = ::epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {.fd = reader()}};
  EXPECT_EQ(::epoll_ctl(epoll, EPOLL_CTL_ADD, reader(), &event), 0);
  EXPECT_EQ(::epoll_wait(epoll, &event, 1, 1000), 0);
  EXPECT_EQ(::epoll_pwait(epoll, &event, 1, 1000, nullptr), 0);
  expect_virtual(5000);

  answer();
  EXPECT_EQ(::epoll_wait(epoll, &event, 1, 1000), 1);
  EXPECT_EQ(::poll(&polled, 1, 1000), 1);
  FD_SET(reader(), &set);
  EXPECT_EQ(::select(reader() + 1, &set, nullptr, nullptr, &time), 1);
  EXPECT_TRUE(FD_ISSET(reader(), &set));
  expect_virtual(5000);
  ::close(epoll);
}

TEST_F(InterposedPipe, AChildHasTheTimeItNeeds) {
  const pid_t child = ::fork();
  if (child == 0) {
    // No rank: it sleeps really, and its clock is real.
    const bool is_real =
        !interpose_is_armed() && std::abs(read_clock(CLOCK_MONOTONIC) - real_now()) < kSecond;
    ::usleep(200'000);
    answer();
    ::_exit(is_real ? 0 : 1);
  }
  pollfd polled{.fd = reader(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&polled, 1, 30'000), 1);
  EXPECT_EQ(virtual_ms(), 0);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Interposed, PollingForAChildGoesAtItsPace) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::usleep(300'000);
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(20'000);
  EXPECT_GE(virtual_ms(), 20);
  EXPECT_LE(virtual_ms(), real_ms() + 20);
}

TEST_F(Interposed, ConditionsKeepToRealTimeThoughTheirDeadlinesAreVirtual) {
  clock_ps = 100'000 * kSecond * kPsPerNs;  // Far from the host's clock.
  interpose_publish(clock_ps);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  const timespec epoch = after(CLOCK_REALTIME, 20 * kMs);
  EXPECT_EQ(::pthread_cond_timedwait(&condition, &mutex, &epoch), ETIMEDOUT);
  const timespec monotonic = after(CLOCK_MONOTONIC, 20 * kMs);
  EXPECT_EQ(::pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &monotonic), ETIMEDOUT);

  pthread_condattr_t attributes;
  ::pthread_condattr_init(&attributes);
  ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t steady;
  ::pthread_cond_init(&steady, &attributes);
  const timespec again = after(CLOCK_MONOTONIC, 20 * kMs);
  EXPECT_EQ(::pthread_cond_timedwait(&steady, &mutex, &again), ETIMEDOUT);

  std::thread{[&] {
    const timespec soon = after(CLOCK_REALTIME, 20 * kMs);
    EXPECT_EQ(::pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
    const timespec steady_soon = after(CLOCK_MONOTONIC, 20 * kMs);
    EXPECT_EQ(::pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady_soon), ETIMEDOUT);
  }}.join();
  ::pthread_mutex_unlock(&mutex);
  EXPECT_GE(real_ms(), 100);
  EXPECT_LT(real_ms(), 5000);
}

TEST_F(Interposed, ConditionWaitMakesProgress) {
  progress_left = 3;
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock{mutex};
  int wakes = 0;
  condition.wait(lock, [&] { return ++wakes > 3; });
  EXPECT_EQ(progress_left, 0);
}

TEST_F(Interposed, ConditionWaitWithoutProgressSleepsAndLosesNoWakeUp) {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_set = false;
  std::thread worker{[&] {
    const std::scoped_lock lock{mutex};
    is_set = true;
    condition.notify_one();
  }};
  std::unique_lock lock{mutex};
  condition.wait(lock, [&] { return is_set; });
  lock.unlock();
  worker.join();
}

TEST_F(Interposed, ASemaphoreThatOnlyProgressCanPost) {
  static sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  interpose_arm({.monotonic_base_ns = kMonotonicBase,
                 .realtime_base_ns = kDefaultEpochNs,
                 .now = rank_now,
                 .sleep = rank_sleep,
                 .progress = [] { return ::sem_post(&semaphore) == 0 ? 1 : 0; },
                 .has_pending = [] { return 1; }});
  EXPECT_EQ(::sem_wait(&semaphore), 0);
}

TEST(Epoch, ComesFromTheEnvironment) {
  ::setenv("ORRERY_EPOCH", "1500000000000000000", 1);
  EXPECT_EQ(epoch_from_environment(), 1'500'000'000'000'000'000);
  for (const char* text : {"", "yesterday", "-5", "12", "99999999999999999999999"}) {
    ::setenv("ORRERY_EPOCH", text, 1);
    EXPECT_EQ(epoch_from_environment(), kDefaultEpochNs) << text;
  }
  ::unsetenv("ORRERY_EPOCH");
  EXPECT_EQ(epoch_from_environment(), kDefaultEpochNs);
}

}  // namespace
}  // namespace orrery::live

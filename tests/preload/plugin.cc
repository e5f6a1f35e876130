// SPDX-License-Identifier: Apache-2.0
// A plug-in that throws: inside itself, through two of our hooks on the way to its caller, and from a handler that
// interrupts a wait.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

static std::once_flag flag;
static pthread_once_t control = PTHREAD_ONCE_INIT;

static void initialise()
{
	throw std::runtime_error("not this time");
}

static int ends[2];
static sem_t none;

static void throw_it(int number)
{
	throw number;
}

static bool is_in_call(pid_t tid, long number)
{
	char path[64];
	long found = -1;
	std::snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	FILE *file = std::fopen(path, "r");
	if (file && std::fscanf(file, "%ld", &found) != 1)
		found = -1;
	if (file)
		std::fclose(file);
	return found == number;
}

// The thread waits until its handler throws.
static void leave(const char *name, long call, void (*wait)())
{
	std::atomic<pid_t> tid{ 0 };
	std::thread thread([&] {
		try {
			tid = gettid();
			wait();
		} catch (int number) {
			std::printf("%s: thrown %d\n", name, number == SIGUSR1);
		}
		(void)!write(ends[1], "x", 1);
	});
	while (!tid || !is_in_call(tid, call))
		std::this_thread::yield();
	pthread_kill(thread.native_handle(), SIGUSR1);
	thread.join();
}

static void leave_waits()
{
	std::signal(SIGUSR1, throw_it);
	if (pipe(ends) || sem_init(&none, 0, 0))
		std::abort();
	leave("poll", SYS_poll, [] {
		pollfd end = { ends[0], POLLIN, 0 };
		poll(&end, 1, -1);
	});
	leave("sleep", SYS_clock_nanosleep, [] { sleep(1000); });
	leave("pause", SYS_pause, [] { pause(); });
	leave("semaphore", SYS_futex, [] { sem_wait(&none); });
}

extern "C" void run_plugin()
{
	leave_waits();
	for (int i = 0; i < 3; i++) {
		try {
			std::call_once(flag, initialise);
		} catch (const std::exception &error) {
			std::printf("call_once: %s\n", error.what());
		}
		try {
			pthread_once(&control, initialise);
		} catch (const std::exception &error) {
			std::printf("pthread_once: %s\n", error.what());
		}
	}
	std::mutex mutex;
	std::thread thread([&] {
		std::lock_guard<std::mutex> guard(mutex);
		try {
			throw 7;
		} catch (int number) {
			std::printf("in a thread: %d\n", number);
		}
	});
	thread.join();
}

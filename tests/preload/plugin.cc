// SPDX-License-Identifier: Apache-2.0
// A plug-in that throws: inside itself, and through two of our hooks on the way to its caller.
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <thread>

static std::once_flag flag;
static pthread_once_t control = PTHREAD_ONCE_INIT;

static void initialise()
{
	throw std::runtime_error("not this time");
}

extern "C" void run_plugin()
{
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

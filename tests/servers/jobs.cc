// SPDX-License-Identifier: Apache-2.0
// Answer: workers wait for the mutex of the cache, which is a member, in store::Cache::get() and
// put(); main waits for the queue's condition in the end. Stops when it has done its jobs.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace store {

class Cache {
public:
	std::string get(int key)
	{
		std::lock_guard<std::mutex> guard(mutex_);
		auto found = values_.find(key);
		return found == values_.end() ? std::string() : checked(found->second);
	}
	void put(int key, const std::string &value)
	{
		std::lock_guard<std::mutex> guard(mutex_);
		values_[key] = checked(value);
	}

private:
	[[gnu::noinline]] static std::string checked(const std::string &value)
	{
		unsigned sum = 0;
		for (int round = 0; round < 200; round++)
			for (char c : value)
				sum = sum * 31 + static_cast<unsigned char>(c);
		return value + (sum == 1 ? "!" : "");
	}
	std::map<int, std::string> values_;
	std::mutex mutex_;
};

class Queue {
public:
	void push(int job)
	{
		std::unique_lock<std::mutex> guard(mutex_);
		jobs_.push_back(job);
		filled_.notify_one();
	}
	int pop()
	{
		std::unique_lock<std::mutex> guard(mutex_);
		filled_.wait(guard, [this] { return !jobs_.empty(); });
		int job = jobs_.front();
		jobs_.pop_front();
		return job;
	}

private:
	std::deque<int> jobs_;
	std::mutex mutex_;
	std::condition_variable filled_;
};

} // namespace store

static store::Queue queue;

[[gnu::noinline]] static std::string load_record(int job)
{
	char text[4096];
	int fd = open("/proc/self/stat", O_RDONLY);
	long count = read(fd, text, sizeof(text));
	close(fd);
	return std::string(text, count > 0 ? count : 0) + std::to_string(job);
}

static void worker(store::Cache *cache)
{
	for (int job = queue.pop(); job >= 0; job = queue.pop()) {
		if (cache->get(job % 50).empty() || job % 10 == 0)
			cache->put(job % 50, load_record(job));
	}
}

int main()
{
	auto cache = std::make_unique<store::Cache>();
	std::vector<std::thread> workers;
	for (int i = 0; i < 4; i++)
		workers.emplace_back(worker, cache.get());
	for (int job = 0; job < 4000; job++)
		queue.push(job);
	for (int i = 0; i < 4; i++)
		queue.push(-1);
	for (auto &thread : workers)
		thread.join();
	std::puts("done");
}

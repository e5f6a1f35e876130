/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: every twentieth request is slow (work_b) and fills the tail: without it p99 falls to
 * a fraction, p50 stays; work_a moves p50. Arrivals on a timetable (open) fix the makespan,
 * whatever f.
 *
 * A server of two workers behind one queue, a pipe, whose messages are read whole. Its clients
 * wait for their answers and think (closed), or arrivals do not care (open). Each request's time
 * belongs to the client that waits for it, or to the worker that finishes it.
 */
#include "truth.h"

#include <stdatomic.h>

enum { CLIENTS = 4, REQUESTS_MAX = 4096, SLOW_EVERY = 20, WORKERS = 2 };

struct request {
	int answer_fd; /* -1: nobody waits, -2: the worker is to end */
	int number;    /* index into taken_ns */
	uint64_t arrival_ns;
};

static int queue_ends[2];
static uint64_t taken_ns[REQUESTS_MAX];

static void send_request(struct request request)
{
	if (write(queue_ends[1], &request, sizeof(request)) != sizeof(request))
		die(strerror(errno), "write");
}

static void handle(const struct request *request)
{
	work_a();
	if (request->number % SLOW_EVERY == 0)
		work_b();
	if (request->answer_fd < 0)
		taken_ns[request->number] = now_ns() - request->arrival_ns;
	else if (write(request->answer_fd, "x", 1) != 1)
		die(strerror(errno), "write");
}

static void *worker(void *unused UNUSED)
{
	struct request request;

	while (read(queue_ends[0], &request, sizeof(request)) == sizeof(request) &&
	       request.answer_fd != -2)
		handle(&request);
	return NULL;
}

static void *client(void *rank)
{
	long requests = count_of("T_N");
	int answer[2], base = (int)((long)rank * requests);
	char letter;

	if (pipe(answer))
		die(strerror(errno), "pipe");
	for (int i = 0; i < requests; i++) {
		uint64_t begin_ns = now_ns();

		send_request((struct request){ .answer_fd = answer[1], .number = base + i });
		if (read(answer[0], &letter, 1) != 1)
			die("no answer", "read");
		taken_ns[base + i] = now_ns() - begin_ns;
		work_c();
	}
	return NULL;
}

/* The timetable: one arrival every T_M microseconds, late ones at once. */
static void *arrivals(void *unused UNUSED)
{
	long requests = count_of("T_N"), period_ns = count_of("T_M") * NS_PER_US;
	uint64_t due_ns = now_ns();

	for (int i = 0; i < requests; i++) {
		struct timespec due = to_timespec(due_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		send_request(
			(struct request){ .answer_fd = -1, .number = i, .arrival_ns = due_ns });
		due_ns += (uint64_t)period_ns;
	}
	return NULL;
}

static void serve(long sources, routine *source)
{
	pthread_t workers[WORKERS];
	long requests = sources * count_of("T_N");

	if (requests > REQUESTS_MAX || pipe(queue_ends))
		die("is too large, or there is no pipe", "T_N");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	start_many(sources, source);
	join_all();
	for (int i = 0; i < WORKERS; i++)
		send_request((struct request){ .answer_fd = -2 });
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	report_latencies(taken_ns, (size_t)requests);
}

static void closed(void)
{
	serve(CLIENTS, client);
}

static void open_loop(void)
{
	serve(1, arrivals);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "closed", closed },
						   { "open", open_loop },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

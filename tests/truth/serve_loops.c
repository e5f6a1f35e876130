/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: in a loop alone a slow request (work_b) holds up all that come after it. Of a pool of
 * workers it takes one.
 *
 * Servers with event loops. A loop's own work on a request is work_a, and work_b of the slow
 * kind. The comment above each service says who works. Sockets do not block, and are read until
 * nothing is left. Not here: threads that block in a read (serve_threads.c).
 */
#include "serving.h"

#include <stdatomic.h>

enum { EVENTS_MAX = 32, QUEUE_MAX = 4096, BUFFER_BYTES = DEPTH_MAX * REQUEST_BYTES };

static void poller_add(int poller, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	die_if(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void accept_into(int poller, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	send_at_once(fd);
	poller_add(poller, fd);
}

static int loop_make(int listener)
{
	int poller = epoll_create1(EPOLL_CLOEXEC);

	fcntl(listener, F_SETFL, O_NONBLOCK);
	poller_add(poller, listener);
	return poller;
}

/* Takes what has come from a connection: whole requests. 0 = nothing now, -1 = it is closed. */
static long requests_take(int fd, struct request requests[DEPTH_MAX])
{
	ssize_t got = read(fd, requests, BUFFER_BYTES);

	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got <= 0) {
		close(fd);
		return -1;
	}
	if (got % REQUEST_BYTES &&
	    !read_all(fd, (char *)requests + got, REQUEST_BYTES - (size_t)got % REQUEST_BYTES))
		die("half a request", "read");
	return (got + REQUEST_BYTES - 1) / REQUEST_BYTES;
}

/* looped, reuseport: each loop serves what it polls, one request after the other. */
static void loop_serve(int fd)
{
	struct request requests[DEPTH_MAX];
	long count;

	while ((count = requests_take(fd, requests)) > 0)
		for (long i = 0; i < count; i++) {
			if (is_slow(&requests[i]))
				work_b();
			else
				work_a();
			answer(fd);
		}
}

static void *loop(void *number)
{
	int listener = listeners[(long)number], poller = loop_make(listener);
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int found = epoll_wait(poller, events, EVENTS_MAX, -1);

		for (int i = 0; i < found; i++) {
			if (events[i].data.fd == listener)
				accept_into(poller, listener);
			else
				loop_serve(events[i].data.fd);
		}
	}
	return NULL;
}

static void looped(void)
{
	start_detached(loop, 0);
}

static void reuseport(void)
{
	for (long i = 0; i < count_of("T_W"); i++)
		start_detached(loop, i);
}

/* pipelined: a loop that answers all that a connection sent at once with one write. */
static void pipeline_serve(int fd)
{
	struct request requests[DEPTH_MAX];
	char answers[DEPTH_MAX * ANSWER_BYTES] = "";
	long count = requests_take(fd, requests);

	for (long i = 0; i < count; i++) {
		if (is_slow(&requests[i]))
			work_b();
		else
			work_a();
	}
	if (count > 0)
		write_all(fd, answers, (size_t)count * ANSWER_BYTES);
}

static void *pipeline_loop(void *unused UNUSED)
{
	int poller = loop_make(listeners[0]);
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int found = epoll_wait(poller, events, EVENTS_MAX, -1);

		for (int i = 0; i < found; i++) {
			if (events[i].data.fd == listeners[0])
				accept_into(poller, listeners[0]);
			else
				pipeline_serve(events[i].data.fd);
		}
	}
	return NULL;
}

static void pipelined(void)
{
	start_detached(pipeline_loop, 0);
}

/* offloaded: the loop reads (work_a) and queues; T_W workers work (work_b, the slow kind work_c),
 * and call the loop, which answers. chained: the loop queues each request's job again (work_d),
 * until it was done STAGES times. Of the slow kind only the first job is slow. Workers do not call
 * a loop that was called and has not come yet. */
enum { STAGES = 3 };

struct job {
	int fd;
	int stage;
	struct request request;
};

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct job jobs[QUEUE_MAX];
	size_t put, taken;
};

static struct jobs to_do = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .filled = PTHREAD_COND_INITIALIZER };
static struct jobs done = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int bell; /* rings when there is something done */
static int last_stage;
static _Atomic bool is_called;

static void jobs_put(struct jobs *jobs, const struct job *job)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->jobs[jobs->put++ % QUEUE_MAX] = *job;
	pthread_cond_signal(&jobs->filled);
	pthread_mutex_unlock(&jobs->lock);
}

static bool jobs_take(struct jobs *jobs, struct job *job, bool waits)
{
	bool has_any;

	pthread_mutex_lock(&jobs->lock);
	while (waits && jobs->taken == jobs->put)
		pthread_cond_wait(&jobs->filled, &jobs->lock);
	has_any = jobs->taken != jobs->put;
	if (has_any)
		*job = jobs->jobs[jobs->taken++ % QUEUE_MAX];
	pthread_mutex_unlock(&jobs->lock);
	return has_any;
}

static void *offload_worker(void *unused UNUSED)
{
	struct job job;
	uint64_t one = 1;

	while (jobs_take(&to_do, &job, true)) {
		if (is_slow(&job.request) && !job.stage)
			work_c();
		else
			work_b();
		jobs_put(&done, &job);
		if (!last_stage || !atomic_exchange(&is_called, true))
			write_all(bell, &one, sizeof(one));
	}
	return NULL;
}

static void offload_read(int fd)
{
	struct request requests[DEPTH_MAX];
	long count = requests_take(fd, requests);

	for (long i = 0; i < count; i++) {
		struct job job = { fd, 0, requests[i] };

		work_a();
		jobs_put(&to_do, &job);
	}
}

static void offload_answer(void)
{
	uint64_t rings;
	struct job job;

	if (read(bell, &rings, sizeof(rings)) != sizeof(rings))
		return;
	atomic_store(&is_called, false);
	while (jobs_take(&done, &job, false)) {
		if (job.stage++ == last_stage) {
			answer(job.fd);
			continue;
		}
		work_d();
		jobs_put(&to_do, &job);
	}
}

static void *offload_loop(void *unused UNUSED)
{
	int poller = loop_make(listeners[0]);
	struct epoll_event events[EVENTS_MAX];

	poller_add(poller, bell);
	for (;;) {
		int found = epoll_wait(poller, events, EVENTS_MAX, -1);

		for (int i = 0; i < found; i++) {
			if (events[i].data.fd == listeners[0])
				accept_into(poller, listeners[0]);
			else if (events[i].data.fd == bell)
				offload_answer();
			else
				offload_read(events[i].data.fd);
		}
	}
	return NULL;
}

static void offloaded(void)
{
	bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (long i = 0; i < count_of("T_W"); i++)
		start_detached(offload_worker, i);
	start_detached(offload_loop, 0);
}

static void chained(void)
{
	last_stage = STAGES - 1;
	offloaded();
}

int main(int argc, char **argv)
{
	static const struct service services[] = { { "looped", looped, 0, NULL },
						   { "reuseport", reuseport, LISTENERS_MANY, NULL },
						   { "pipelined", pipelined, 0, NULL },
						   { "offloaded", offloaded, 0, NULL },
						   { "chained", chained, 0, NULL },
						   { NULL, NULL, 0, NULL } };

	return serving_main(argc, argv, services);
}

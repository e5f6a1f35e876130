/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: what a request waits for is the table's lock (work_b, of the slow kind work_c), and
 * what its own thread does outside it (work_a).
 *
 * Servers whose threads block: for each connection one, or a few for all. The comment above each
 * service says who reads, who works and who answers. Not here: event loops (serve_loops.c), locks
 * other than a mutex around a table (serve_locks.c).
 */
#include "serving.h"

enum { QUEUE_MAX = 1024, WORKERS_MAX = 16 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* Looks something up, or changes it, and makes the answer. */
static void serve_one(const struct request *request)
{
	pthread_mutex_lock(&table_lock);
	if (is_slow(request))
		work_c();
	else
		work_b();
	pthread_mutex_unlock(&table_lock);
	work_a();
}

/* threaded: a thread accepts, and starts one for each connection. */
static void threaded(void)
{
	serve_threaded(serve_one);
}

/* greeting: the same, but the server speaks first, and requests come as header and body. */
static void *greeter(void *argument)
{
	static const char greeting[ANSWER_BYTES] = "server 1.0, who is there?";
	int fd = (int)(long)argument;
	struct request request;

	write_all(fd, greeting, sizeof(greeting));
	if (!request_read(fd, &request))
		return NULL;
	answer(fd);
	while (read_all(fd, request.text, 4) && read_all(fd, request.text + 4, REQUEST_BYTES - 4)) {
		serve_one(&request);
		answer(fd);
	}
	close(fd);
	return NULL;
}

static void *greeting_acceptor(void *unused UNUSED)
{
	for (int fd; (fd = accept_next(listeners[0])) >= 0;)
		start_detached(greeter, fd);
	return NULL;
}

static void greeting(void)
{
	start_detached(greeting_acceptor, 0);
}

/* pooled: a thread accepts and queues; T_W workers each take a connection for one request. */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int queue[QUEUE_MAX];
static size_t queue_put, queue_taken;

static int queue_take(void)
{
	int fd;

	pthread_mutex_lock(&queue_lock);
	while (queue_taken == queue_put)
		pthread_cond_wait(&queue_filled, &queue_lock);
	fd = queue[queue_taken++ % QUEUE_MAX];
	pthread_mutex_unlock(&queue_lock);
	return fd;
}

static void *pool_worker(void *unused UNUSED)
{
	struct request request;

	for (;;) {
		int fd = queue_take();

		if (request_read(fd, &request)) {
			serve_one(&request);
			answer(fd);
		}
		close(fd);
	}
	return NULL;
}

static void *pool_acceptor(void *unused UNUSED)
{
	for (int fd; (fd = accept_next(listeners[0])) >= 0;) {
		pthread_mutex_lock(&queue_lock);
		queue[queue_put++ % QUEUE_MAX] = fd;
		pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_lock);
	}
	return NULL;
}

static void pooled(void)
{
	for (long i = 0; i < count_of("T_W"); i++)
		start_detached(pool_worker, i);
	start_detached(pool_acceptor, 0);
}

/* handed: a thread accepts, and hands connections to T_W threads in turn, each of which polls its
 * own. */
static int hand_over[WORKERS_MAX][2];

static void poller_add(int poller, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	die_if(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void *handed_worker(void *argument)
{
	int poller = epoll_create1(EPOLL_CLOEXEC), pipe_end = hand_over[(long)argument][0], fd;
	struct epoll_event event;
	struct request request;

	poller_add(poller, pipe_end);
	while (epoll_wait(poller, &event, 1, -1) == 1) {
		if (event.data.fd == pipe_end) {
			if (read_all(pipe_end, &fd, sizeof(fd)))
				poller_add(poller, fd);
		} else if (request_read(event.data.fd, &request)) {
			serve_one(&request);
			answer(event.data.fd);
		} else {
			close(event.data.fd);
		}
	}
	return NULL;
}

static void *handing_acceptor(void *unused UNUSED)
{
	long workers = count_of("T_W");
	int fd;

	for (long i = 0; (fd = accept_next(listeners[0])) >= 0; i++)
		write_all(hand_over[i % workers][1], &fd, sizeof(fd));
	return NULL;
}

static void handed(void)
{
	for (long i = 0; i < count_of("T_W"); i++) {
		die_if(pipe2(hand_over[i], O_CLOEXEC), "pipe2");
		start_detached(handed_worker, i);
	}
	start_detached(handing_acceptor, 0);
}

int main(int argc, char **argv)
{
	static const struct service services[] = { { "threaded", threaded, 0, NULL },
						   { "greeting", greeting, CLIENTS_GREETED, NULL },
						   { "pooled", pooled, CLIENTS_SHORT, NULL },
						   { "handed", handed, 0, NULL },
						   { NULL, NULL, 0, NULL } };

	return serving_main(argc, argv, services);
}

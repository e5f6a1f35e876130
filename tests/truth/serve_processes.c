/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: the proxy's work (work_a) and the backend's (work_b, the slow kind work_c) add up, and
 * whoever is fewer decides how long requests queue.
 *
 * Servers of several processes, and one of datagrams. The comment above each service says who they
 * are. Processes end at SIGTERM as servers do: their main thread waits for it and exits.
 */
#include "serving.h"

#include <sys/wait.h>

enum { PROCESSES_MAX = 16 };

static pid_t processes[PROCESSES_MAX];
static int process_count;

/* Forks a process that serves until it is told to end. */
static void process_start(routine *serve, long argument)
{
	pid_t child = fork();

	die_if(child < 0, "fork");
	if (child) {
		processes[process_count++] = child;
		return;
	}
	start_detached(serve, argument);
	end_await();
	exit(0);
}

static void processes_end(void)
{
	for (int i = 0; i < process_count; i++)
		kill(processes[i], SIGTERM);
	for (int i = 0; i < process_count; i++)
		waitpid(processes[i], NULL, 0);
}

/* preforked: T_W processes accept from one socket, each for one request (work_a, the slow kind
 * work_b). */
static void *prefork_worker(void *unused UNUSED)
{
	struct request request;

	for (int fd; (fd = accept_next(listeners[0])) >= 0; close(fd)) {
		if (!request_read(fd, &request))
			continue;
		if (is_slow(&request))
			work_b();
		else
			work_a();
		answer(fd);
	}
	return NULL;
}

static void preforked(void)
{
	for (long i = 0; i < count_of("T_W"); i++)
		process_start(prefork_worker, i);
}

/* proxied: a proxy's thread for each client has a connection to the backend, which has T_W
 * workers. */
static struct sockaddr_un backend_address = { .sun_family = AF_UNIX };
static socklen_t backend_bytes = sizeof(backend_address);
static int backend_listener;
static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t workers_free = PTHREAD_COND_INITIALIZER;
static long workers_busy, workers_max;

static void backend_work(const struct request *request)
{
	pthread_mutex_lock(&workers_lock);
	while (workers_busy == workers_max)
		pthread_cond_wait(&workers_free, &workers_lock);
	workers_busy++;
	pthread_mutex_unlock(&workers_lock);
	if (is_slow(request))
		work_c();
	else
		work_b();
	pthread_mutex_lock(&workers_lock);
	workers_busy--;
	pthread_cond_signal(&workers_free);
	pthread_mutex_unlock(&workers_lock);
}

static void *backend_handler(void *argument)
{
	int fd = (int)(long)argument;
	struct request request;

	while (request_read(fd, &request)) {
		backend_work(&request);
		answer(fd);
	}
	close(fd);
	return NULL;
}

static void *backend(void *unused UNUSED)
{
	for (int fd; (fd = accept4(backend_listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
		start_detached(backend_handler, fd);
	return NULL;
}

static void *proxy_handler(void *argument)
{
	int fd = (int)(long)argument, upstream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct request request;
	char text[ANSWER_BYTES];

	die_if(upstream < 0 ||
		       connect(upstream, (struct sockaddr *)&backend_address, backend_bytes),
	       "connect");
	while (request_read(fd, &request)) {
		work_a();
		write_all(upstream, &request, sizeof(request));
		if (!read_all(upstream, text, sizeof(text)))
			die("the backend is gone", "read");
		write_all(fd, text, sizeof(text));
	}
	close(upstream);
	close(fd);
	return NULL;
}

static void *proxy(void *unused UNUSED)
{
	for (int fd; (fd = accept_next(listeners[0])) >= 0;)
		start_detached(proxy_handler, fd);
	return NULL;
}

static void proxied(void)
{
	workers_max = count_of("T_W");
	backend_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	die_if(bind(backend_listener, (struct sockaddr *)&backend_address, sizeof(sa_family_t)) ||
		       listen(backend_listener, BACKLOG) ||
		       getsockname(backend_listener, (struct sockaddr *)&backend_address,
				   &backend_bytes),
	       "bind");
	process_start(backend, 0);
	start_detached(proxy, 0);
}

/* datagrams: T_W threads receive from one socket, work (work_a, the slow kind work_b), and
 * answer. */
static void *datagram_worker(void *unused UNUSED)
{
	static const char text[ANSWER_BYTES] = "200 OK, and the value that was asked for";
	struct sockaddr_storage from;
	struct request request;

	for (;;) {
		socklen_t bytes = sizeof(from);

		if (recvfrom(listeners[0], &request, sizeof(request), 0, (struct sockaddr *)&from,
			     &bytes) != sizeof(request))
			continue;
		if (is_slow(&request))
			work_b();
		else
			work_a();
		sendto(listeners[0], text, sizeof(text), 0, (struct sockaddr *)&from, bytes);
	}
	return NULL;
}

static void datagrams(void)
{
	for (long i = 0; i < count_of("T_W"); i++)
		start_detached(datagram_worker, i);
}

int main(int argc, char **argv)
{
	static const struct service services[] = {
		{ "preforked", preforked, CLIENTS_SHORT, processes_end },
		{ "proxied", proxied, 0, processes_end },
		{ "datagrams", datagrams, CLIENTS_DATAGRAM, NULL },
		{ NULL, NULL, 0, NULL }
	};

	return serving_main(argc, argv, services);
}

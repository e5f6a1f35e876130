/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener. See listener.h.
 *
 * The answer is sent in one go: it fits the socket's buffer, or what does not is lost with its
 * connection. A ninth client takes the place of one that has not asked yet.
 */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 8 };

void listener_init(struct listener *listener)
{
	*listener = (struct listener){ .fd = -1 };
	for (int i = 0; i < LISTENER_CLIENTS_MOST; i++)
		listener->clients[i].fd = -1;
}

int listener_open(struct listener *listener, unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, error;

	if (port == 0)
		return 0;
	listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	(void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(listener->fd, BACKLOG) == 0)
		return 0;
	error = -errno;
	listener_close(listener);
	return error;
}

static void hang_up(struct listener *listener, int client)
{
	close(listener->clients[client].fd);
	listener->clients[client].fd = -1;
}

void listener_close(struct listener *listener)
{
	for (int i = 0; i < LISTENER_CLIENTS_MOST; i++)
		if (listener->clients[i].fd >= 0)
			hang_up(listener, i);
	if (listener->fd >= 0)
		close(listener->fd);
	listener->fd = -1;
}

size_t listener_watch(const struct listener *listener, struct pollfd *polls)
{
	size_t count = 0;

	if (listener->fd < 0)
		return 0;
	polls[count++] = (struct pollfd){ listener->fd, POLLIN, 0 };
	for (int i = 0; i < LISTENER_CLIENTS_MOST; i++)
		if (listener->clients[i].fd >= 0)
			polls[count++] = (struct pollfd){ listener->clients[i].fd, POLLIN, 0 };
	return count;
}

static void take_client(struct listener *listener)
{
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	unsigned place = 0;

	if (fd < 0)
		return;
	while (place < LISTENER_CLIENTS_MOST && listener->clients[place].fd >= 0)
		place++;
	if (place == LISTENER_CLIENTS_MOST) {
		place = listener->turn++ % LISTENER_CLIENTS_MOST;
		hang_up(listener, (int)place);
	}
	listener->clients[place].fd = fd;
	listener->clients[place].used = 0;
}

static void answer(int fd, const char *request, void (*make)(struct body *body))
{
	struct body metrics = { 0 }, all = { 0 };
	bool is_get = strncmp(request, "GET ", 4) == 0;
	bool is_there = is_get && (strncmp(request + 4, "/metrics ", 9) == 0 ||
				   strncmp(request + 4, "/metrics?", 9) == 0);

	if (is_there)
		make(&metrics);
	else
		body_puts(&metrics, "metrics are at /metrics\n");
	body_printf(&all,
		    "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		    is_there ? "200 OK"
		    : is_get ? "404 Not Found"
			     : "405 Method Not Allowed\r\nAllow: GET",
		    metrics.used);
	body_put(&all, metrics.bytes, metrics.used);
	if (!all.has_failed && !metrics.has_failed)
		(void)send(fd, all.bytes, all.used, MSG_NOSIGNAL | MSG_DONTWAIT);
	body_free(&metrics);
	body_free(&all);
}

static void serve(struct listener *listener, int client, void (*make)(struct body *body))
{
	char *request = listener->clients[client].request;
	size_t *used = &listener->clients[client].used;
	ssize_t got = recv(listener->clients[client].fd, request + *used,
			   LISTENER_REQUEST_BYTES - 1 - *used, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	*used += got > 0 ? (size_t)got : 0;
	request[*used] = '\0';
	if (got > 0 && !strstr(request, "\r\n\r\n") && *used < LISTENER_REQUEST_BYTES - 1)
		return;
	if (got > 0)
		answer(listener->clients[client].fd, request, make);
	hang_up(listener, client);
}

void listener_serve(struct listener *listener, const struct pollfd *polls, size_t count,
		    void (*make)(struct body *body))
{
	for (size_t i = 0; i < count; i++) {
		if (!polls[i].revents)
			continue;
		if (polls[i].fd == listener->fd)
			take_client(listener);
		for (int k = 0; k < LISTENER_CLIENTS_MOST; k++)
			if (listener->clients[k].fd == polls[i].fd && polls[i].fd >= 0 &&
			    polls[i].fd != listener->fd)
				serve(listener, k, make);
	}
}

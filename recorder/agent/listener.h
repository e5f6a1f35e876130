/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics by HTTP, on 127.0.0.1: one answer to a connection.
 *
 * Anybody on the machine may connect. So a connection has a few bytes and one turn for its request,
 * and never makes the agent wait. One thread.
 */
#ifndef WCPROF_LISTENER_H
#define WCPROF_LISTENER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "body.h"

enum { LISTENER_CLIENTS_MOST = 8, LISTENER_REQUEST_BYTES = 1024 };

struct listener {
	int fd; /* < 0: there is none */
	struct {
		int fd; /* < 0: this place is free */
		size_t used;
		char request[LISTENER_REQUEST_BYTES];
	} clients[LISTENER_CLIENTS_MOST];
	unsigned turn;
};

void listener_init(struct listener *listener);
/* Port 0: none. 0, or -errno. */
int listener_open(struct listener *listener, unsigned port);
void listener_close(struct listener *listener);
/* The descriptors to be waited for: at most one more than the clients. */
size_t listener_watch(const struct listener *listener, struct pollfd *polls);
/* Answers who is ready; `make` writes the metrics. */
void listener_serve(struct listener *listener, const struct pollfd *polls, size_t count,
		    void (*make)(struct body *body));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose calls are recorded. See scope.h.
 *
 * The pattern is kept in words that are written and read one by one. A thread that reads while it
 * is written may decide wrongly, and decides again because self_period grows after the writing.
 */
#include "scope.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "glob.h"
#include "op.h"
#include "syscalls.h"

#include "in_target.h"

union glob {
	char text[SCOPE_GLOB_BYTES];
	uint64_t words[SCOPE_GLOB_BYTES / sizeof(uint64_t)];
};

static union glob threads;
static uint32_t is_on;
uint32_t recorder_port;

enum { GLOB_WORDS = sizeof(threads.words) / sizeof(threads.words[0]) };

void scope_set_switch(bool on)
{
	store_relaxed(&is_on, on);
}

bool scope_set_threads(const char *glob, size_t bytes)
{
	union glob to = { .words = { 0 } };

	if (bytes >= SCOPE_GLOB_BYTES)
		return false;
	memcpy(to.text, glob, bytes);
	for (int i = 0; i < GLOB_WORDS; i++)
		store_relaxed(&threads.words[i], to.words[i]);
	return true;
}

void scope_get_threads(char glob[SCOPE_GLOB_BYTES])
{
	union glob copy;

	for (int i = 0; i < GLOB_WORDS; i++)
		copy.words[i] = load_relaxed(&threads.words[i]);
	copy.text[SCOPE_GLOB_BYTES - 1] = '\0';
	memcpy(glob, copy.text, SCOPE_GLOB_BYTES);
}

bool scope_goes_by_name(void)
{
	return load_relaxed(&threads.words[0]) != 0;
}

void scope_set_port(uint32_t port)
{
	store_relaxed(&recorder_port, port);
}

uint32_t scope_port(void)
{
	return load_relaxed(&recorder_port);
}

/* The port at this end of an internet socket; 0 for anything else. */
static uint32_t local_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t bytes = sizeof(address);

	if (SYS3(getsockname, fd, &address, &bytes) != 0)
		return 0;
	if (address.any.sa_family == AF_INET)
		return __builtin_bswap16(address.v4.sin_port);
	return address.any.sa_family == AF_INET6 ? __builtin_bswap16(address.v6.sin6_port) : 0;
}

/* A thread serves the port from its first use of a connection that came in there, until it uses one
 * that came in elsewhere. Connections that it made itself, files and pipes change nothing. */
void recorder_note_descriptor(int fd)
{
	struct self *self = &self_of_thread;
	uint32_t port = scope_port();
	bool serves = self->serves_port == port, is_port;

	if (fd < 0 || port == 0 || self->busy | self->retired)
		return;
	if (serves && !descriptors_is_accepted(fd))
		return;
	is_port = local_port(fd) == port;
	if (is_port == serves)
		return;
	self->serves_port = is_port ? port : 0;
	self->period = 0;
}

static bool has_name(const char *name)
{
	char glob[SCOPE_GLOB_BYTES];

	if (!scope_goes_by_name())
		return true;
	scope_get_threads(glob);
	return glob_matches(glob, name);
}

bool scope_has(const struct self *self)
{
	char name[16] = "";

	if (self->flows > 0 || op_is_in_flow(self))
		return true;
	if (!load_relaxed(&is_on))
		return false;
	if (scope_port() != 0 && self->serves_port != scope_port())
		return false;
	if (!scope_goes_by_name())
		return true; /* without a system call */
	(void)SYS3(prctl, PR_GET_NAME, name, 0);
	return has_name(name);
}

bool scope_has_named(const char *name)
{
	return scope_port() == 0 && has_name(name);
}

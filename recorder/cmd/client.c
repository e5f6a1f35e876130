/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a control socket. See client.h.
 */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	ANSWER_TIMEOUT_MS = 5000,
	/* A process that is stopped, or has nothing but stopped CPUs, keeps a dump waiting for
	 * so long at most. */
	DUMP_TIMEOUT_MS = 30000,
	DUMP_READ_BYTES = 262144
};

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

int client_connect(const char *path, pid_t *pid)
{
	struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t bytes = sizeof(peer);
	int fd = connect_to(path);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
	    (geteuid() != 0 && peer.uid != geteuid())) {
		close(fd);
		return -EPERM;
	}
	if (pid)
		*pid = peer.pid;
	return fd;
}

static int send_line(int fd, const char *line)
{
	char text[600];
	int length = snprintf(text, sizeof(text), "%s\n", line);

	if (length < 0 || (size_t)length >= sizeof(text))
		return -E2BIG;
	return send(fd, text, (size_t)length, MSG_NOSIGNAL) == length ? 0 : -EPIPE;
}

/* What poll() found, 0 = nothing in time. */
static short wait_for(int fd, short events, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	int result;

	do
		result = poll(&poll_fd, 1, timeout_ms);
	while (result < 0 && errno == EINTR);
	return result > 0 ? poll_fd.revents : 0;
}

/* Splits "OK {...}" or "ERR code message". */
static void read_answer(char *line, struct client_answer *answer)
{
	line[strcspn(line, "\n")] = '\0';
	answer->is_ok = strncmp(line, "OK ", 3) == 0;
	if (answer->is_ok)
		memmove(line, line + 3, strlen(line + 3) + 1);
	else if (strncmp(line, "ERR ", 4) == 0 && strchr(line + 4, ' '))
		memmove(line, strchr(line + 4, ' ') + 1, strlen(strchr(line + 4, ' ') + 1) + 1);
}

bool client_ask(const char *path, const char *line, struct client_answer *answer)
{
	int fd = client_connect(path, NULL);
	size_t used = 0;
	ssize_t got = 1;
	int result = fd < 0 ? fd : send_line(fd, line);

	answer->is_ok = false;
	while (result == 0 && got > 0 && used < sizeof(answer->text) - 1 &&
	       !memchr(answer->text, '\n', used)) {
		if (!wait_for(fd, POLLIN, ANSWER_TIMEOUT_MS))
			result = -ETIMEDOUT;
		else if ((got = recv(fd, answer->text + used, sizeof(answer->text) - 1 - used, 0)) >
			 0)
			used += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	answer->text[used] = '\0';
	if (result == 0 && used > 0) {
		read_answer(answer->text, answer);
		return answer->is_ok;
	}
	snprintf(answer->text, sizeof(answer->text), "%s",
		 result == -ETIMEDOUT ? "it does not answer (is it stopped?)"
		 : result == 0        ? "it hung up"
				      : strerror(-result));
	return false;
}

/* "ERR code message" where a dump should begin. */
static int refusal(const char *text, size_t bytes)
{
	static const struct {
		const char *begin;
		int error;
	} refusals[] = {
		{ "ERR busy", -EAGAIN },
		{ "ERR nothing", -ENODATA },
		{ "ERR denied", -EPERM },
		{ "ERR memory", -ENOMEM },
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (bytes >= strlen(refusals[i].begin) &&
		    memcmp(text, refusals[i].begin, strlen(refusals[i].begin)) == 0)
			return refusals[i].error;
	return -EPROTO;
}

/* All bytes up to the end of file; the last one received is left in *last. */
static int receive_dump(int fd, char *buffer, client_sink *sink, void *context, char *last)
{
	bool is_first = true;

	for (;;) {
		ssize_t got;
		int result;

		if (!wait_for(fd, POLLIN, DUMP_TIMEOUT_MS))
			return -EPIPE;
		got = recv(fd, buffer, DUMP_READ_BYTES, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 && !is_first ? 0 : -EPIPE;
		if (is_first && buffer[0] != '{')
			return refusal(buffer, (size_t)got);
		is_first = false;
		*last = buffer[got - 1];
		result = sink(context, buffer, (size_t)got);
		if (result != 0)
			return result;
	}
}

int client_dump(const char *path, bool flush, client_sink *sink, void *context)
{
	int fd = client_connect(path, NULL);
	char *buffer = malloc(DUMP_READ_BYTES);
	char last = 0;
	int result = fd;

	if (fd >= 0)
		result = buffer ? send_line(fd, flush ? "DUMP" : "DUMP flush=0") : -ENOMEM;
	if (result == 0)
		result = receive_dump(fd, buffer, sink, context, &last);
	/* The process ends its direction first, and closes when it has seen that all has
	 * arrived: a hang-up. */
	if (result == 0 && (last != '\n' || !wait_for(fd, 0, DUMP_TIMEOUT_MS)))
		result = -EPIPE;
	if (result == 0)
		result = sink(context, NULL, 0);
	free(buffer);
	if (fd >= 0)
		close(fd);
	return result;
}

/* Where the value of a key begins. Quotes inside strings are escaped, so that this is no part
 * of one. */
static const char *find_value(const char *object, const char *key)
{
	char pattern[80];
	const char *found;

	snprintf(pattern, sizeof(pattern), "\"%s\":", key);
	found = strstr(object, pattern);
	return found ? found + strlen(pattern) : NULL;
}

bool client_number(const char *object, const char *key, uint64_t *value)
{
	const char *at = find_value(object, key);
	char *end;

	if (!at)
		return false;
	*value = strtoull(at, &end, 10);
	return end != at;
}

bool client_string(const char *object, const char *key, char *to, size_t size)
{
	const char *at = find_value(object, key);
	size_t used = 0;

	if (!at || *at != '"')
		return false;
	for (at++; *at && *at != '"' && used < size - 1; at++) {
		if (*at == '\\' && at[1])
			at++;
		to[used++] = *at;
	}
	to[used] = '\0';
	return true;
}

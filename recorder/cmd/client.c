/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a control socket: one request and its answer at a time.
 *
 * Waits are bounded: a process that is stopped does not stop us. No state is kept between calls.
 */
#include "client.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "handout.h"
#include "reach.h"
#include "verbs.h"

enum {
	ANSWER_TIMEOUT_MS = 5000,
	/* A process that is stopped, or has nothing but stopped CPUs, keeps a dump waiting for
	 * so long at most. */
	DUMP_TIMEOUT_MS = 30000,
	DUMP_READ_BYTES = 262144,
	/* More than the stacks of a million threads: who goes on says nothing of use. */
	ANSWER_MOST_BYTES = 268435456,
	/* Descriptors at a time. */
	ASKED_MOST = 512
};

static int connect_directly(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;
	return 0;
}

static int connect_to(const char *path, int flags)
{
	static const struct timeval patience = { .tv_sec = ANSWER_TIMEOUT_MS / 1000 };
	int fd = reach_socket(path, flags);
	int result;

	if (fd < 0)
		return fd;
	/* One that is stopped takes no more than a few. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	result = reach_process(path) ? reach_connect(fd, path) : connect_directly(fd, path);
	if (result == 0)
		return fd;
	close(fd);
	return result;
}

/* A path that leads through a process is for speaking to that one only. */
static bool is_right(const char *path, const struct ucred *peer)
{
	pid_t meant = reach_process(path);

	return (geteuid() == 0 || peer->uid == geteuid()) && (meant == 0 || peer->pid == meant);
}

static int connect_safely(const char *path, int flags, pid_t *pid)
{
	struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t bytes = sizeof(peer);
	int fd = connect_to(path, flags);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || !is_right(path, &peer)) {
		close(fd);
		return -EPERM;
	}
	if (pid)
		*pid = peer.pid;
	return fd;
}

int client_connect(const char *path, pid_t *pid)
{
	return connect_safely(path, 0, pid);
}

int client_probe(const char *path, pid_t *pid)
{
	int fd = connect_safely(path, SOCK_NONBLOCK, pid);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int send_line(int fd, const char *line)
{
	char text[CLIENT_LINE_BYTES_MAX + 1];
	int length = snprintf(text, sizeof(text), "%s\n", line);

	if (length < 0 || (size_t)length >= sizeof(text))
		return -E2BIG;
	return send(fd, text, (size_t)length, MSG_NOSIGNAL) == length ? 0 : -EPIPE;
}

/* The events that poll() found, 0 = none in time. */
static short wait_for(int fd, short events, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	int result;

	do
		result = poll(&poll_fd, 1, timeout_ms);
	while (result < 0 && errno == EINTR);
	return result > 0 ? poll_fd.revents : 0;
}

/* Leaves the object of "OK {...}", or the message of "ERR code message". Whether it is OK. */
static bool read_answer(char *line)
{
	bool is_ok = strncmp(line, "OK ", 3) == 0;
	const char *rest = line;

	line[strcspn(line, "\n")] = '\0';
	if (is_ok)
		rest = line + 3;
	else if (strncmp(line, "ERR ", 4) == 0 && strchr(line + 4, ' '))
		rest = strchr(line + 4, ' ') + 1;
	memmove(line, rest, strlen(rest) + 1);
	return is_ok;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Receives up to the end of a line, which *text has room for: at least one byte more. An answer
 * that may grow may also take longer, as long as it goes on. The number of bytes, 0 = it hung up,
 * or -errno. */
static ssize_t receive_line(int fd, char **text, size_t room, bool may_grow)
{
	uint64_t end = now_ms() + ANSWER_TIMEOUT_MS;
	size_t used = 0;

	while (used == 0 || (*text)[used - 1] != '\n') {
		uint64_t now = now_ms();
		ssize_t got;

		if (used + 1 == room && may_grow && room < ANSWER_MOST_BYTES) {
			char *grown = realloc(*text, 2 * room);

			if (!grown)
				return -ENOMEM;
			*text = grown;
			room *= 2;
		}
		if (used + 1 == room)
			break;
		if (may_grow)
			end = now + ANSWER_TIMEOUT_MS;
		if (now >= end || !wait_for(fd, POLLIN, (int)(end - now)))
			return -ETIMEDOUT;
		got = recv(fd, *text + used, room - used - 1, 0);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	(*text)[used] = '\0';
	return (ssize_t)used;
}

/* As receive_line(). */
static ssize_t ask(const char *path, const char *line, char **text, size_t room, bool may_grow)
{
	int fd = client_connect(path, NULL);
	ssize_t result = fd < 0 ? fd : send_line(fd, line);

	if (result == 0)
		result = receive_line(fd, text, room, may_grow);
	if (fd >= 0)
		close(fd);
	return result;
}

/* --- Many at once ----------------------------------------------------------------------------- */

/* One of those that are asked at the moment. */
struct asking {
	struct client_question *question;
	size_t used;
};

/* Whether there is more to come. */
static bool receive_some(struct asking *asking, int fd)
{
	char *text = asking->question->answer->text;
	size_t room = CLIENT_ANSWER_BYTES - 1 - asking->used;
	ssize_t got = recv(fd, text + asking->used, room, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	asking->used += got > 0 ? (size_t)got : 0;
	text[asking->used] = '\0';
	if (got > 0 && text[asking->used - 1] != '\n' && asking->used < CLIENT_ANSWER_BYTES - 1)
		return true;
	if (got > 0) {
		asking->question->answer->is_ok = read_answer(text);
		asking->question->is_answered = asking->question->answer->is_ok;
	}
	return false;
}

/* As many as may be asked together; the number that were taken from the questions. */
static size_t begin(struct client_question *questions, size_t count, const char *line,
		    struct asking *asking, struct pollfd *polls, size_t *used)
{
	size_t taken = 0;

	for (; taken < count && *used < ASKED_MOST; taken++) {
		int fd = questions[taken].path
				 ? connect_safely(questions[taken].path, SOCK_NONBLOCK, NULL)
				 : -ENOENT;

		if (fd == -EMFILE && *used > 0)
			break;
		if (fd >= 0 && send_line(fd, line) != 0)
			close(fd);
		else if (fd >= 0) {
			asking[*used] = (struct asking){ &questions[taken], 0 };
			polls[(*used)++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
	}
	return taken;
}

void client_ask_all(struct client_question *questions, size_t count, const char *line,
		    int timeout_ms)
{
	static struct asking asking[ASKED_MOST];
	static struct pollfd polls[ASKED_MOST];
	uint64_t end = now_ms() + (uint64_t)timeout_ms;
	size_t taken = 0, used = 0;

	for (uint64_t now = now_ms(); now < end; now = now_ms()) {
		taken += begin(questions + taken, count - taken, line, asking, polls, &used);
		if (used == 0 || (poll(polls, used, (int)(end - now)) < 0 && errno != EINTR))
			break;
		for (size_t i = used; i-- > 0;) {
			if (!polls[i].revents || receive_some(&asking[i], polls[i].fd))
				continue;
			close(polls[i].fd);
			used--;
			asking[i] = asking[used];
			polls[i] = polls[used];
		}
	}
	while (used > 0)
		close(polls[--used].fd);
}

/* --- One -------------------------------------------------------------------------------------- */

static const char *why_not(ssize_t result)
{
	if (result == -ETIMEDOUT)
		return "it does not answer (is it stopped?)";
	return result == 0 || result == -EPIPE ? "it hung up" : strerror((int)-result);
}

bool client_ask(const char *path, const char *line, struct client_answer *answer)
{
	char *text = answer->text;
	ssize_t result = ask(path, line, &text, sizeof(answer->text), false);

	answer->is_ok = result > 0 && read_answer(text);
	if (result <= 0)
		snprintf(answer->text, sizeof(answer->text), "%s", why_not(result));
	return answer->is_ok;
}

bool client_ask_on(int fd, const char *line, struct client_answer *answer)
{
	char *text = answer->text;
	ssize_t result = send_line(fd, line);

	if (result == 0)
		result = receive_line(fd, &text, sizeof(answer->text), false);
	answer->is_ok = result > 0 && read_answer(text);
	if (result <= 0)
		snprintf(answer->text, sizeof(answer->text), "%s", why_not(result));
	return answer->is_ok;
}

char *client_ask_long(const char *path, const char *line, char *error, size_t size)
{
	char *text = malloc(CLIENT_ANSWER_BYTES);
	ssize_t result = text ? ask(path, line, &text, CLIENT_ANSWER_BYTES, true) : -ENOMEM;

	if (result > 0 && read_answer(text))
		return text;
	snprintf(error, size, "%s", result > 0 ? text : why_not(result));
	free(text);
	return NULL;
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

/* The process closes when it has read our word. If it had to close before, because it ends or
 * another one asked for a dump, it hangs up with an error. */
static int acknowledge(int fd)
{
	static const char word[] = VERB_ACK;
	int error = 0;
	socklen_t bytes = sizeof(error);

	if (send(fd, word, sizeof(word) - 1, MSG_NOSIGNAL) != sizeof(word) - 1 ||
	    !(wait_for(fd, 0, DUMP_TIMEOUT_MS) & POLLHUP) ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
		return -EPIPE;
	return 0;
}

static int dump(const char *path, const char *line, bool flush, client_sink *sink, void *context)
{
	int fd = client_connect(path, NULL);
	char *buffer = malloc(DUMP_READ_BYTES), last = 0;
	int result = fd < 0 ? fd : buffer ? send_line(fd, line) : -ENOMEM;

	if (result == 0)
		result = receive_dump(fd, buffer, sink, context, &last);
	if (result == 0 && last != '\n')
		result = -EPIPE;
	if (result == 0)
		result = sink(context, NULL, 0);
	/* Until it is told, the process keeps what it has handed out: we may die any moment. */
	if (result == 0 && flush)
		result = acknowledge(fd);
	free(buffer);
	if (fd >= 0)
		close(fd);
	return result;
}

int client_dump(const char *path, bool flush, client_sink *sink, void *context)
{
	return dump(path, flush ? "DUMP ack=1" : "DUMP flush=0", flush, sink, context);
}

int client_dump_last(const char *path, uint64_t last_ms, client_sink *sink, void *context)
{
	char line[64];

	snprintf(line, sizeof(line), "DUMP flush=0 last_ms=%" PRIu64, last_ms + (last_ms == 0));
	return dump(path, line, false, sink, context);
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

bool client_real(const char *object, const char *key, double *value)
{
	const char *at = find_value(object, key);
	char *end;

	if (!at)
		return false;
	*value = strtod(at, &end);
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

const char *client_array(const char *object, const char *key)
{
	char pattern[80];
	const char *found;

	snprintf(pattern, sizeof(pattern), "\"%s\":[", key);
	found = strstr(object, pattern);
	return found ? found + strlen(pattern) - 1 : NULL;
}

const char *client_end(const char *at)
{
	int depth = 0;
	bool is_string = false;

	for (; *at; at++) {
		if (is_string && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			is_string = !is_string;
		else if (!is_string && (*at == '{' || *at == '['))
			depth++;
		else if (!is_string && (*at == '}' || *at == ']') && --depth == 0)
			return at + 1;
	}
	return NULL;
}

char *client_next(const char **at)
{
	const char *from = *at, *end = *from == '{' ? client_end(from) : NULL;

	if (!end)
		return NULL;
	*at = end + (*end == ',');
	return strndup(from, (size_t)(end - from));
}

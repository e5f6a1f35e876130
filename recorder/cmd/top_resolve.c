/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that names addresses; top_resolve.h has the contract.
 *
 * Questions and answers are messages on a pair of sockets. A question that does not fit any more is
 * asked again at the next look. Names are kept; when there are too many, all are forgotten, and
 * those that are still looked at are asked for again.
 */
#include "top_resolve.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "frames.h"
#include "visible.h"

enum { NAMES_MAX = 16384, NAMES_FULL = NAMES_MAX / 4 * 3, PRIORITY = 19 };
/* Libraries may be loaded meanwhile: so often its map is read anew for an address of no file. */
#define MAP_NS UINT64_C(1000000000)

struct question {
	uint64_t address;
	bool is_variable;
};

struct answer {
	struct question of;
	char name[TOP_NAME_BYTES];
};

struct name {
	struct question of;
	bool is_asked; /* else the place is free */
	bool is_known;
	char text[TOP_NAME_BYTES];
};

struct top_resolver {
	pid_t child;
	int fd;
	struct name *names; /* by hash */
	size_t count;
	size_t awaited;
};

/* --- the process that knows --- */

/* "function+0x12 (file.c:34)" is the function's. */
static void cut_name(char *text)
{
	char *offset = strstr(text, "+0x");

	if (offset)
		*offset = '\0';
}

/* "0x7f12 (libx.so)": of a function without a name, its file is what there is to say: [libx.so] */
static void name_file(char *text)
{
	char *file = strstr(text, " (");
	size_t bytes = file ? strlen(file + 2) : 0;

	if (text[0] != '0' || bytes < 2)
		return;
	text[0] = '[';
	memmove(text + 1, file + 2, bytes - 1);
	memcpy(text + bytes, "]", 2);
}

/* False: a function's address that is in no file. */
static bool find_name(struct frames *frames, const struct question *question, char *to, size_t size)
{
	char text[512] = "";
	bool is_known = true;

	if (question->is_variable) {
		if (!frames_name_variable(frames, question->address, text, sizeof(text)))
			text[0] = '\0';
	} else {
		frames_describe(frames, question->address, text, sizeof(text));
		is_known = text[0] != '0' || strchr(text, '(');
		cut_name(text);
		name_file(text);
	}
	snprintf(to, size, "%.*s", (int)size - 1, visible(text));
	return is_known;
}

static _Noreturn void answer_all(int fd, pid_t pid)
{
	struct frames *frames = NULL;
	uint64_t opened_ns = 0;
	struct answer answer;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	memset(&answer, 0, sizeof(answer));
	while (recv(fd, &answer.of, sizeof(answer.of), 0) == (ssize_t)sizeof(answer.of)) {
		bool is_known = find_name(frames, &answer.of, answer.name, sizeof(answer.name));

		if (!frames || (!is_known && clock_mono_ns() > opened_ns + MAP_NS)) {
			frames_close(frames);
			frames = frames_open(pid);
			opened_ns = clock_mono_ns();
			(void)find_name(frames, &answer.of, answer.name, sizeof(answer.name));
		}
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
			break;
	}
	_exit(0);
}

/* --- its client --- */

struct top_resolver *top_resolver_begin(pid_t pid)
{
	struct top_resolver *resolver = calloc(1, sizeof(*resolver));
	int fds[2];

	if (!resolver)
		return NULL;
	resolver->names = calloc(NAMES_MAX, sizeof(*resolver->names));
	if (!resolver->names || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		free(resolver->names);
		free(resolver);
		return NULL;
	}
	resolver->fd = fds[0];
	resolver->child = fork();
	if (resolver->child == 0) {
		close(fds[0]);
		answer_all(fds[1], pid);
	}
	close(fds[1]);
	return resolver;
}

void top_resolver_end(struct top_resolver *resolver)
{
	if (!resolver)
		return;
	close(resolver->fd);
	if (resolver->child > 0) {
		kill(resolver->child, SIGKILL);
		waitpid(resolver->child, NULL, 0);
	}
	free(resolver->names);
	free(resolver);
}

static struct name *place_of(struct top_resolver *resolver, const struct question *question)
{
	uint64_t hash =
		(question->address ^ question->address >> 29) * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t at = hash >> 32;; at++) {
		struct name *name = &resolver->names[at % NAMES_MAX];

		if (!name->is_asked || (name->of.address == question->address &&
					name->of.is_variable == question->is_variable))
			return name;
	}
}

static void forget_all(struct top_resolver *resolver)
{
	memset(resolver->names, 0, NAMES_MAX * sizeof(*resolver->names));
	resolver->count = 0;
}

static const char *find(struct top_resolver *resolver, uint64_t address, bool is_variable)
{
	struct question question;
	struct name *name;

	memset(&question, 0, sizeof(question));
	question.address = address;
	question.is_variable = is_variable;
	name = place_of(resolver, &question);
	if (name->is_asked)
		return name->is_known ? name->text : NULL;
	if (resolver->count == NAMES_FULL) {
		forget_all(resolver);
		name = place_of(resolver, &question);
	}
	if (send(resolver->fd, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(question))
		return NULL;
	name->of = question;
	name->is_asked = true;
	name->is_known = false;
	resolver->count++;
	resolver->awaited++;
	return NULL;
}

const char *top_resolver_function(struct top_resolver *resolver, uint64_t address)
{
	return find(resolver, address, false);
}

const char *top_resolver_variable(struct top_resolver *resolver, uint64_t address)
{
	return find(resolver, address, true);
}

int top_resolver_fd(const struct top_resolver *resolver)
{
	return resolver ? resolver->fd : -1;
}

void top_resolver_take(struct top_resolver *resolver)
{
	struct answer answer;

	while (recv(resolver->fd, &answer, sizeof(answer), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(answer)) {
		struct name *name = place_of(resolver, &answer.of);

		resolver->awaited -= resolver->awaited > 0;
		if (!name->is_asked) /* it was forgotten meanwhile */
			continue;
		memcpy(name->text, answer.name, sizeof(name->text));
		name->text[sizeof(name->text) - 1] = '\0';
		name->is_known = true;
	}
}

bool top_resolver_wait(struct top_resolver *resolver, int timeout_ms)
{
	uint64_t until_ns = clock_mono_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd ready = { .fd = resolver->fd, .events = POLLIN };
	bool have_come = false;

	while (resolver->awaited > 0 && clock_mono_ns() < until_ns &&
	       poll(&ready, 1, timeout_ms) > 0 && !(ready.revents & (POLLHUP | POLLERR))) {
		top_resolver_take(resolver);
		have_come = true;
	}
	return have_come;
}

uint64_t top_resolver_cpu_ns(const struct top_resolver *resolver)
{
	struct timespec used = { 0, 0 };
	clockid_t clock;

	if (!resolver || resolver->child <= 0 ||
	    clock_getcpuclockid(resolver->child, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

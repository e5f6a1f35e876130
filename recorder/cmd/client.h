/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a control socket: asks, and receives dumps.
 */
#ifndef WCPROF_CLIENT_H
#define WCPROF_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_ANSWER_BYTES = 8192 };

struct client_answer {
	bool is_ok;
	/* OK: the object, without a newline; else what went wrong, as a sentence's end. */
	char text[CLIENT_ANSWER_BYTES];
};

/*
 * A connection to the socket, or -errno. Only a process of this user's, or anybody's for root, is
 * spoken to: -EPERM for another. *pid: who listens, 0 when it is in a world of its own. A path of
 * reach.h's is for that process only.
 */
int client_connect(const char *path, pid_t *pid);
/* Sends a line and waits for the answer, for some seconds. False: there is none, as
 * answer->text says. */
bool client_ask(const char *path, const char *line, struct client_answer *answer);
/* The same on a connection that goes on, for verbs whose effect ends with it. */
bool client_ask_on(int fd, const char *line, struct client_answer *answer);

/* The same of many at once, all together within so many milliseconds. A process that does
 * not take the question at once, or does not answer in time, is not waited for. */
struct client_question {
	const char *path; /* NULL: nobody is asked */
	bool is_answered;
	struct client_answer *answer; /* the caller's; good if it is answered */
};
void client_ask_all(struct client_question *questions, size_t count, const char *line,
		    int timeout_ms);
/* Whether somebody listens there, without waiting: 0, or -errno as client_connect(). -EAGAIN: it
 * takes no more connections at the moment. */
int client_probe(const char *path, pid_t *pid);

/* As client_ask() for an answer of any length, which the caller frees. NULL: `error` says why. */
char *client_ask_long(const char *path, const char *line, char *error, size_t size);

/* Takes bytes of a dump: 0, or -errno, which ends it. Count 0: that was all, and nothing of it may
 * be lost any more. */
typedef int client_sink(void *context, const char *bytes, size_t count);
/*
 * Hands a dump to the sink. 0: the process has written all of it, and knows that the sink has it.
 *
 *   -EAGAIN    another dump is being written just now
 *   -ENODATA   there never was a recording
 *   -EPIPE     cut off: the process has ended, or does not answer any more
 *   others     the sink's, or the process could not be asked
 */
int client_dump(const char *path, bool flush, client_sink *sink, void *context);
/* The same of what ended in the last milliseconds; it stays in memory. */
int client_dump_last(const char *path, uint64_t last_ms, client_sink *sink, void *context);

/* Members of an answer's object; false when it has none of that name. Of objects in objects, the
 * caller cuts the one out that is meant. */
bool client_number(const char *object, const char *key, uint64_t *value);
bool client_real(const char *object, const char *key, double *value);
bool client_string(const char *object, const char *key, char *to, size_t size);
/* The opening bracket of an array; NULL: there is none. */
const char *client_array(const char *object, const char *key);
/* Where the object or array at `at` ends: behind its closing bracket; NULL: it is not closed. */
const char *client_end(const char *at);
/* A copy of the object at *at, which becomes the next one of its array; NULL: there is none, or no
 * memory. */
char *client_next(const char **at);

#endif

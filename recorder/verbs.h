/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol without the socket: a line `VERB [key=value...]` in, an answer out.
 *
 * The line is whatever somebody sent: any bytes, any length. The control thread only.
 */
#ifndef WCPROF_VERBS_H
#define WCPROF_VERBS_H

#include "settings.h"
#include "text.h"

struct client;

enum { VERB_ARGUMENTS_MAX = 8 };

struct request {
	struct client *client;
	struct setting_value arguments[VERB_ARGUMENTS_MAX];
	uint32_t argument_count;
};

#define SETTINGS               NULL
#define VERB(name, keys, help) void verb_##name(struct request *, struct text *) HIDDEN;
#include "verbs.def"
#undef VERB

/* Said by a reader that has kept a dump for which it asked with ack=1. */
#define VERB_ACK "KEPT\n"

/* Runs one line (without its newline) of a client's: its answer, with a newline, is there then, or
 * on its way (handout.h). */
void verbs_run(const char *line, size_t bytes, struct client *) HIDDEN;
/* The argument with that key; NULL: it has none. */
const struct setting_value *verbs_find(const struct request *, const char *key) HIDDEN;
/* "ERR code message". */
void verbs_refuse(struct text *answer, const char *code, const char *message) HIDDEN;
/* "OK " and an object that has the pid, and is not closed. */
void verbs_begin_answer(struct text *answer) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol without the socket: a line `VERB [key=value...]` in, an answer out.
 *
 * The line is whatever somebody sent: any bytes, any length. The control thread only.
 */
#ifndef WCPROF_VERBS_H
#define WCPROF_VERBS_H

#include "settings.h"

enum { VERB_ARGUMENTS_MAX = 8, VERB_ANSWER_BYTES_MAX = 8192 };

struct request {
	struct setting_value arguments[VERB_ARGUMENTS_MAX];
	uint32_t argument_count;
	bool wants_dump; /* set by the handler of DUMP, which answers nothing */
	bool flush;
	bool wants_ack;    /* of the dump: VERB_ACK */
	bool wants_stacks; /* set by the handler of STACKS, which answers nothing */
};

/* Said by a reader that has kept a dump for which it asked with ack=1. */
#define VERB_ACK "KEPT\n"

/* Runs one line (without its newline) and writes the answer, with a newline. */
void verbs_run(const char *line, size_t bytes, struct request *, struct text *answer) HIDDEN;
/* "ERR code message". */
void verbs_refuse(struct text *answer, const char *code, const char *message) HIDDEN;

#endif

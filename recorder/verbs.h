/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol without the socket: a line `VERB [key=value...]` in, an answer out.
 *
 * The line is whatever somebody sent: any bytes, any length. The control thread only.
 */
#ifndef WCPROF_VERBS_H
#define WCPROF_VERBS_H

#include "text.h"

struct client;

/* Said by a reader that has kept a dump for which it asked with ack=1. */
#define VERB_ACK "KEPT\n"

/* Runs one line (without its newline) of a client's: its answer, with a newline, is there then, or
 * on its way (handout.h). */
void verbs_run(const char *line, size_t bytes, struct client *) HIDDEN;
/* "ERR code message". */
void verbs_refuse(struct text *answer, const char *code, const char *message) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges that count as one request, and may be several: of HTTP/2, pipelined, or encrypted.
 *
 * Of the requests that hypotheses are judged by. One thread; an analysis is only read.
 */
#ifndef WCPROF_SEVERAL_H
#define WCPROF_SEVERAL_H

#include <stdio.h>

#include "analysis.h"

struct several {
	size_t count; /* of all that are judged */
	size_t counts[EXCHANGE_STREAMS + 1];
	size_t connections[EXCHANGE_STREAMS + 1]; /* that have any such */
	size_t within;                            /* requests, of batches about so many */
	bool is_known;                            /* somebody looked at the first words */
};

void several_find(struct several *, const struct analysis *);

/* "requests", or what they are if all are of connections on which requests overlap. */
const char *several_noun(const struct several *);

/* Sentences, each after a space; none if nothing is known of several. */
void several_say(const struct several *, FILE *);

#endif

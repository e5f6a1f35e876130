/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a recording: when which threads, of which processes, worked for each.
 *
 * A thread works for a span from the first look that found its ids to the first that found others.
 * So a stretch may begin later than the program's own span, and end later: at most as far as the
 * thread's next call. Built once, read-only afterwards.
 */
#ifndef WCPROF_TRACES_H
#define WCPROF_TRACES_H

#include "recording/ids.h"
#include "recording/timeline.h"

/* A time in which a thread works for one span. */
struct trace_stretch {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t before_ns; /* the end of what the thread did before the first op */
	struct rec_ids ids;
	uint32_t thread;
	uint32_t first_op; /* that begins in it; NO_INDEX = none */
	uint32_t last_op;  /* that ends last in it; no poll, as that is idle; NO_INDEX = none */
	bool is_open;      /* a call in it had not ended when the recording did */
};

struct traced {
	uint64_t id[2];
	size_t first; /* index into stretches */
	size_t count;
};

struct traces {
	struct traced *traces; /* in order of their ids */
	size_t count;
	struct trace_stretch *stretches; /* by trace, each in order of their begin */
	size_t stretch_count;
};

/* Where a trace begins and ends, on whichever thread that is. */
struct trace_ends {
	uint32_t first_op;
	uint32_t last_op;   /* NO_INDEX = it has not ended */
	uint64_t before_ns; /* it began no sooner */
	struct rec_ids ids; /* that it begins with */
};

void traces_build(struct traces *, const struct recording *, const struct timeline *);
void traces_free(struct traces *);

/* NULL: there is none with this id. */
const struct traced *traces_by_id(const struct traces *, const uint64_t id[2]);

/* False: it has no op that ended. */
bool traces_ends(const struct traces *, const struct recording *, const struct traced *,
		 struct trace_ends *);

/* The traces whose ids begin with these digits, of which there may be dashes between and 0x before:
 * how many, and the first one. */
size_t traces_find(const struct traces *, const char *digits, size_t *first);
/* Whether these may be the first digits of an id. */
bool traces_is_prefix(const char *digits);

#endif

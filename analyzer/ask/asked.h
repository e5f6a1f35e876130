/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to what the user asked with --what-if, each of which may be several changes at once.
 *
 * Read-only after asked_build.
 */
#ifndef WCPROF_ASKED_H
#define WCPROF_ASKED_H

#include "hypothesis.h"
#include "replay/replayer.h"
#include "script/script.h"

struct asked_answer {
	const char *text; /* the question */
	double makespan_ns;
	double saved_ns; /* negative = slower */
	/* The same however locks are handed over and CPUs given out, whatever part of a split one
	 * is needed, and wherever samples might have fallen. */
	double saved_least_ns;
	double saved_most_ns;
	uint64_t forced_steps;
};

struct asked {
	struct asked_answer *answers; /* in the order of the questions */
	size_t count;
};

/* What answers need. */
struct asked_of {
	const struct replayer *replayer;
	const struct script *script; /* NULL: the recording has no threads */
	const struct class_table *classes;
	const struct hypothesis_names *names;
	const double *noise; /* by class: part of the answer that is chance; NULL = none is */
};

/* 0, or -EINVAL with a line in `error`: a question that is none. */
int asked_build(struct asked *asked, const struct asked_of *of, const struct text_list *questions,
		char error[OPTIONS_ERROR_BYTES]);
void asked_free(struct asked *asked);

#endif

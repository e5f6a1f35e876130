/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to what the user asked with --what-if, each of which may be several changes at once.
 *
 * Read-only after asked_build.
 */
#ifndef WCPROF_ASKED_H
#define WCPROF_ASKED_H

#include "estimate.h"
#include "question.h"
#include "script/script.h"

struct asked_answer {
	const char *text; /* the question */
	double makespan_ns;
	/* Where a lock is split it holds whatever part of it a section needs. */
	struct estimate estimate;
	/* The question is the table's, of this class; NO_INDEX = there is no such row. */
	uint32_t class;
	bool is_about_cpus;
};

struct asked {
	struct asked_answer *answers; /* in the order of the questions */
	size_t count;
};

/* The inputs of all answers. */
struct asked_of {
	struct estimator *estimator;
	const struct script *script; /* NULL: the recording has no threads */
	const struct class_table *classes;
	const struct subjects *subjects;
	const uint32_t *wait_name; /* string id per wait; NULL takes each wait's own ident */
};

/* 0, or -EINVAL with a line in `error`: a question that is none. */
int asked_build(struct asked *asked, const struct asked_of *of, const struct text_list *questions,
		char error[OPTIONS_ERROR_BYTES]);
void asked_free(struct asked *asked);

#endif

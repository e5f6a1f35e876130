/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes rules for a trial (wcprof try), as members of a JSON object.
 *
 * The recorder knows the ops of a class by their stacks. So it can slow them, and in the same way
 * it knows the ops that are progress. A class that cannot be slowed has no rules, and a sentence
 * that says why. All inputs are only read. One thread.
 */
#ifndef WCPROF_SLOWRULES_H
#define WCPROF_SLOWRULES_H

#include <stdio.h>

#include "recording/classes.h"
#include "slowcpu.h"

/* The classes that one name stands for, all of one kind. */
struct slow_subject {
	const char *name;
	const char *kind;
	const uint32_t *classes; /* one beyond the table is a function's */
	size_t class_count;
	uint64_t self_ns;
	uint32_t function; /* string id: of a class beyond the table */
	bool is_program;
	bool has_calls; /* a function: they are part of its time, and samples do not slow them */
};

struct slow_rules {
	const struct recording *recording;
	struct slow_samples samples;
	const struct class_table *classes;
	uint32_t request_class; /* of the ops that requests begin with, NO_INDEX = none */
	const struct slow_subject *subjects;
	size_t subject_count;
	/* Progress is ops of these classes, else calls of this name; neither: as is usual. */
	const struct slow_subject *progress;
	const char *progress_call;
};

/* NULL: the recorder can slow these classes. Else the end of a sentence that begins with their
 * name. */
const char *slow_rules_why_not(const struct slow_rules *rules, const struct slow_subject *subject);

/* Whether there are ops with stacks in calls of this name. */
bool slow_rules_have_call(const struct recording *recording, const char *call);

void slow_rules_write(FILE *file, const struct slow_rules *rules);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that was found out about a recording: the read-only result that every report receives.
 */
#ifndef WCPROF_ANALYSIS_H
#define WCPROF_ANALYSIS_H

#include "ask/asked.h"
#include "ask/whatif.h"
#include "base/options.h"
#include "checks.h"
#include "measure/chain.h"
#include "measure/coverage.h"
#include "measure/deadair.h"
#include "measure/functions.h"
#include "measure/locks.h"
#include "measure/selftime.h"
#include "measure/spins.h"
#include "measure/threadtime.h"
#include "measure/waits.h"
#include "names/framenames.h"
#include "recording/classes.h"
#include "recording/graph.h"
#include "replay/recorded/program.h"
#include "script/script.h"

/* Files whose addresses have no names, and why; a path is the first one of its sort. */
struct unnamed_files {
	const char *missing_path; /* string of the recording, NULL = none */
	const char *other_path;
	size_t missing_count;
	size_t other_count;
};

/* What classify() and the symbols say of a recording that has stacks. Any may be NULL: as
 * recorded. */
struct given_names {
	uint32_t *ops;     /* string id per op: what it is */
	uint32_t *classes; /* string id per op: the class that it counts to */
	uint32_t *waits;   /* string id per wait */
	uint32_t *sites;   /* string id per stack of a hold or wait */
	struct stack_functions functions;
	struct frame_names frames; /* of the stacks of samples */
	struct unnamed_files unnamed;
	struct spins spins;
};

enum { WARNING_BYTES = CHECK_LINE_BYTES };

struct analysis {
	const struct recording *recording;
	const struct options *options;
	struct graph graph;
	struct class_table classes;
	struct selftime selftime;
	struct wait_table waits;
	struct lock_table locks;
	struct thread_table threads;
	struct coverage coverage;
	struct function_table functions;
	struct deadair deadair;
	struct chain chain;
	struct program program; /* of a recording without threads, which has no script */
	struct script script;
	bool has_script;
	struct whatif whatif;
	struct asked asked;
	struct checks checks;
	const struct given_names *names; /* NULL = none */
	bool *is_shown;                  /* per class: it matches --class */
	uint64_t span_ns;                /* from the first start to the last end of an op */
	uint64_t actual_makespan_ns;     /* from the first start to the last end of a root */
	char (*warnings)[WARNING_BYTES];
	size_t warning_count;
};

/* 0, or -EINVAL with a line in `error`: a pattern or a question that is none. */
int analysis_build(struct analysis *analysis, const struct recording *recording,
		   const struct options *options, const struct given_names *names,
		   char error[OPTIONS_ERROR_BYTES]);
void analysis_free(struct analysis *analysis);

/* How far the replay of the unchanged run is off, in percent of what was recorded. */
double analysis_drift_percent(const struct analysis *analysis);

/* The share of time waited for which the replay knows no cause, in percent. Waits that had not
 * ended do not count. */
double analysis_unexplained_percent(const struct analysis *analysis);

/* Classes, and from their count on the functions that samples show: what they are called, the
 * time that is theirs (of functions: about, by samples, with what they call). */
const char *analysis_class_name(const struct analysis *analysis, uint32_t class);
const char *analysis_class_kind(const struct analysis *analysis, uint32_t class);
uint64_t analysis_class_self_ns(const struct analysis *analysis, uint32_t class);
uint32_t analysis_class_op_count(const struct analysis *analysis, uint32_t class);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that was found out about a recording: the read-only result that every report receives.
 */
#ifndef WCPROF_ANALYSIS_H
#define WCPROF_ANALYSIS_H

#include "ask/asked.h"
#include "ask/curves.h"
#include "ask/whatif.h"
#include "base/options.h"
#include "checks.h"
#include "labels.h"
#include "measure/chain.h"
#include "measure/coverage.h"
#include "measure/deadair.h"
#include "measure/functions.h"
#include "measure/locks.h"
#include "measure/selftime.h"
#include "measure/threadtime.h"
#include "measure/waits.h"
#include "paths/requestpaths.h"
#include "recording/classes.h"
#include "recording/graph.h"
#include "replay/machine.h"
#include "replay/recorded/program.h"
#include "script/edges.h"
#include "script/script.h"
#include "variation.h"

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
	struct machine machine; /* that the script is replayed on */
	struct edges edges;     /* instead of both, if they are what is to be followed */
	struct clients_wanted clients_wanted;
	bool has_script;
	bool has_edges;
	struct request_paths paths; /* if they were asked for and there is a script */
	bool has_paths;
	struct whatif whatif;
	struct curves curves; /* for --html and --export svg alone */
	struct asked asked;
	struct variation variation;
	struct checks checks;
	const struct labels *labels; /* NULL = none */
	bool *is_shown;              /* per class: it matches --class */
	uint64_t span_ns;            /* from the first start to the last end of an op */
	uint64_t actual_makespan_ns; /* from the first start to the last end of a root */
	char (*warnings)[WARNING_BYTES];
	size_t warning_count;
};

/* 0, or -EINVAL with a line in `error`: a pattern or a question that is none. */
int analysis_build(struct analysis *analysis, const struct recording *recording,
		   const struct options *options, const struct labels *labels,
		   char error[OPTIONS_ERROR_BYTES]);
/* The same without any question: no answers, no checks, no warnings. */
int analysis_measure(struct analysis *analysis, const struct recording *recording,
		     const struct options *options, const struct labels *labels,
		     char error[OPTIONS_ERROR_BYTES]);
void analysis_free(struct analysis *analysis);

#endif

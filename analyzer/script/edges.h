/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded run as a graph of moments: each follows the one before it on its thread, or the one
 * that ended its wait.
 *
 * This is the activity graph of analyzers of dependencies, by single events. A wait ends with the
 * event that ended it in the recording, whatever is changed. The order at locks stays, and so does
 * who takes which job. So it measures what a replay adds that decides such things anew.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_EDGES_H
#define WCPROF_EDGES_H

#include "infer/scopes.h"
#include "recording/classes.h"
#include "recording/recording.h"

/* It happens `length_ns`, times the scope's factor, after `before`; but not sooner than
 * `latency_ns` after `cause`. */
struct edge_moment {
	uint64_t length_ns;
	uint64_t latency_ns;
	uint32_t before; /* moment of the same thread, NO_INDEX = the recording's begin */
	uint32_t cause;  /* moment of another thread, NO_INDEX = none */
	uint32_t scope;  /* NO_INDEX = no factor */
};

struct edges {
	struct edge_moment *moments; /* those before and causes come first */
	size_t count;
	struct scopes scopes;
	uint32_t *finish; /* by thread: its last moment */
	size_t thread_count;
	uint64_t start_ns;   /* of the first thread */
	uint64_t lost_edges; /* waits that nobody is known to have ended: they stay as long as they
			      * were */
};

/* Of a recording that names threads. */
void edges_build(struct edges *, const struct recording *, const struct class_table *);
void edges_free(struct edges *);

#endif

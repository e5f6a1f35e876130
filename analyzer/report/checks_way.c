/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads have a part of the way to the end of the unchanged replay, its critical path.
 */
#include <stdlib.h>

#include "analysis.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "replay/trace.h"
#include "verdict.h"

struct way {
	const struct analysis *analysis;
	uint64_t *ns; /* by class of threads: how much of it is theirs */
};

static void add_piece(void *context, const struct trace_piece *piece)
{
	struct way *way = context;
	if (piece->actor >= way->analysis->recording->thread_count)
		return;
	uint32_t class = facts_thread_class(way->analysis, piece->actor);
	if (class != NO_INDEX)
		way->ns[class] += piece->to_ns - piece->from_ns;
}

bool *checks_on_the_way(const struct analysis *analysis, const struct replayer *replayer,
			enum check_id id)
{
	const struct script *script = &analysis->script;
	size_t count = analysis->classes.count;
	bool *is_on = memory_new(count, sizeof(*is_on));
	struct way way = { analysis, memory_new(count, sizeof(*way.ns)) };
	double least_ns = verdict_failed_above(id) / 100 * facts_recorded_ns(analysis);
	struct trace trace;
	const struct trial trial = { .trace = &trace };
	trace_begin(&trace, script->actor_count);
	replayer_try(replayer, &trial);
	trace_walk(&trace, script->start_ns, add_piece, &way);
	trace_free(&trace);
	for (size_t class = 0; class < count; class ++)
		is_on[class] = (double)way.ns[class] > least_ns;
	free(way.ns);
	return is_on;
}

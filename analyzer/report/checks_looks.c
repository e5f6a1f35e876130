/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds a run whose end hangs on sleeps of a thread that looks for another one.
 *
 * They are on the critical path of the unchanged replay: while the thread slept, others were busy
 * with what it looked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "infer/looks.h"
#include "replay/trace.h"

struct path {
	const struct analysis *analysis;
	double *ns; /* by row of the looks */
};

static void add_piece(void *context, const struct trace_piece *piece)
{
	struct path *path = context;
	const struct script *script = &path->analysis->script;
	if (piece->part != TRACE_STEP)
		return;
	const struct step *step = &script->steps[piece->step];
	if (step->type != STEP_DELAY && step->type != STEP_OVERRUN && step->type != STEP_UNTIL)
		return;
	for (size_t i = 0; i < script->looks.count; i++)
		if (script->looks.rows[i].sort != LOOK_WORK &&
		    script->looks.rows[i].sort < LOOK_SURE &&
		    piece->step - script->look_spans[i].first <
			    script->look_spans[i].end - script->look_spans[i].first)
			path->ns[i] += (double)(piece->to_ns - piece->from_ns);
}

static void judge(struct check *check, const struct path *path)
{
	const struct analysis *analysis = path->analysis;
	const struct looks *looks = &analysis->script.looks;
	double sum_ns = 0, baseline_ns = facts_replayed_ns(analysis);
	size_t worst = 0;
	for (size_t i = 0; i < looks->count; i++) {
		sum_ns += path->ns[i];
		worst = path->ns[i] > path->ns[worst] ? i : worst;
	}
	check->state = CHECK_PASSED;
	check->value = baseline_ns > 0 ? 100 * sum_ns / baseline_ns : 0;
	if (!(sum_ns > 0))
		return;
	const struct look_row *row = &looks->rows[worst];
	snprintf(check->line, sizeof(check->line),
		 "thread `%.40s` (%" PRIu32 ") sleeps in `%.60s` again and again, %" PRIu32
		 " times, until another one has got somewhere (`%.40s`, it seems), and the end of "
		 "the run waits for that for %.0f%%: %s",
		 facts_thread_name(analysis, row->thread),
		 analysis->recording->threads[row->thread].tid,
		 facts_class_name(analysis, row->class), row->count,
		 row->ender == NO_INDEX ? "?" : facts_thread_name(analysis, row->ender),
		 check->value,
		 row->sort == LOOK_KEPT ? "in the replay it sleeps as often whatever gets faster"
					: "that is a guess");
}

void checks_looks(struct check *check, const struct analysis *analysis,
		  const struct replayer *replayer)
{
	const struct looks *looks = &analysis->script.looks;
	struct trace trace;
	const struct trial trial = { .trace = &trace };
	struct path path = { .analysis = analysis };
	if (!analysis->has_script || !analysis->script.arrivals)
		return;
	path.ns = memory_new(looks->count + 1, sizeof(*path.ns));
	if (looks->count) {
		trace_begin(&trace, analysis->script.actor_count);
		replayer_try(replayer, &trial);
		trace_walk(&trace, analysis->script.start_ns, add_piece, &path);
		trace_free(&trace);
	}
	judge(check, &path);
	free(path.ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds a run whose end hangs on calls which wait for a recorded thread, though no
 * record says so.
 *
 * The replay takes such a call for one to the outside, of its recorded length: a faster thread at
 * the other end saves nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/assumptions.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "format.h"
#include "measure/enders.h"
#include "replay/trace.h"

static const double WORTH_LOOKING = 0.01; /* of the makespan */

/* Calls of one thread and class on the way to the end. */
struct part {
	uint32_t thread;
	uint32_t class;
	double ns;
};

struct path {
	const struct analysis *analysis;
	struct part *parts;
	size_t count;
	size_t capacity;
};

static void add_piece(void *context, const struct trace_piece *piece)
{
	struct path *path = context;
	const struct script *script = &path->analysis->script;
	if (piece->part != TRACE_STEP || script->steps[piece->step].type != STEP_DELAY ||
	    piece->actor >= path->analysis->recording->thread_count)
		return; /* not a recorded thread's */
	uint32_t class = script->scopes.scopes[script->steps[piece->step].arg].leaf;
	size_t i = 0;
	while (i < path->count &&
	       (path->parts[i].thread != piece->actor || path->parts[i].class != class))
		i++;
	if (i == path->count) {
		path->parts = memory_grow(path->parts, &path->capacity, path->count + 1,
					  sizeof(*path->parts));
		path->parts[path->count++] = (struct part){ piece->actor, class, 0 };
	}
	path->parts[i].ns += (double)(piece->to_ns - piece->from_ns);
}

/* It changes what a directory has, which who watches that is told. */
static bool changes_names(const char *call)
{
	static const char *const begins[] = { "rename", "unlink", "link",  "symlink",
					      "mkdir",  "rmdir",  "creat", "truncate" };
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(call, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* It waits for input or output that was begun before, which may need another thread. */
static bool awaits_completion(const char *call)
{
	return strstr(call, "io_uring") || strcmp(call, "aio_suspend") == 0 ||
	       strcmp(call, "io_getevents") == 0;
}

/* Calls that wait until something comes, and those that send something, of which the recording does
 * not know the other end. */
static void sort_calls(const struct analysis *analysis, bool *is_wait, bool *is_doing)
{
	const struct recording *recording = analysis->recording;
	const struct flows *flows = &analysis->script.flows;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		const char *ident = recording->strings[op->ident];
		bool is_file = strncmp(ident, "file ", strlen("file ")) == 0;
		enum flow_direction direction =
			op->kind == KIND_IO ? flow_direction_of(recording->strings[op->name])
					    : FLOW_NONE;
		bool accepts = strncmp(recording->strings[op->name], "accept", 6) == 0;
		is_doing[i] = direction == FLOW_WRITE ||
			      (op->kind == KIND_IO && changes_names(recording->strings[op->name]));
		is_wait[i] =
			op->end_ns - op->start_ns > assume.copy &&
			flows->transfer_of[i] == NO_INDEX &&
			(op->kind == KIND_POLL || awaits_completion(recording->strings[op->name]) ||
			 (ident[0] && !is_file && (direction == FLOW_READ || accepts)));
	}
}

static void say(struct check *check, const struct analysis *analysis, const struct part *worst,
		uint32_t ender)
{
	const struct rec_thread *threads = analysis->recording->threads;
	snprintf(check->line, sizeof(check->line),
		 "thread `%.40s` (%" PRIu32 ") waits in `%.60s`, and each time thread `%.40s` "
		 "(%" PRIu32 ") does something right before the end: %.0f%% of the run is such "
		 "waiting, which the replay takes for waiting for something outside",
		 facts_thread_name(analysis, worst->thread), threads[worst->thread].tid,
		 facts_class_name(analysis, worst->class), facts_thread_name(analysis, ender),
		 threads[ender].tid, check->value);
}

static void judge(struct check *check, const struct path *path)
{
	const struct analysis *analysis = path->analysis;
	const struct recording *recording = analysis->recording;
	double baseline_ns = facts_replayed_ns(analysis), sum_ns = 0, most_ns = 0;
	bool *is_wait = memory_new(recording->op_count, sizeof(*is_wait));
	bool *is_doing = memory_new(recording->op_count, sizeof(*is_doing));
	uint32_t worst_ender = NO_INDEX;
	struct doings doings;
	struct part worst = { .ns = 0 };
	sort_calls(analysis, is_wait, is_doing);
	doings_build(&doings, recording, is_doing);
	for (size_t i = 0; i < path->count; i++) {
		const struct part *part = &path->parts[i];
		uint32_t ender = part->ns < WORTH_LOOKING * baseline_ns
					 ? NO_INDEX
					 : enders_find(&doings, recording, &analysis->classes,
						       is_wait, part->thread, part->class);
		if (ender == NO_INDEX)
			continue;
		sum_ns += part->ns;
		if (part->ns > most_ns) {
			most_ns = part->ns;
			worst = *part;
			worst_ender = ender;
		}
	}
	check->state = CHECK_PASSED;
	check->value = 100 * sum_ns / baseline_ns;
	if (worst_ender != NO_INDEX)
		say(check, analysis, &worst, worst_ender);
	doings_free(&doings);
	free(is_wait);
	free(is_doing);
}

void checks_enders(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer)
{
	struct trace trace;
	const struct trial trial = { .trace = &trace };
	struct path path = { .analysis = analysis };
	if (!analysis->has_script || !analysis->script.arrivals ||
	    !(facts_replayed_ns(analysis) > 0))
		return;
	trace_begin(&trace, analysis->script.actor_count);
	replayer_try(replayer, &trial);
	trace_walk(&trace, analysis->script.start_ns, add_piece, &path);
	trace_free(&trace);
	judge(check, &path);
	free(path.parts);
}

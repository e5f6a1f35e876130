/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds a run in which nobody asked the program for anything.
 *
 * A server that has nothing to do polls in vain until its own timer is due, again and again. With a
 * shorter timer it would do so more often, and the recording would have been as long. So only
 * recordings count that end before their program does, and in which there are no requests. The
 * critical path of the unchanged replay tells how much of the run such polls are.
 *
 * All threads of a program may be in one long call each, from which no record comes. Then it hardly
 * uses a CPU.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "format.h"
#include "replay/trace.h"

static const double RUNS = 0.1; /* of the recording, a program that is not idle */

struct path {
	const struct analysis *analysis;
	const bool *polls; /* by class: nothing but polls in vain */
	double ns;
	uint32_t thread; /* of the last one, NO_INDEX = there is none */
	uint32_t class;
};

static bool is_poll(const char *call)
{
	static const char *const begins[] = { "epoll_", "poll", "ppoll", "select", "pselect" };
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(call, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* After the recording. */
static bool goes_on(const struct recording *recording, const struct rec_process *process)
{
	return process->op != NO_INDEX && (recording->extras ? recording->extras[process->op].open
							     : recording->window_count > 0);
}

/* Of a program that goes on: what came to none of its descriptors. */
static bool is_in_vain(const struct recording *recording, uint32_t op)
{
	uint32_t process = recording->threads[recording->ops[op].thread].process;
	return !recording->extras[op].amount &&
	       is_poll(recording->strings[recording->ops[op].name]) &&
	       goes_on(recording, &recording->processes[process]);
}

/* False: there are none. */
static bool find_polls(bool *polls, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const uint32_t *of_op = analysis->classes.of_op;
	bool is_any = false;
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].thread != NO_INDEX && is_in_vain(recording, i))
			polls[of_op[i]] = is_any = true;
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].thread == NO_INDEX || !is_in_vain(recording, i))
			polls[of_op[i]] = false;
	return is_any;
}

static void add_piece(void *context, const struct trace_piece *piece)
{
	struct path *path = context;
	const struct script *script = &path->analysis->script;
	if (piece->part != TRACE_STEP || piece->actor >= path->analysis->recording->thread_count)
		return;
	const struct step *step = &script->steps[piece->step];
	if (step->type != STEP_DELAY && step->type != STEP_OVERRUN && step->type != STEP_UNTIL)
		return;
	uint32_t class = script->scopes.scopes[step->arg].leaf;
	if (class == NO_INDEX || class >= path->analysis->classes.count || !path->polls[class])
		return;
	path->ns += (double)(piece->to_ns - piece->from_ns);
	path->thread = piece->actor;
	path->class = class;
}

static void judge(struct check *check, const struct path *path)
{
	const struct analysis *analysis = path->analysis;
	check->value = checks_percent(path->ns, facts_replayed_ns(analysis));
	if (path->thread == NO_INDEX)
		return;
	snprintf(check->line, sizeof(check->line),
		 "thread `%.40s` (%" PRIu32 ") waits in `%.60s` for %.0f%% of the recording until "
		 "its own timer is due, and nobody asks it for anything: the program is idle",
		 facts_thread_name(analysis, path->thread),
		 analysis->recording->threads[path->thread].tid,
		 facts_class_name(analysis, path->class), check->value);
}

/* No thread of any program did anything, nor used a CPU. */
static bool is_silent(const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	double used_ns = 0;
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		used_ns += fmax((double)process->cpu_ns - (double)process->own_window_ns, 0);
		if (!goes_on(recording, process))
			return false;
	}
	return !recording->thread_count && recording->process_count &&
	       used_ns < RUNS * facts_recorded_ns(analysis);
}

static void judge_silent(struct check *check, const struct analysis *analysis)
{
	const struct rec_process *process = &analysis->recording->processes[0];
	check->state = CHECK_PASSED;
	check->value = 100;
	snprintf(check->line, sizeof(check->line),
		 "no thread of `%.60s` (%" PRIu32 ") did anything while it was recorded, and none "
		 "used a CPU: the program is idle",
		 facts_class_name(analysis, analysis->classes.of_op[process->op]), process->pid);
}

void checks_idle(struct check *check, const struct analysis *analysis,
		 const struct replayer *replayer)
{
	struct trace trace;
	const struct trial trial = { .trace = &trace };
	if (is_silent(analysis))
		judge_silent(check, analysis);
	if (!analysis->has_script || !analysis->script.arrivals)
		return;
	bool *polls = memory_new(analysis->classes.count, sizeof(*polls));
	struct path path = { analysis, polls, 0, NO_INDEX, NO_INDEX };
	check->state = CHECK_PASSED;
	if (!analysis->script.requests.judged_count && find_polls(polls, analysis)) {
		trace_begin(&trace, analysis->script.actor_count);
		replayer_try(replayer, &trial);
		trace_walk(&trace, analysis->script.start_ns, add_piece, &path);
		trace_free(&trace);
	}
	judge(check, &path);
	free(polls);
}

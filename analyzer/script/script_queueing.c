/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves out of a script the time in which threads waited for CPUs, which the replay makes anew.
 *
 * Method. The kernel counts how long a thread was ready and waited for a CPU. A part of that was in
 * its runs (script_runs.c), and a part in wake-ups by timers and other threads. The rest was at the
 * ends of calls, which the recording has in one piece with them. Each wake-up waits as long as any
 * other one, whatever it was for. So the same time is taken from each call, or all that it has.
 * Waits for turns, and for clients that are made up, have their share of it. It is not taken from
 * clients: how long they thought is not known without it.
 *
 * One thread.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"
#include "format.h"
#include "script_parts.h"

/* --- wake-ups --- */

/* Wake-ups of one sort are alike: by a timer, of a new thread, and by another thread. */
enum wake_up { WAKE_BY_TIMER, WAKE_NEW, WAKE_BY_THREAD, WAKE_UPS };

static bool wake_up_of(const struct step *step, enum wake_up *wake_up)
{
	if (step->type == STEP_OVERRUN)
		*wake_up = WAKE_BY_TIMER;
	else if (step->type == STEP_SPAWN)
		*wake_up = WAKE_NEW;
	else
		*wake_up = WAKE_BY_THREAD;
	return step->type == STEP_OVERRUN ||
	       script_contract((enum step_type)step->type)->number == NUMBER_LATENCY;
}

/*
 * The longest latency that a wake-up has where a CPU is idle. The share of wake-ups that found one
 * is that of the time in which there was one; the longest ones found none.
 */
static uint64_t longest_ns(const struct script *script, enum wake_up wanted)
{
	uint64_t *each_ns = memory_new(script->step_count, sizeof(*each_ns));
	uint64_t most_ns = UINT64_MAX;
	enum wake_up wake_up;
	size_t count = 0;

	for (size_t i = 0; i < script->step_count; i++)
		if (wake_up_of(&script->steps[i], &wake_up) && wake_up == wanted)
			each_ns[count++] = script->steps[i].ns;
	size_t rank = (size_t)(script->idle_share * (double)count);
	if (rank < count)
		most_ns = percentile_select(each_ns, count, rank);
	free(each_ns);
	return most_ns;
}

/* The time of a wake-up beyond that was spent in a run queue, which the replay makes anew. */
static void make_wake_ups_anew(struct script *script)
{
	uint64_t most_ns[WAKE_UPS];
	enum wake_up wake_up;

	for (wake_up = 0; wake_up < WAKE_UPS; wake_up++)
		most_ns[wake_up] = longest_ns(script, wake_up);
	for (size_t i = 0; i < script->step_count; i++) {
		struct step *step = &script->steps[i];

		if (!wake_up_of(step, &wake_up) || step->ns <= most_ns[wake_up])
			continue;
		script->late_ns += step->ns - most_ns[wake_up];
		step->ns = most_ns[wake_up];
	}
	if (script->lock_latency_ns > most_ns[WAKE_BY_THREAD])
		script->lock_latency_ns = most_ns[WAKE_BY_THREAD];
	for (size_t i = 0; i < script->circle_count; i++)
		if (script->circles[i].latency_ns > most_ns[WAKE_BY_THREAD])
			script->circles[i].latency_ns = most_ns[WAKE_BY_THREAD];
}

/* --- calls --- */

static bool is_call(const struct compiler *compiler, const struct step *step)
{
	uint32_t class = step->type == STEP_DELAY ? compiler->script->scopes.scopes[step->arg].leaf
						  : NO_INDEX;

	return class != NO_INDEX && compiler->classes->classes[class].kind == KIND_IO;
}

static int compare_lengths(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The most that is taken from each of these, for all together to lose so much. */
static uint64_t part_of_each(uint64_t *lengths_ns, size_t count, uint64_t lost_ns)
{
	qsort(lengths_ns, count, sizeof(*lengths_ns), compare_lengths);
	for (size_t i = 0; i < count; i++) {
		if (lengths_ns[i] >= lost_ns / (count - i))
			return lost_ns / (count - i);
		lost_ns -= lengths_ns[i];
	}
	return UINT64_MAX;
}

/* Waits that have a share, and are no calls. */
static size_t other_waits(const struct compiler *compiler, uint32_t thread)
{
	const struct script *script = compiler->script;
	const struct step *step = script->steps + script->actors[thread].first_step;
	size_t count = compiler->gathered.asked[thread];

	for (; step->type != STEP_END; step++)
		count += step->type == STEP_TURN;
	return count;
}

/* Returns how much the thread's calls have lost. */
static uint64_t calls_cut(struct compiler *compiler, uint32_t thread, uint64_t queued_ns)
{
	struct script *script = compiler->script;
	struct step *first = script->steps + script->actors[thread].first_step;
	uint64_t *lengths_ns, cut_ns = 0;
	size_t count = 0, others = other_waits(compiler, thread);

	for (const struct step *step = first; step->type != STEP_END; step++)
		count += is_call(compiler, step);
	if (!count || !queued_ns)
		return 0;
	lengths_ns = memory_new(count + others, sizeof(*lengths_ns));
	for (count = 0; count < others; count++)
		lengths_ns[count] = UINT64_MAX;
	for (const struct step *step = first; step->type != STEP_END; step++)
		if (is_call(compiler, step))
			lengths_ns[count++] = step->ns;
	uint64_t part_ns = part_of_each(lengths_ns, count, queued_ns);
	for (struct step *step = first; step->type != STEP_END; step++) {
		if (!is_call(compiler, step))
			continue;
		uint64_t lost_ns = step->ns < part_ns ? step->ns : part_ns;

		step->ns -= lost_ns;
		cut_ns += lost_ns;
	}
	free(lengths_ns);
	return cut_ns;
}

/* --- all of it --- */

/* Visits that did not wait have a latency for replays in which they do. */
static bool has_waited(const struct script *script, const struct step *step)
{
	return step->type != STEP_VISIT ||
	       script->loops.visits[step->arg].latency_ns != VISIT_HAS_NOT_WAITED;
}

static uint64_t wake_ups_ns(const struct script *script, uint32_t thread)
{
	const struct step *step = script->steps + script->actors[thread].first_step;
	uint64_t ns = 0;
	enum wake_up wake_up;

	for (; step->type != STEP_END; step++)
		if (wake_up_of(step, &wake_up) && has_waited(script, step))
			ns += step->ns;
	return ns;
}

void script_queueing_leave_out(struct compiler *compiler)
{
	struct script *script = compiler->script;
	size_t threads = compiler->rec->thread_count;
	uint64_t *left_ns = compiler->gathered.queued_ns;
	uint64_t *before_ns = memory_new(threads, sizeof(*before_ns));

	for (uint32_t t = 0; t < threads; t++)
		before_ns[t] = wake_ups_ns(script, t);
	make_wake_ups_anew(script);
	script_runs_take(&compiler->gathered.runs, script, left_ns);
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t late_ns = before_ns[t] - wake_ups_ns(script, t);

		left_ns[t] -= late_ns < left_ns[t] ? late_ns : left_ns[t];
		script->late_ns += calls_cut(compiler, t, left_ns[t]);
	}
	free(before_ns);
}

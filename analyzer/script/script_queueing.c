/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves out of a script the time in which threads waited for CPUs, which the replay makes anew.
 *
 * Method. The kernel counts how long a thread was ready and waited for a CPU. A part of that was in
 * its runs (script_runs.c). The rest was at the ends of wake-ups by timers and other threads, and
 * of calls, which the recording has in one piece with them. Each of these waited as long as any
 * other one, on average, whatever it was for. The longest wake-ups are cut to one length, which all
 * of them may take. Calls differ: the same time is taken from each, or all that it has. The time
 * that a CPU may take to come back from idle is left to each, though the kernel counts it, too.
 * Waits for turns, and for clients that are made up, have their share of it. It is not taken from
 * clients: how long they thought is not known without it. Where a thread takes tokens, the usual
 * latency of their condition has left it out already. So has a wait for a lock that other threads
 * took first (script_outrun.c).
 *
 * One thread.
 */
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

/* --- as the kernel says --- */

/* If the thread began in the recording, all that is known is of that. */
struct waited script_waited(const struct compiler *compiler)
{
	const struct thread_state *thread = &compiler->thread;
	bool is_known = compiler->found->startup_ns[thread->index] > 0;
	struct waited queued = { 0 };
	uint64_t before_ns = compiler->found->queued_before_ns[thread->index];

	for (size_t i = 0; i < thread->sample_count; i++) {
		uint64_t by_then_ns = thread->samples[i].queued_ns;

		if (by_then_ns <= before_ns)
			continue;
		if (is_known)
			queued.ns += by_then_ns - before_ns;
		queued.until_ns = thread->samples[i ? i - 1 : i].at_ns;
		before_ns = by_then_ns;
		queued.is_known = is_known = true;
	}
	return queued;
}

double script_waited_most_ns(const struct compiler *compiler, const struct waited *queued,
			     bool has_ended)
{
	const struct thread_state *thread = &compiler->thread;
	uint64_t from_ns = queued->is_known ? queued->until_ns
					    : compiler->script->actors[thread->index].start_ns;

	if (queued->is_known && !has_ended)
		return (double)queued->ns;
	return (double)queued->ns +
	       (double)(thread->now_ns - from_ns) * (1 - compiler->script->idle_share);
}

static int compare_lengths(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* --- wake-ups --- */

/* Visits that did not wait have a latency for replays in which they do. */
static bool has_waited(const struct script *script, const struct step *step)
{
	return step->type != STEP_VISIT ||
	       script->loops.visits[step->arg].latency_ns != VISIT_HAS_NOT_WAITED;
}

static bool is_wake_up(const struct script *script, const struct step *step)
{
	return (step->type == STEP_OVERRUN ||
		script_contract((enum step_type)step->type)->number == NUMBER_LATENCY) &&
	       has_waited(script, step);
}

/* The part of a wake-up, or of a call, that may be a wait for another thread. Less than that is a
 * CPU's coming back from idle. */
static uint64_t above_ns(uint64_t ns)
{
	uint64_t least_ns = (uint64_t)assume.crossing_most;

	return ns > least_ns ? ns - least_ns : 0;
}

/* The longest of these are cut to this length, for all together to lose so much. */
static uint64_t level_of(uint64_t *lengths_ns, size_t count, uint64_t lost_ns)
{
	uint64_t sum_ns = 0;

	qsort(lengths_ns, count, sizeof(*lengths_ns), compare_lengths);
	for (size_t longer = 1; longer <= count; longer++) {
		uint64_t next_ns = longer < count ? lengths_ns[count - longer - 1] : 0;

		sum_ns += lengths_ns[count - longer];
		if (sum_ns >= lost_ns + longer * next_ns)
			return (sum_ns - lost_ns) / longer;
	}
	return 0;
}

/* Returns how much of the time in queues the thread's wake-ups have lost. Each is cut to a whole
 * nanosecond, so all together may lose some more. */
static uint64_t wake_ups_cut(struct script *script, uint32_t thread, uint64_t queued_ns)
{
	struct step *first = script->steps + script->actors[thread].first_step;
	uint64_t *lengths_ns, cut_ns = 0;
	size_t count = 0;

	for (const struct step *step = first; step->type != STEP_END; step++)
		count += is_wake_up(script, step);
	if (!count || !queued_ns)
		return 0;
	lengths_ns = memory_new(count, sizeof(*lengths_ns));
	count = 0;
	for (const struct step *step = first; step->type != STEP_END; step++)
		if (is_wake_up(script, step))
			lengths_ns[count++] = above_ns(step->ns);
	uint64_t most_ns = level_of(lengths_ns, count, queued_ns);
	for (struct step *step = first; step->type != STEP_END; step++) {
		if (!is_wake_up(script, step) || above_ns(step->ns) <= most_ns)
			continue;
		uint64_t lost_ns = above_ns(step->ns) - most_ns;

		step->ns -= lost_ns;
		cut_ns += lost_ns;
	}
	free(lengths_ns);
	return cut_ns < queued_ns ? cut_ns : queued_ns;
}

/* --- calls --- */

static bool is_call(const struct compiler *compiler, const struct step *step)
{
	uint32_t class = step->type == STEP_DELAY ? compiler->script->scopes.scopes[step->arg].leaf
						  : NO_INDEX;

	return class != NO_INDEX && compiler->classes->classes[class].kind == KIND_IO;
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
			lengths_ns[count++] = above_ns(step->ns);
	uint64_t part_ns = part_of_each(lengths_ns, count, queued_ns);
	for (struct step *step = first; step->type != STEP_END; step++) {
		if (!is_call(compiler, step))
			continue;
		uint64_t most_ns = above_ns(step->ns);
		uint64_t lost_ns = most_ns < part_ns ? most_ns : part_ns;

		step->ns -= lost_ns;
		cut_ns += lost_ns;
	}
	free(lengths_ns);
	return cut_ns;
}

/* --- starts --- */

/* The most that a thread's start waited for a CPU: as the kernel says, or as any other thread did.
 */
static uint64_t start_waited_ns(const struct compiler *compiler, uint32_t thread, uint64_t ns)
{
	if (compiler->gathered.knows_queue[thread])
		return compiler->gathered.queued_ns[thread];
	return (uint64_t)((double)ns * (1 - compiler->script->idle_share));
}

static uint64_t startup_ns(const struct script *script, uint32_t thread)
{
	const struct actor *actor = &script->actors[thread];
	uint64_t ns = 0;

	for (uint32_t i = 0; i < actor->startup_steps; i++)
		ns += script->steps[actor->first_step + i].ns;
	return ns;
}

/* Until the first thing that it did a thread used a CPU, which is a run of its own, or waited for
 * one. Its creator's step has both. */
static void starts_cut(struct compiler *compiler)
{
	struct script *script = compiler->script;

	for (size_t i = 0; i < script->step_count; i++) {
		struct step *spawn = &script->steps[i];

		if (spawn->type != STEP_SPAWN || !script->actors[spawn->arg].startup_steps)
			continue;
		uint64_t *left_ns = &compiler->gathered.queued_ns[spawn->arg];
		uint64_t lost_ns = above_ns(spawn->ns);
		uint64_t most_ns = start_waited_ns(compiler, spawn->arg,
						   spawn->ns + startup_ns(script, spawn->arg));

		lost_ns = lost_ns < most_ns ? lost_ns : most_ns;
		spawn->ns -= lost_ns;
		*left_ns -= lost_ns < *left_ns ? lost_ns : *left_ns;
		script->queued_ns += lost_ns;
	}
}

/* --- all of it --- */

/* The waits of a thread that have a share of its time in queues. */
struct waits {
	size_t wake_ups;
	size_t others;
	uint64_t wake_ups_ns; /* all that they took */
};

static struct waits waits_count(const struct compiler *compiler, uint32_t thread)
{
	const struct script *script = compiler->script;
	const struct step *step = script->steps + script->actors[thread].first_step;
	struct waits waits = { .others = other_waits(compiler, thread) };

	for (; step->type != STEP_END; step++) {
		waits.others += is_call(compiler, step);
		if (!is_wake_up(script, step))
			continue;
		waits.wake_ups++;
		waits.wake_ups_ns += step->ns;
	}
	return waits;
}

/* Wake-ups have as much of the time as other waits, or all that they took. Of that they keep what
 * CPUs took to come back from idle; calls and the rest took as much, each. Returns how much the
 * steps have lost. */
static uint64_t waits_cut(struct compiler *compiler, uint32_t thread, uint64_t queued_ns)
{
	const struct waits waits = waits_count(compiler, thread);
	double count = (double)(waits.wake_ups + waits.others);
	uint64_t share_ns = 0, cut_ns = 0, idle_ns = 0;

	if (waits.wake_ups) {
		share_ns = (uint64_t)((double)queued_ns * (double)waits.wake_ups / count);
		share_ns = share_ns < waits.wake_ups_ns ? share_ns : waits.wake_ups_ns;
		cut_ns = wake_ups_cut(compiler->script, thread, share_ns);
		idle_ns = (share_ns - cut_ns) / waits.wake_ups * waits.others;
	}
	uint64_t left_ns = queued_ns - share_ns;

	return cut_ns + calls_cut(compiler, thread, left_ns > idle_ns ? left_ns - idle_ns : 0);
}

/* A wake-up by a token has the usual latency of its condition. The time that the thread waited for
 * a CPU beyond that is in no step. So it is what is left, less what its steps may still have. */
static uint64_t dropped_ns(const struct compiler *compiler, uint32_t thread, uint64_t left_ns)
{
	const struct script *script = compiler->script;
	const struct step *step = script->steps + script->actors[thread].first_step;
	bool takes_tokens = false;
	uint64_t kept_ns = 0;

	for (; step->type != STEP_END; step++) {
		takes_tokens = takes_tokens || step->type == STEP_TAKE;
		if (is_wake_up(script, step) || step->type == STEP_DELAY)
			kept_ns += step->ns;
	}
	return takes_tokens && left_ns > kept_ns ? left_ns - kept_ns : 0;
}

void script_queueing_leave_out(struct compiler *compiler)
{
	struct script *script = compiler->script;
	uint64_t *left_ns = compiler->gathered.queued_ns;
	uint64_t *outrun_ns = script_outrun_find(compiler);

	starts_cut(compiler);
	for (uint32_t t = 0; t < compiler->rec->thread_count; t++) {
		uint64_t in_vain_ns = outrun_ns[t] < left_ns[t] ? outrun_ns[t] : left_ns[t];

		left_ns[t] -= in_vain_ns;
		script->queued_ns += in_vain_ns;
		uint64_t cut_ns = waits_cut(compiler, t, left_ns[t]);

		script->queued_ns += cut_ns + dropped_ns(compiler, t, left_ns[t] - cut_ns);
	}
	free(outrun_ns);
}

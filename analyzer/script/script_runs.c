/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells for each run on crowded CPUs how much of it was running, and how much a wait for a CPU.
 *
 * Method. The recording has the CPU time of a thread between two of its samples (a stretch). It
 * does not say which of the runs in between had to wait. A thread waits for a CPU seldom and long:
 * the runs that waited are longer than is usual between the same two calls. Each run is cut to at
 * most a multiple of its usual length. The multiple is the same for all of a stretch: the one that
 * leaves its CPU time. The usual length is found from the cut runs in turn.
 *
 * To go to sleep and to come back uses CPU time, too, which is in no run. The sleeps of a stretch
 * used as much as its CPU time is above its runs by the clock. A CPU with nothing else to do goes
 * to sleep in that time as well, for which no thread would wait. So the lower quartile of all
 * stretches is taken.
 *
 * One thread.
 */
#include "script_runs.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS = 2, HALVINGS = 40 };

/* How much longer than usual a run may be without being cut at all. */
static const double FACTOR_MAX = 1e6;

/* The runs of each kind, which do the same. */
struct kinds {
	uint32_t count;
	size_t *end;          /* by kind: of its lengths */
	uint64_t *lengths_ns; /* of all runs, kind by kind */
	double *usual_ns;     /* by kind */
};

void script_runs_add(struct script_runs *runs, uint32_t step, uint64_t wall_ns)
{
	assert(!runs->run_count || runs->runs[runs->run_count - 1].step < step);
	runs->runs = memory_grow(runs->runs, &runs->run_capacity, runs->run_count + 1,
				 sizeof(*runs->runs));
	runs->runs[runs->run_count++] = (struct crowded_run){ wall_ns, step, 0 };
}

void script_runs_slept(struct script_runs *runs, uint64_t slept_ns)
{
	runs->sleeps++;
	runs->slept_ns += slept_ns;
}

void script_runs_called(struct script_runs *runs)
{
	runs->is_mixed = true;
}

void script_runs_end_stretch(struct script_runs *runs, uint64_t cpu_ns)
{
	uint32_t first = runs->stretch_count ? runs->stretches[runs->stretch_count - 1].end : 0;
	struct stretch stretch = { .cpu_ns = cpu_ns,
				   .first = first,
				   .end = (uint32_t)runs->run_count,
				   .sleeps = runs->sleeps,
				   .slept_ns = runs->slept_ns,
				   .is_mixed = runs->is_mixed };

	assert(first <= runs->run_count);
	runs->sleeps = 0;
	runs->slept_ns = 0;
	runs->is_mixed = false;
	if (first == runs->run_count)
		return;
	runs->stretches = memory_grow(runs->stretches, &runs->stretch_capacity,
				      runs->stretch_count + 1, sizeof(*runs->stretches));
	runs->stretches[runs->stretch_count++] = stretch;
}

static uint64_t wall_ns_of(const struct script_runs *runs, const struct stretch *stretch)
{
	uint64_t wall_ns = 0;

	for (uint32_t i = stretch->first; i < stretch->end; i++)
		wall_ns += runs->runs[i].wall_ns;
	return wall_ns;
}

/* How long its thread was off the CPUs in the runs of a stretch. */
static uint64_t off_ns_of(const struct script_runs *runs, const struct stretch *stretch)
{
	uint64_t wall_ns = wall_ns_of(runs, stretch);

	return wall_ns > stretch->cpu_ns ? wall_ns - stretch->cpu_ns : 0;
}

void script_runs_end_thread(struct script_runs *runs, double queued_ns)
{
	double off_ns = 0;

	for (size_t s = runs->thread_stretch; s < runs->stretch_count; s++)
		off_ns += (double)off_ns_of(runs, &runs->stretches[s]);
	for (size_t s = runs->thread_stretch; s < runs->stretch_count && off_ns > queued_ns; s++) {
		struct stretch *stretch = &runs->stretches[s];

		stretch->cpu_ns +=
			(uint64_t)((double)off_ns_of(runs, stretch) * (1 - queued_ns / off_ns));
	}
	runs->thread_stretch = runs->stretch_count;
}

void script_runs_drop(struct script_runs *runs, size_t step_count)
{
	while (runs->run_count && runs->runs[runs->run_count - 1].step >= step_count)
		runs->run_count--;
	while (runs->stretch_count &&
	       runs->stretches[runs->stretch_count - 1].first >= runs->run_count)
		runs->stretch_count--;
	if (runs->stretch_count && runs->stretches[runs->stretch_count - 1].end > runs->run_count)
		runs->stretches[runs->stretch_count - 1].end = (uint32_t)runs->run_count;
}

static double cut_ns(const struct crowded_run *run, const double *usual_ns, double factor)
{
	double most_ns = usual_ns[run->key] * factor;

	return (double)run->wall_ns < most_ns ? (double)run->wall_ns : most_ns;
}

static double sum_ns(const struct script_runs *runs, const struct stretch *stretch,
		     const double *usual_ns, double factor)
{
	double sum = 0;

	for (uint32_t i = stretch->first; i < stretch->end; i++)
		sum += cut_ns(&runs->runs[i], usual_ns, factor);
	return sum;
}

/* The factor at which the runs of a stretch take its CPU time. */
static double factor_of(const struct script_runs *runs, const struct stretch *stretch,
			const double *usual_ns)
{
	double low = 0, high = 1, cpu_ns = (double)stretch->cpu_ns;

	while (high < FACTOR_MAX && sum_ns(runs, stretch, usual_ns, high) < cpu_ns)
		high *= 2;
	for (int i = 0; i < HALVINGS && high < FACTOR_MAX; i++) {
		double middle = (low + high) / 2;

		if (sum_ns(runs, stretch, usual_ns, middle) < cpu_ns)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The median of each kind, of the lengths that the steps have now. */
static void find_usual(const struct script_runs *runs, const struct step *steps,
		       struct kinds *kinds)
{
	size_t from = 0;

	for (size_t i = runs->run_count; i-- > 0;)
		kinds->lengths_ns[--kinds->end[runs->runs[i].key]] = steps[runs->runs[i].step].ns;
	for (uint32_t kind = 0; kind < kinds->count; kind++) {
		size_t end = kind + 1 < kinds->count ? kinds->end[kind + 1] : runs->run_count;
		uint64_t *lengths_ns = kinds->lengths_ns + from;

		kinds->end[kind] = end;
		kinds->usual_ns[kind] =
			1 + (double)percentile_select(lengths_ns, end - from, (end - from) / 2);
		from = end;
	}
}

/* Keys become the numbers of kinds: dense. */
static void kinds_begin(struct kinds *kinds, struct script_runs *runs)
{
	struct addresses numbers = { 0 };

	for (size_t i = 0; i < runs->run_count; i++)
		runs->runs[i].key = addresses_add(&numbers, 0, runs->runs[i].key);
	*kinds = (struct kinds){
		.count = (uint32_t)numbers.count,
		.end = memory_new(numbers.count, sizeof(*kinds->end)),
		.lengths_ns = memory_new(runs->run_count, sizeof(*kinds->lengths_ns)),
		.usual_ns = memory_new(numbers.count, sizeof(*kinds->usual_ns)),
	};
	for (size_t i = 0; i < runs->run_count; i++)
		kinds->end[runs->runs[i].key]++;
	for (uint32_t kind = 1; kind < kinds->count; kind++)
		kinds->end[kind] += kinds->end[kind - 1];
	addresses_free(&numbers);
}

static void kinds_free(struct kinds *kinds)
{
	free(kinds->end);
	free(kinds->lengths_ns);
	free(kinds->usual_ns);
}

/* The CPU time of a stretch's sleeps is known, if they used any. */
static bool tells_of_sleeps(const struct stretch *stretch, uint64_t wall_ns)
{
	return stretch->sleeps && !stretch->is_mixed && stretch->cpu_ns != UINT64_MAX &&
	       stretch->cpu_ns > wall_ns;
}

/* A thread that uses the CPU for most of a wait polls, and does not sleep: where many do, nothing
 * is known. */
uint64_t script_runs_sleep_ns(const struct script_runs *runs)
{
	uint64_t *each_ns = memory_new(runs->stretch_count, sizeof(*each_ns)), usual_ns = 0;
	size_t count = 0, looking_count = 0;

	for (size_t s = 0; s < runs->stretch_count; s++) {
		const struct stretch *stretch = &runs->stretches[s];
		uint64_t wall_ns = wall_ns_of(runs, stretch);

		if (!tells_of_sleeps(stretch, wall_ns))
			continue;
		if ((double)(stretch->cpu_ns - wall_ns) >
		    (double)stretch->slept_ns * assume.sleep_looking)
			looking_count++;
		else
			each_ns[count++] = (stretch->cpu_ns - wall_ns) / stretch->sleeps;
	}
	if (count >= assume.sleep_stretches && count > looking_count)
		usual_ns = percentile_select(each_ns, count,
					     (size_t)((double)count * assume.sleep_rank));
	free(each_ns);
	return usual_ns;
}

/* Leaves the CPU time of a stretch to its runs. If some of them waited for a CPU, the part of its
 * sleeps is not theirs. */
static void leave_out_sleeps(struct script_runs *runs, uint64_t sleep_ns)
{
	for (size_t s = 0; s < runs->stretch_count; s++) {
		struct stretch *stretch = &runs->stretches[s];
		uint64_t slept_ns = stretch->sleeps * sleep_ns;

		if (stretch->cpu_ns < wall_ns_of(runs, stretch))
			stretch->cpu_ns -= slept_ns < stretch->cpu_ns ? slept_ns : stretch->cpu_ns;
	}
}

void script_runs_cut(struct script_runs *runs, struct step *steps, uint64_t sleep_ns)
{
	if (!runs->stretch_count)
		return;
	leave_out_sleeps(runs, sleep_ns);
	struct kinds kinds;

	kinds_begin(&kinds, runs);
	for (int round = 0; round < ROUNDS; round++) {
		find_usual(runs, steps, &kinds);
		for (size_t s = 0; s < runs->stretch_count; s++) {
			const struct stretch *stretch = &runs->stretches[s];
			double factor = factor_of(runs, stretch, kinds.usual_ns);

			for (uint32_t i = stretch->first; i < stretch->end; i++)
				steps[runs->runs[i].step].ns =
					(uint64_t)cut_ns(&runs->runs[i], kinds.usual_ns, factor);
		}
	}
	kinds_free(&kinds);
}

uint64_t script_runs_take(const struct script_runs *runs, const struct script *script,
			  uint64_t *queued_ns)
{
	uint64_t all_ns = 0;
	uint32_t thread = 0;

	for (size_t i = 0; i < runs->run_count; i++) {
		const struct crowded_run *run = &runs->runs[i];

		while (thread + 1 < script->recording->thread_count &&
		       script->actors[thread + 1].first_step <= run->step)
			thread++;
		uint64_t off_ns = run->wall_ns - script->steps[run->step].ns;

		queued_ns[thread] -= off_ns < queued_ns[thread] ? off_ns : queued_ns[thread];
		all_ns += off_ns;
	}
	return all_ns;
}

void script_runs_free(struct script_runs *runs)
{
	free(runs->runs);
	free(runs->stretches);
	*runs = (struct script_runs){ 0 };
}

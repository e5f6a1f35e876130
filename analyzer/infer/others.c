/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what other programs used of the CPUs; others.h has the contract.
 *
 * Method. Each kernel by itself. The idle time is that of one of its recorded processes, the one
 * that tells of the longest time.
 * From one look at it to the next the CPUs were busy for the rest. Before the first look they were
 * as busy as after it. Recorded threads used a part of that, which their samples tell; others used
 * the remainder. Each look is off by a tick of the kernel's clock for a CPU at most. So the
 * remainder by a look is no more than that by any later one. These ticks are taken from the whole,
 * of each time its part.
 *
 * One thread.
 */
#include "others.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "recording/samples.h"

static const double LOOK_ERROR_NS = 1e7; /* of a CPU: /proc/stat counts in hundredths */

/* The looks of one process. */
struct looks {
	const struct rec_idle *looks;
	size_t count;
};

static uint64_t span_ns(const struct looks *looks)
{
	return looks->count ? looks->looks[looks->count - 1].at_ns - looks->looks[0].at_ns : 0;
}

/* Those of the longest time, of a process that may use all the CPUs of this kernel. */
static struct looks longest(const struct recording *rec, uint32_t kernel, double cpus)
{
	struct looks best = { NULL, 0 };

	for (size_t from = 0, to; from < rec->idle_count; from = to) {
		for (to = from;
		     to < rec->idle_count && rec->idles[to].process == rec->idles[from].process;)
			to++;
		const struct looks looks = { rec->idles + from, to - from };
		const struct rec_process *process = &rec->processes[rec->idles[from].process];
		if (process->clock == kernel && process->cpus == cpus &&
		    span_ns(&looks) > span_ns(&best))
			best = looks;
	}
	return best;
}

/* By each look, all recorded threads of that kernel together. */
static void add_own_ns(double *own_ns, const struct recording *rec, const uint64_t *startup_ns,
		       const struct looks *looks)
{
	uint32_t kernel = rec->processes[looks->looks->process].clock;

	for (uint32_t t = 0; t < rec->thread_count; t++) {
		size_t count;
		const struct rec_sample *samples = samples_of_thread(rec, t, &count);

		if (rec->processes[rec->threads[t].process].clock != kernel)
			continue;
		for (size_t i = 0; i < looks->count; i++) {
			uint64_t at_ns = looks->looks[i].at_ns;

			own_ns[i] += (double)samples_cpu_at(samples, count, at_ns);
			if (count && at_ns < samples->at_ns)
				own_ns[i] -= (double)startup_ns[t];
		}
	}
}

/* From the first look on; becomes what others used by each. */
static void take_own_away(double *own_ns, const struct looks *looks, double cpus)
{
	const struct rec_idle *first = looks->looks;
	double own_before_ns = own_ns[0], least_ns = INFINITY;

	for (size_t i = looks->count; i-- > 0;) {
		double all_ns = cpus * (double)(first[i].at_ns - first->at_ns);
		double idle_ns = (double)first[i].idle_ns - (double)first->idle_ns;
		double left_ns = all_ns - idle_ns - (own_ns[i] - own_before_ns);

		least_ns = fmax(fmin(least_ns, left_ns), 0);
		own_ns[i] = least_ns;
	}
	double used_ns = own_ns[looks->count - 1];
	double surely_ns = fmax(used_ns - LOOK_ERROR_NS * cpus, 0);

	for (size_t i = 0; i < looks->count && used_ns > 0; i++)
		own_ns[i] *= surely_ns / used_ns;
}

/* One uses a CPU at most. */
static uint32_t count_strangers(const struct others_there *there)
{
	double most = 0;

	for (size_t i = 0; i < there->window_count; i++)
		most = fmax(most, there->windows[i].cpus);
	return (uint32_t)ceil(most);
}

/* The recording begins with its first op; `most_ns`: but no later than this. */
static uint64_t first_op_ns(const struct recording *rec, uint64_t most_ns)
{
	for (size_t i = 0; i < rec->op_count; i++)
		if (rec->ops[i].start_ns < most_ns)
			most_ns = rec->ops[i].start_ns;
	return most_ns;
}

static bool find_there(struct others_there *there, const struct recording *rec,
		       const uint64_t *startup_ns, const struct looks *looks, double cpus)
{
	if (!rec->sample_count || looks->count < 2)
		return false;
	double *used_by_ns = memory_new(looks->count, sizeof(*used_by_ns));
	add_own_ns(used_by_ns, rec, startup_ns, looks);
	take_own_away(used_by_ns, looks, cpus);
	there->start_ns = first_op_ns(rec, looks->looks[0].at_ns);
	there->window_count = looks->count - 1;
	there->windows = memory_new(there->window_count, sizeof(*there->windows));
	for (size_t i = 0; i < there->window_count; i++) {
		double length_ns = (double)(looks->looks[i + 1].at_ns - looks->looks[i].at_ns);

		assert(length_ns > 0 && used_by_ns[i + 1] >= used_by_ns[i]);
		there->windows[i] = (struct others_window){
			looks->looks[i + 1].at_ns,
			fmin((used_by_ns[i + 1] - used_by_ns[i]) / length_ns, cpus)
		};
	}
	there->cpus = used_by_ns[looks->count - 1] / (double)span_ns(looks);
	free(used_by_ns);
	there->stranger_count = count_strangers(there);
	return true;
}

void others_find(struct others *others, const struct recording *rec, const uint64_t *startup_ns,
		 const double *kernel_cpus, size_t kernel_count)
{
	*others = (struct others){ .kernel_count = kernel_count, .pressure = 1 };
	others->there = memory_new(kernel_count, sizeof(*others->there));
	others->is_known = kernel_count > 0;
	for (uint32_t i = 0; i < kernel_count; i++) {
		struct others_there *there = &others->there[i];
		const struct looks looks = longest(rec, i, kernel_cpus[i]);

		others->is_known &= find_there(there, rec, startup_ns, &looks, kernel_cpus[i]);
		others->cpus += there->cpus;
		others->stranger_count += there->stranger_count;
	}
}

void others_free(struct others *others)
{
	for (size_t i = 0; i < others->kernel_count; i++)
		free(others->there[i].windows);
	free(others->there);
	*others = (struct others){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many CPUs threads used at a time; leftover.h has the contract.
 *
 * Method. The run is cut into windows. A thread's CPU time between two samples is
 * dealt out half and half, to the windows and CPUs of either sample. In
 * each window the CPUs are ordered by what they did. The busiest ones count, as many as leave next
 * to nothing for the rest, over all windows. Windows are short against how long a scheduler leaves
 * a busy thread where it is, and long against what it moves about for a moment.
 *
 * One thread. Nothing is kept.
 */
#include "leftover.h"

#include "base/assumptions.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { WINDOWS_MAX = 1024, CPUS_MAX = 1024 };

struct usage {
	size_t window_count, cpu_count;
	uint64_t window_ns;
	double *used_ns; /* by window, then by CPU */
};

static void add(struct usage *usage, const struct rec_sample *sample, double cpu_ns)
{
	size_t window = sample->at_ns / usage->window_ns;

	assert(sample->cpu_number < usage->cpu_count);
	window = window < usage->window_count ? window : usage->window_count - 1;
	usage->used_ns[window * usage->cpu_count + sample->cpu_number] += cpu_ns;
}

static bool usage_make(struct usage *usage, const struct recording *rec)
{
	uint32_t last_cpu = 0;
	uint64_t window_ns = rec->end_ns / WINDOWS_MAX + 1;

	for (size_t i = 0; i < rec->sample_count; i++)
		if (rec->samples[i].cpu_number > last_cpu)
			last_cpu = rec->samples[i].cpu_number;
	if (last_cpu >= CPUS_MAX)
		return false;
	usage->window_ns = window_ns > assume.usage_window ? window_ns : assume.usage_window;
	usage->window_count = (size_t)(rec->end_ns / usage->window_ns + 1);
	usage->cpu_count = (size_t)last_cpu + 1;
	usage->used_ns =
		memory_new(usage->window_count * usage->cpu_count, sizeof(*usage->used_ns));
	for (size_t i = 1; i < rec->sample_count; i++) {
		const struct rec_sample *sample = &rec->samples[i];

		if (sample->thread != sample[-1].thread || sample->cpu_ns < sample[-1].cpu_ns)
			continue;
		double cpu_ns = (double)(sample->cpu_ns - sample[-1].cpu_ns);
		add(usage, sample - 1, cpu_ns / 2);
		add(usage, sample, cpu_ns / 2);
	}
	return true;
}

static int compare_descending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left < right) - (left > right);
}

/* By place in the order of its window, from the busiest CPU on. */
static double *usage_by_place(const struct usage *usage)
{
	double *sums_ns = memory_new(usage->cpu_count, sizeof(*sums_ns));

	for (size_t w = 0; w < usage->window_count; w++) {
		double *used_ns = usage->used_ns + w * usage->cpu_count;

		qsort(used_ns, usage->cpu_count, sizeof(*used_ns), compare_descending);
		for (size_t i = 0; i < usage->cpu_count; i++)
			sums_ns[i] += used_ns[i];
	}
	return sums_ns;
}

double leftover_cpus(const struct recording *rec, double all)
{
	struct usage usage = { 0 };
	double rest_ns = 0, all_ns = 0;

	assert(all > 0);
	if (isinf(all) || !usage_make(&usage, rec))
		return all;
	double *sums_ns = usage_by_place(&usage);
	size_t left = usage.cpu_count;

	for (size_t i = 0; i < usage.cpu_count; i++)
		all_ns += sums_ns[i];
	while (left > 1 && rest_ns + sums_ns[left - 1] <= assume.usage_rest * all_ns)
		rest_ns += sums_ns[--left];
	free(sums_ns);
	free(usage.used_ns);
	return all_ns > 0 && (double)left < all ? (double)left : all;
}

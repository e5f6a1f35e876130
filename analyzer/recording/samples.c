/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a recording, by thread and time.
 *
 * A dump has runs of one thread after the other, each in order of time. So samples are dealt out by
 * thread first, which keeps their order, and sorted only where that is not enough. One thread, at
 * the end of reading.
 */
#include "samples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int sample_compare(const struct rec_sample *a, const struct rec_sample *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->cpu_ns > b->cpu_ns) - (a->cpu_ns < b->cpu_ns);
}

static int compare(const void *a, const void *b)
{
	return sample_compare(a, b);
}

static bool are_in_order(const struct rec_sample *samples, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sample_compare(&samples[i - 1], &samples[i]) > 0)
			return false;
	return true;
}

/* By thread, those of one thread in the order in which they were. `ends` is room for one more than
 * there are threads, all 0. */
static void deal_out(const struct recording *recording, struct rec_sample *to, size_t *ends)
{
	for (size_t i = 0; i < recording->sample_count; i++) {
		assert(recording->samples[i].thread < recording->thread_count);
		ends[recording->samples[i].thread + 1]++;
	}
	for (size_t i = 1; i <= recording->thread_count; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < recording->sample_count; i++)
		to[ends[recording->samples[i].thread]++] = recording->samples[i];
}

static void sort_each(struct rec_sample *samples, const size_t *ends, size_t thread_count)
{
	for (size_t i = 0; i < thread_count; i++) {
		size_t begin = i > 0 ? ends[i - 1] : 0;

		assert(begin <= ends[i]);
		if (!are_in_order(samples + begin, ends[i] - begin))
			qsort(samples + begin, ends[i] - begin, sizeof(*samples), compare);
	}
}

bool samples_sort(struct recording *recording)
{
	struct rec_sample *sorted;
	size_t *ends;
	bool is_good;

	if (are_in_order(recording->samples, recording->sample_count))
		return true;
	sorted = malloc(recording->sample_count * sizeof(*sorted));
	ends = calloc(recording->thread_count + 1, sizeof(*ends));
	is_good = sorted && ends;
	if (is_good) {
		deal_out(recording, sorted, ends);
		sort_each(sorted, ends, recording->thread_count);
		free(recording->samples);
		recording->samples = sorted;
	} else {
		free(sorted);
	}
	free(ends);
	return is_good;
}

/* The first sample that is not ordered before `key`. */
static size_t first_not_below(const struct rec_sample *samples, size_t count,
			      const struct rec_sample *key)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (sample_compare(&samples[middle], key) < 0)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

const struct rec_sample *samples_of_thread(const struct recording *recording, uint32_t thread,
					   size_t *count)
{
	struct rec_sample key = { .thread = thread };
	size_t begin = first_not_below(recording->samples, recording->sample_count, &key);

	assert(thread < recording->thread_count);
	key.thread++;
	*count = first_not_below(recording->samples, recording->sample_count, &key) - begin;
	return *count ? recording->samples + begin : NULL;
}

uint64_t samples_cpu_at(const struct rec_sample *samples, size_t count, uint64_t at_ns)
{
	struct rec_sample key = { .at_ns = at_ns };
	const struct rec_sample *before, *after;
	size_t next;

	if (count == 0)
		return 0;
	key.thread = samples[0].thread;
	next = first_not_below(samples, count, &key);
	if (next == 0)
		return samples[0].cpu_ns;
	before = &samples[next - 1];
	if (next == count || samples[next].cpu_ns <= before->cpu_ns)
		return before->cpu_ns;
	after = &samples[next];
	assert(before->at_ns < after->at_ns);
	return before->cpu_ns +
	       (uint64_t)((double)(after->cpu_ns - before->cpu_ns) *
			  (double)(at_ns - before->at_ns) / (double)(after->at_ns - before->at_ns));
}

bool samples_is_outside(const struct recording *recording, uint32_t stack)
{
	static const char begin[] = "[outside:";
	const struct rec_stack *frames = &recording->stacks[stack];
	const char *text =
		stack && frames->frame_count == 1
			? rec_frame_text(recording, recording->frames[frames->first_frame])
			: NULL;

	return text && strncmp(text, begin, strlen(begin)) == 0;
}

size_t samples_outside(const struct recording *recording, size_t *inside)
{
	size_t outside = 0, others = 0;

	for (size_t i = 0; i < recording->sample_count; i++) {
		uint32_t stack = recording->samples[i].stack;
		bool is_outside = samples_is_outside(recording, stack);

		outside += is_outside;
		others += stack && !is_outside;
	}
	if (inside)
		*inside = others;
	return outside;
}

uint64_t samples_cpu_ns(const struct recording *recording)
{
	const struct rec_sample *samples = recording->samples;
	uint64_t cpu_ns = 0;

	for (size_t i = 1; i < recording->sample_count; i++)
		if (samples[i].thread == samples[i - 1].thread)
			cpu_ns += samples[i].cpu_ns - samples[i - 1].cpu_ns;
	return cpu_ns;
}

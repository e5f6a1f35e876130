/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the CPU time of threads' starts; startup.h has the contract.
 *
 * A sample has the CPU time of the thread in all its life. The first one's is that of its start,
 * less that of the last sample of the same thread in the image before an exec.
 *
 * One thread.
 */
#include "startup.h"

#include <stdlib.h>

#include "base/memory.h"
#include "recording/samples.h"

/* The samples of a thread, by its name in the kernel. */
struct life {
	const struct rec_sample *samples;
	size_t count;
	uint64_t kernels; /* process and thread */
	uint32_t thread;
};

static int compare(const void *left, const void *right)
{
	const struct life *a = left, *b = right;

	if (a->kernels != b->kernels)
		return a->kernels < b->kernels ? -1 : 1;
	return (a->samples->at_ns > b->samples->at_ns) - (a->samples->at_ns < b->samples->at_ns);
}

static bool is_older(const struct recording *rec, uint32_t thread)
{
	const struct rec_process *process = &rec->processes[rec->threads[thread].process];

	return (int64_t)(process->start_unix_ns - rec->epoch_unix_ns) < -REC_START_ERROR_NS;
}

/* Its start is not in the selected part of the recording. */
static bool began_before(const struct recording *rec, uint32_t thread)
{
	uint32_t op = rec->threads[thread].op;

	return op != NO_INDEX && rec->extras && rec->extras[op].cut;
}

/* Those with samples, of each thread one after the other. Returns how many. */
static size_t list(struct life *lives, const struct recording *rec)
{
	size_t count = 0;

	for (uint32_t t = 0; t < rec->thread_count; t++) {
		struct life *life = &lives[count];

		if (began_before(rec, t))
			continue;
		life->samples = samples_of_thread(rec, t, &life->count);
		life->kernels = (uint64_t)rec->processes[rec->threads[t].process].pid << 32 |
				rec->threads[t].tid;
		life->thread = t;
		count += life->count > 0;
	}
	if (count)
		qsort(lives, count, sizeof(*lives), compare);
	return count;
}

/* The same thread in the image before; NULL = there was none. */
static const struct life *life_before(const struct life *lives, size_t index)
{
	return index && lives[index - 1].kernels == lives[index].kernels ? &lives[index - 1] : NULL;
}

uint64_t *startup_find(const struct recording *rec)
{
	struct life *lives = memory_new(rec->thread_count, sizeof(*lives));
	uint64_t *run_ns = memory_new(rec->thread_count, sizeof(*run_ns));
	size_t count = list(lives, rec);

	for (size_t i = 0; i < count; i++) {
		const struct life *life = &lives[i], *before = life_before(lives, i);
		uint64_t first_ns = life->samples->cpu_ns, last_ns = 0;

		if (before)
			last_ns = before->samples[before->count - 1].cpu_ns;
		else if (is_older(rec, life->thread))
			continue;
		run_ns[life->thread] = first_ns > last_ns ? first_ns - last_ns : 0;
	}
	free(lives);
	return run_ns;
}

uint64_t *startup_queued_before(const struct recording *rec)
{
	struct life *lives = memory_new(rec->thread_count, sizeof(*lives));
	uint64_t *queued_ns = memory_new(rec->thread_count, sizeof(*queued_ns));
	size_t count = list(lives, rec);

	for (size_t i = 0; i < count; i++) {
		const struct life *before = life_before(lives, i);
		uint64_t *most_ns = &queued_ns[lives[i].thread];

		*most_ns = before ? queued_ns[before->thread] : 0;
		for (size_t k = 0; before && k < before->count; k++)
			if (before->samples[k].queued_ns > *most_ns)
				*most_ns = before->samples[k].queued_ns;
	}
	free(lives);
	return queued_ns;
}

/* A process between two execs. */
struct image {
	uint64_t start_ns;
	uint32_t process;
	uint32_t client;
	uint32_t thread; /* the first one, NO_INDEX = it did nothing */
};

static int compare_images(const void *left, const void *right)
{
	const struct image *a = left, *b = right;

	if (a->client != b->client)
		return a->client < b->client ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

/* Of each process one after the other. */
static struct image *list_images(const struct recording *rec)
{
	struct image *images = memory_new(rec->process_count, sizeof(*images));

	for (uint32_t p = 0; p < rec->process_count; p++) {
		uint32_t op = rec->processes[p].op;

		images[p] = (struct image){ op == NO_INDEX ? 0 : rec->ops[op].start_ns, p,
					    rec->processes[p].client, NO_INDEX };
	}
	for (uint32_t t = (uint32_t)rec->thread_count; t-- > 0;)
		if (rec->threads[t].tid == rec->processes[rec->threads[t].process].pid)
			images[rec->threads[t].process].thread = t;
	if (rec->process_count)
		qsort(images, rec->process_count, sizeof(*images), compare_images);
	return images;
}

uint64_t *startup_of_recorder(const struct recording *rec, const uint64_t *startup_ns)
{
	uint64_t *own_ns = memory_new(rec->thread_count, sizeof(*own_ns)), before_ns = 0;
	struct image *images = list_images(rec);

	for (size_t i = 0; i < rec->process_count; i++) {
		uint32_t thread = images[i].thread;

		if (!images[i].client || (i && images[i].client != images[i - 1].client))
			before_ns = 0;
		before_ns += rec->processes[images[i].process].own_start_ns;
		if (thread == NO_INDEX)
			continue;
		own_ns[thread] = before_ns < startup_ns[thread] ? before_ns : startup_ns[thread];
		before_ns = 0;
	}
	free(images);
	return own_ns;
}

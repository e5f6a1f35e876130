/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the slices of each thread (threadslices.h) by state, and by sort of call.
 */
#include "threadtime.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "recording/samples.h"
#include "threadslices.h"

const char *thread_cause_word(const struct recording *recording, uint32_t cause)
{
	assert(cause < recording->reasons.count + recording->kinds.count);
	return cause < recording->reasons.count
		       ? recording->reasons.words[cause]
		       : recording->kinds.words[cause - recording->reasons.count];
}

uint32_t thread_cause_of(const struct recording *recording, const struct thread_slice *slice)
{
	if (slice->wait != NO_INDEX)
		return recording->waits[slice->wait].reason;
	return (uint32_t)recording->reasons.count + recording->ops[slice->op].kind;
}

/* --- One thread --- */

static int compare_blocks(const void *a, const void *b)
{
	const struct thread_block *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->cause > right->cause) - (left->cause < right->cause);
}

/* Causes with time become the row's blocks; all causes are 0 again afterwards. */
static void collect_blocks(struct thread_time *row, uint64_t *cause_ns, size_t cause_count,
			   struct thread_block *blocks)
{
	for (uint32_t i = 0; i < cause_count; i++) {
		if (cause_ns[i] > 0)
			blocks[row->block_count++] = (struct thread_block){ i, cause_ns[i] };
		cause_ns[i] = 0;
	}
	qsort(blocks, row->block_count, sizeof(*blocks), compare_blocks);
}

static void add_slices(struct thread_time *row, struct thread_slices *slices,
		       const struct recording *recording, uint64_t *cause_ns)
{
	struct thread_slice slice;
	uint64_t sums_ns[SLICE_STATES] = { 0 }, start_ns, end_ns;
	size_t sample_count;
	(void)samples_of_thread(recording, row->thread, &sample_count);
	thread_slices_begin(slices, row->thread, &start_ns, &end_ns);
	while (thread_slices_next(slices, &slice)) {
		sums_ns[slice.state] += slice.end_ns - slice.start_ns;
		if (slice.state == SLICE_BLOCKED)
			cause_ns[thread_cause_of(recording, &slice)] +=
				slice.end_ns - slice.start_ns;
	}
	row->has_cpu = sample_count > 1;
	row->wall_ns = end_ns - start_ns;
	row->cpu_ns = sums_ns[SLICE_RUNNING];
	row->queued_ns = sums_ns[SLICE_QUEUED];
	row->blocked_ns = sums_ns[SLICE_BLOCKED];
	row->unexplained_ns = sums_ns[SLICE_UNEXPLAINED];
}

/* --- The tables --- */

static int compare_rows(const void *a, const void *b)
{
	const struct thread_time *left = a, *right = b;
	if (left->cpu_ns != right->cpu_ns)
		return left->cpu_ns < right->cpu_ns ? 1 : -1;
	if (left->wall_ns != right->wall_ns)
		return left->wall_ns < right->wall_ns ? 1 : -1;
	return (left->thread > right->thread) - (left->thread < right->thread);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_time *left = a, *right = b;
	if (left->cpu_ns != right->cpu_ns)
		return left->cpu_ns < right->cpu_ns ? 1 : -1;
	return (left->process > right->process) - (left->process < right->process);
}

static void add_processes(struct thread_table *table, const struct recording *recording)
{
	table->process_count = (uint32_t)recording->process_count;
	table->processes = memory_new(recording->process_count, sizeof(*table->processes));
	for (uint32_t i = 0; i < table->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		table->processes[i].process = i;
		if (process->op != NO_INDEX)
			table->processes[i].wall_ns = recording->ops[process->op].end_ns -
						      recording->ops[process->op].start_ns;
	}
	for (uint32_t i = 0; i < table->count; i++) {
		const struct thread_time *row = &table->rows[i];
		uint32_t of = recording->threads[row->thread].process;
		assert(of < table->process_count);
		table->processes[of].thread_count++;
		table->processes[of].thread_ns += row->wall_ns;
		table->processes[of].cpu_ns += row->cpu_ns;
		table->processes[of].blocked_ns += row->blocked_ns;
		table->processes[of].queued_ns += row->queued_ns;
		table->processes[of].unexplained_ns += row->unexplained_ns;
	}
	qsort(table->processes, table->process_count, sizeof(*table->processes), compare_processes);
}

/* Blocks go into one array, and are pointed to when it moves no more. */
static void add_rows(struct thread_table *table, const struct recording *recording,
		     const struct timeline *timeline)
{
	size_t cause_count = recording->reasons.count + recording->kinds.count;
	uint64_t *cause_ns = memory_new(cause_count, sizeof(*cause_ns));
	struct thread_slices *slices = thread_slices_new(recording, timeline);
	size_t room = 0, used = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		struct thread_time *row = &table->rows[i];
		row->thread = i;
		add_slices(row, slices, recording, cause_ns);
		table->blocks = memory_grow(table->blocks, &room, used + cause_count,
					    sizeof(*table->blocks));
		collect_blocks(row, cause_ns, cause_count, table->blocks + used);
		used += row->block_count;
	}
	used = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		table->rows[i].blocks = table->blocks + used;
		used += table->rows[i].block_count;
	}
	thread_slices_free(slices);
	free(cause_ns);
}

static void build_rows(struct thread_table *table, const struct recording *recording)
{
	struct timeline timeline;
	table->count = (uint32_t)recording->thread_count;
	table->rows = memory_new(table->count, sizeof(*table->rows));
	timeline_build(&timeline, recording);
	add_rows(table, recording, &timeline);
	timeline_free(&timeline);
	qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
}

void thread_table_build(struct thread_table *table, const struct recording *recording)
{
	*table = (struct thread_table){ 0 };
	if (recording->thread_count > 0 && recording->threads)
		build_rows(table, recording);
	add_processes(table, recording);
}

void thread_table_free(struct thread_table *table)
{
	free(table->rows);
	free(table->processes);
	free(table->blocks);
	*table = (struct thread_table){ 0 };
}

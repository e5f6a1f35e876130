/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the wall time of each thread: on a CPU, waiting for one, blocked, unexplained.
 *
 * A thread's calls that may block are laid out in time: where one is inside another, the inner one
 * counts. Its samples cut the time into pieces of which each has so much CPU time. In a piece, the
 * thread is taken to have been on the CPU outside calls first. The CPU time that is left was used
 * in the calls, by each in proportion to its length. The rest of the calls is blocked time. If the
 * CPU time does not even cover what is outside calls, the thread waited for a CPU as long as the
 * kernel says. The rest is unexplained.
 *
 * Without samples nothing is known of CPU time: calls count as blocked, the rest as unexplained.
 */
#include "threadtime.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "recording/samples.h"
#include "recording/words.h"

/* A call of a thread; also a stretch of it in which nothing else was called. */
struct call {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t cause;
};

/* One thread at a time. */
struct thread_work {
	const struct recording *recording;
	struct call *calls;     /* of this thread */
	struct call *stretches; /* the same without overlap, in order */
	struct call *open;      /* stack of those that have begun */
	size_t call_count, stretch_count;
	double *blocked_ns; /* by cause */
	uint32_t cause_count;
};

const char *thread_cause_word(const struct recording *recording, uint32_t cause)
{
	assert(cause < recording->reasons.count + recording->kinds.count);
	return cause < recording->reasons.count
		       ? recording->reasons.words[cause]
		       : recording->kinds.words[cause - recording->reasons.count];
}

/* --- Calls by thread --- */

/* Where each thread's calls end in one array of all: ends[thread - 1] is where they begin. */
static size_t *calls_deal_out(const struct recording *recording, struct call **calls)
{
	size_t threads = recording->thread_count;
	size_t *ends = memory_new(threads + 1, sizeof(*ends));
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].thread != NO_INDEX && words_is_call(recording->ops[i].kind))
			ends[recording->ops[i].thread + 1]++;
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].thread != NO_INDEX)
			ends[recording->waits[i].thread + 1]++;
	for (size_t i = 1; i <= threads; i++)
		ends[i] += ends[i - 1];
	*calls = memory_new(ends[threads], sizeof(**calls));
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->thread != NO_INDEX && words_is_call(op->kind))
			(*calls)[ends[op->thread]++] =
				(struct call){ op->start_ns, op->end_ns,
					       (uint32_t)recording->reasons.count + op->kind };
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread != NO_INDEX)
			(*calls)[ends[wait->thread]++] =
				(struct call){ wait->start_ns, wait->end_ns, wait->reason };
	}
	return ends;
}

/* Outer calls before inner ones. */
static int compare_calls(const void *a, const void *b)
{
	const struct call *left = a, *right = b;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

static void add_stretch(struct thread_work *work, uint64_t start_ns, uint64_t end_ns,
			uint32_t cause)
{
	if (start_ns < end_ns)
		work->stretches[work->stretch_count++] = (struct call){ start_ns, end_ns, cause };
}

/* Ends the calls that are open until `until_ns`, innermost first; returns how far they reached. */
static uint64_t close_calls(struct thread_work *work, size_t *depth, uint64_t at_ns,
			    uint64_t until_ns)
{
	while (*depth > 0 && work->open[*depth - 1].end_ns <= until_ns) {
		const struct call *ended = &work->open[--*depth];
		add_stretch(work, at_ns, ended->end_ns, ended->cause);
		at_ns = ended->end_ns > at_ns ? ended->end_ns : at_ns;
	}
	return at_ns;
}

/* Each moment to the innermost call. */
static void calls_flatten(struct thread_work *work)
{
	size_t depth = 0;
	uint64_t at_ns = 0;
	work->stretch_count = 0;
	qsort(work->calls, work->call_count, sizeof(*work->calls), compare_calls);
	for (size_t i = 0; i < work->call_count; i++) {
		const struct call *call = &work->calls[i];
		at_ns = close_calls(work, &depth, at_ns, call->start_ns);
		if (depth > 0)
			add_stretch(work, at_ns, call->start_ns, work->open[depth - 1].cause);
		at_ns = call->start_ns > at_ns ? call->start_ns : at_ns;
		work->open[depth++] = *call;
	}
	close_calls(work, &depth, at_ns, UINT64_MAX);
}

/* --- One thread --- */

/* Stretches from *next on that begin before `to_ns`; the last one may go on behind it. */
static double calls_between(const struct thread_work *work, size_t first, size_t *next,
			    uint64_t from_ns, uint64_t to_ns)
{
	double sum_ns = 0;
	for (*next = first; *next < work->stretch_count; ++*next) {
		const struct call *stretch = &work->stretches[*next];
		if (stretch->start_ns >= to_ns)
			break;
		uint64_t begin_ns = stretch->start_ns > from_ns ? stretch->start_ns : from_ns;
		uint64_t end_ns = stretch->end_ns < to_ns ? stretch->end_ns : to_ns;
		sum_ns += end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
		if (stretch->end_ns > to_ns)
			break;
	}
	return sum_ns;
}

/* A piece of a thread's time in which it used so much CPU time. */
static void add_piece(struct thread_work *work, struct thread_time *row, size_t *next,
		      uint64_t from_ns, uint64_t to_ns, uint64_t cpu_ns)
{
	size_t first = *next;
	double piece_ns = (double)(to_ns - from_ns);
	double in_calls_ns = calls_between(work, first, next, from_ns, to_ns);
	double used_ns = (double)cpu_ns < piece_ns ? (double)cpu_ns : piece_ns;
	double free_ns = piece_ns - used_ns;
	double blocked_ns = in_calls_ns < free_ns ? in_calls_ns : free_ns;
	for (size_t i = first; i < work->stretch_count && i <= *next && in_calls_ns > 0; i++) {
		const struct call *stretch = &work->stretches[i];
		uint64_t begin_ns = stretch->start_ns > from_ns ? stretch->start_ns : from_ns;
		uint64_t end_ns = stretch->end_ns < to_ns ? stretch->end_ns : to_ns;
		if (end_ns > begin_ns)
			work->blocked_ns[stretch->cause] +=
				(double)(end_ns - begin_ns) * blocked_ns / in_calls_ns;
	}
	row->cpu_ns += (uint64_t)used_ns;
}

/* From the thread's first event to its last. */
static void find_span(const struct thread_work *work, const struct rec_sample *samples,
		      size_t sample_count, uint32_t op, uint64_t *start_ns, uint64_t *end_ns)
{
	*start_ns = UINT64_MAX;
	*end_ns = 0;
	if (op != NO_INDEX) {
		*start_ns = work->recording->ops[op].start_ns;
		*end_ns = work->recording->ops[op].end_ns;
	}
	if (sample_count > 0) {
		if (samples[0].at_ns < *start_ns)
			*start_ns = samples[0].at_ns;
		if (samples[sample_count - 1].at_ns > *end_ns)
			*end_ns = samples[sample_count - 1].at_ns;
	}
	for (size_t i = 0; op == NO_INDEX && i < work->stretch_count; i++) {
		if (work->stretches[i].start_ns < *start_ns)
			*start_ns = work->stretches[i].start_ns;
		if (work->stretches[i].end_ns > *end_ns)
			*end_ns = work->stretches[i].end_ns;
	}
	if (*start_ns > *end_ns)
		*start_ns = *end_ns;
}

/* The queueing that the kernel counted between the first and the last sample that know of it. */
static uint64_t queued_between(const struct rec_sample *samples, size_t count)
{
	size_t first = 0, last = count;
	while (first < count && samples[first].queued_ns == 0)
		first++;
	while (last > first && samples[last - 1].queued_ns == 0)
		last--;
	if (first == last || samples[last - 1].queued_ns < samples[first].queued_ns)
		return 0;
	return samples[last - 1].queued_ns - samples[first].queued_ns;
}

static void add_pieces(struct thread_work *work, struct thread_time *row)
{
	size_t count, next = 0;
	const struct rec_sample *samples = samples_of_thread(work->recording, row->thread, &count);
	uint64_t at_ns, end_ns;
	find_span(work, samples, count, work->recording->threads[row->thread].op, &at_ns, &end_ns);
	row->wall_ns = end_ns - at_ns;
	row->has_cpu = count > 1;
	row->queued_ns = queued_between(samples, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t cpu_ns = i > 0 && samples[i].cpu_ns > samples[i - 1].cpu_ns
					  ? samples[i].cpu_ns - samples[i - 1].cpu_ns
					  : 0;
		if (samples[i].at_ns <= at_ns)
			continue;
		add_piece(work, row, &next, at_ns, samples[i].at_ns, cpu_ns);
		at_ns = samples[i].at_ns;
	}
	add_piece(work, row, &next, at_ns, end_ns, 0);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct thread_block *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->cause > right->cause) - (left->cause < right->cause);
}

/* Causes with time become the row's blocks; all causes are 0 again afterwards. */
static void collect_blocks(struct thread_work *work, struct thread_time *row,
			   struct thread_block *blocks)
{
	for (uint32_t i = 0; i < work->cause_count; i++) {
		uint64_t ns = (uint64_t)work->blocked_ns[i];
		work->blocked_ns[i] = 0;
		if (ns == 0)
			continue;
		blocks[row->block_count++] = (struct thread_block){ i, ns };
		row->blocked_ns += ns;
	}
	qsort(blocks, row->block_count, sizeof(*blocks), compare_blocks);
	/* Halves of nanoseconds may have made it one too many. */
	if (row->cpu_ns + row->blocked_ns > row->wall_ns)
		row->cpu_ns = row->wall_ns - row->blocked_ns;
	row->unexplained_ns = row->wall_ns - row->cpu_ns - row->blocked_ns;
	if (row->queued_ns > row->unexplained_ns)
		row->queued_ns = row->unexplained_ns;
	row->unexplained_ns -= row->queued_ns;
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

static size_t most_calls(const size_t *ends, size_t thread_count)
{
	size_t most = 0;
	for (size_t i = 0; i < thread_count; i++) {
		size_t count = ends[i] - (i > 0 ? ends[i - 1] : 0);
		most = count > most ? count : most;
	}
	return most;
}

/* Blocks go into one array, and are pointed to when it moves no more. */
static void add_rows(struct thread_table *table, struct thread_work *work, struct call *calls,
		     const size_t *ends)
{
	size_t room = 0, used = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		struct thread_time *row = &table->rows[i];
		size_t begin = i > 0 ? ends[i - 1] : 0;
		row->thread = i;
		work->calls = calls + begin;
		work->call_count = ends[i] - begin;
		calls_flatten(work);
		add_pieces(work, row);
		table->blocks = memory_grow(table->blocks, &room, used + work->cause_count,
					    sizeof(*table->blocks));
		collect_blocks(work, row, table->blocks + used);
		used += row->block_count;
	}
	used = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		table->rows[i].blocks = table->blocks + used;
		used += table->rows[i].block_count;
	}
}

static void build_rows(struct thread_table *table, const struct recording *recording)
{
	struct thread_work work = { .recording = recording };
	struct call *calls;
	size_t *ends = calls_deal_out(recording, &calls);
	size_t most = most_calls(ends, recording->thread_count);
	table->count = (uint32_t)recording->thread_count;
	table->rows = memory_new(table->count, sizeof(*table->rows));
	work.cause_count = (uint32_t)(recording->reasons.count + recording->kinds.count);
	work.blocked_ns = memory_new(work.cause_count, sizeof(*work.blocked_ns));
	/* Each call ends one stretch of its own, and one of the call that it is in. */
	work.stretches = memory_new(2 * most + 1, sizeof(*work.stretches));
	work.open = memory_new(most, sizeof(*work.open));
	add_rows(table, &work, calls, ends);
	qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
	free(work.open);
	free(work.stretches);
	free(work.blocked_ns);
	free(ends);
	free(calls);
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

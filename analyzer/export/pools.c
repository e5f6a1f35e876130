/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and lanes of threads; pools.h has the contract. */
#include "pools.h"
#include "recording/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/tuples.h"
#include "recording/intern.h"
#include "report/facts.h"

struct sorting {
	const struct thread_pools *pools;
	const struct recording *recording;
	const uint64_t *process_ns; /* when each process had its first thread */
};

/* The part of a thread's name before the number at its end. */
static int stem_length(const char *name)
{
	size_t length = strlen(name);
	while (length > 0 && strchr("0123456789-_#:/ ", name[length - 1]))
		length--;
	return (int)length;
}

/* The routine; and the name, where it is not just the program's. */
static void name_pool(struct thread_pool *pool, const struct analysis *analysis, uint32_t thread)
{
	const struct recording *recording = analysis->recording;
	const char *name = recording->strings[recording->threads[thread].name];
	const char *routine = facts_thread_name(analysis, thread);
	const char *program = program_called(recording, pool->process);
	char shown[16]; /* as long as the kernel keeps names */
	int stem = stem_length(name);
	snprintf(shown, sizeof(shown), "%.*s", stem, name);
	if (stem == 0 || strncmp(program, name, strlen(name)) == 0 || strstr(routine, shown))
		snprintf(pool->name, sizeof(pool->name), "%s", routine);
	else if (strcmp(routine, "?") == 0)
		snprintf(pool->name, sizeof(pool->name), "%s", shown);
	else
		snprintf(pool->name, sizeof(pool->name), "%.90s (%s)", routine, shown);
}

/* A number for each stem; names share those of the first thread that has it. */
static uint32_t stem_number(struct tuples *stems, const char *name)
{
	enum { WORDS = 16 / sizeof(uint32_t) };
	uint32_t words[WORDS] = { 0 };
	size_t length = (size_t)stem_length(name);
	memcpy(words, name, length < sizeof(words) ? length : sizeof(words));
	return tuples_add(stems, words);
}

static uint64_t start_of(const struct recording *recording, uint32_t thread)
{
	uint32_t op = recording->threads[thread].op;
	return op == NO_INDEX ? 0 : recording->ops[op].start_ns;
}

static int compare_threads(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct thread_pool *pools = sorting->pools->pools;
	uint32_t one = sorting->pools->pool_of[left], two = sorting->pools->pool_of[right];
	const uint64_t *process_ns = sorting->process_ns;
	if (process_ns[pools[one].process] != process_ns[pools[two].process])
		return process_ns[pools[one].process] < process_ns[pools[two].process] ? -1 : 1;
	if (pools[one].process != pools[two].process)
		return pools[one].process < pools[two].process ? -1 : 1;
	if (one != two)
		return one < two ? -1 : 1;
	uint64_t left_ns = start_of(sorting->recording, left),
		 right_ns = start_of(sorting->recording, right);
	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static void sort_lanes(struct thread_pools *pools, const struct recording *recording)
{
	uint64_t *process_ns = memory_new(recording->process_count, sizeof(*process_ns));
	struct sorting sorting = { pools, recording, process_ns };
	memset(process_ns, 0xff, recording->process_count * sizeof(*process_ns));
	for (uint32_t i = 0; i < pools->lane_count; i++) {
		uint64_t *earliest_ns = &process_ns[recording->threads[i].process];
		if (start_of(recording, i) < *earliest_ns)
			*earliest_ns = start_of(recording, i);
	}
	if (pools->lane_count > 0)
		qsort_r(pools->thread_of, pools->lane_count, sizeof(uint32_t), compare_threads,
			&sorting);
	free(process_ns);
}

static void find_pools(struct thread_pools *pools, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	struct tuples stems, keys;
	tuples_begin(&stems, 4);
	tuples_begin(&keys, 3);
	for (uint32_t i = 0; i < pools->lane_count; i++) {
		const struct rec_thread *thread = &recording->threads[i];
		uint32_t class =
			thread->op == NO_INDEX ? NO_INDEX : analysis->classes.of_op[thread->op];
		uint32_t key[] = { thread->process, class,
				   stem_number(&stems, recording->strings[thread->name]) };
		uint32_t pool = tuples_add(&keys, key);
		pools->pool_of[i] = pool;
		if (pool < pools->count)
			continue;
		pools->pools[pools->count] =
			(struct thread_pool){ .process = thread->process, .class = class };
		name_pool(&pools->pools[pools->count++], analysis, i);
	}
	tuples_free(&stems);
	tuples_free(&keys);
}

void pools_build(struct thread_pools *pools, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	uint32_t count = recording->threads ? (uint32_t)recording->thread_count : 0;
	*pools = (struct thread_pools){
		.pools = memory_new(count, sizeof(*pools->pools)),
		.pool_of = memory_new(count, sizeof(*pools->pool_of)),
		.thread_of = memory_new(count, sizeof(*pools->thread_of)),
		.lane_of = memory_new(count, sizeof(*pools->lane_of)),
		.lane_count = count,
	};
	find_pools(pools, analysis);
	for (uint32_t i = 0; i < count; i++)
		pools->thread_of[i] = i;
	sort_lanes(pools, recording);
	for (uint32_t lane = 0; lane < count; lane++)
		pools->lane_of[pools->thread_of[lane]] = lane;
}

void pools_free(struct thread_pools *pools)
{
	free(pools->pools);
	free(pools->pool_of);
	free(pools->thread_of);
	free(pools->lane_of);
}

static void emit_names(struct emit *emit, const char *key,
		       const char *(*name)(const void *, size_t), const void *context, size_t count)
{
	static const struct emit_column columns[] = { { .key = "name" } };
	emit_table_begin(emit, key, EMIT_VALUES, columns, 1);
	for (size_t i = 0; i < count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, name(context, i));
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static const char *pool_name(const void *context, size_t index)
{
	const struct thread_pools *pools = context;
	return pools->pools[index].name;
}

static const char *process_name(const void *context, size_t index)
{
	return program_called(context, (uint32_t)index);
}

void pools_emit(const struct thread_pools *pools, const struct recording *recording,
		struct emit *emit)
{
	emit_names(emit, "pool_name", pool_name, pools, pools->count);
	numbers_begin(emit, "pool_process");
	for (uint32_t i = 0; i < pools->count; i++)
		numbers_put(emit, pools->pools[i].process);
	numbers_end(emit);
	emit_names(emit, "process_name", process_name, recording, recording->process_count);
	numbers_begin(emit, "process_pid");
	for (size_t i = 0; i < recording->process_count; i++)
		numbers_put(emit, recording->processes[i].pid);
	numbers_end(emit);
}

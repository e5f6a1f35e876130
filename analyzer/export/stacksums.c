/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up slices; stacksums.h has the contract.
 */
#include "stacksums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tuples.h"

/* --- Stacks with the same functions --- */

/* The names of a stack are one run of the names of all. */
static const uint32_t *stack_names(const struct walk *walk, uint32_t stack, size_t *count)
{
	const struct rec_stack *frames = &walk->recording->stacks[stack];
	const struct frame_names *names = &walk->labels->frames;
	uint32_t begin = names->first[frames->first_frame];
	*count = names->first[frames->first_frame + frames->frame_count] - begin;
	return names->names + begin;
}

static int compare_stacks(const void *a, const void *b, void *context)
{
	size_t left_count, right_count;
	const uint32_t *left = stack_names(context, *(const uint32_t *)a, &left_count);
	const uint32_t *right = stack_names(context, *(const uint32_t *)b, &right_count);
	if (left_count != right_count)
		return left_count < right_count ? -1 : 1;
	int order = left_count ? memcmp(left, right, left_count * sizeof(*left)) : 0;
	if (order)
		return order;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static bool are_same(struct walk *walk, uint32_t a, uint32_t b)
{
	size_t a_count, b_count;
	const uint32_t *a_names = stack_names(walk, a, &a_count);
	const uint32_t *b_names = stack_names(walk, b, &b_count);
	return a_count == b_count &&
	       (a_count == 0 || memcmp(a_names, b_names, a_count * sizeof(*a_names)) == 0);
}

uint32_t *stack_sums_same(const struct walk *walk)
{
	size_t count = walk->recording->stack_count;
	uint32_t *same = memory_new(count, sizeof(*same));
	uint32_t *order = memory_new(count, sizeof(*order));
	struct walk context = *walk;
	for (uint32_t i = 0; i < count; i++)
		same[i] = order[i] = i;
	if (walk->labels && walk->labels->frames.first) {
		qsort_r(order, count, sizeof(*order), compare_stacks, &context);
		for (size_t i = 1; i < count; i++)
			if (are_same(&context, order[i - 1], order[i]))
				same[order[i]] = same[order[i - 1]];
	}
	free(order);
	return same;
}

/* --- Sums --- */

static void add(struct stack_sums *sums, size_t *room, uint32_t index, const struct stack_sum *sum)
{
	if (index == sums->count) {
		sums->sums = memory_grow(sums->sums, room, sums->count + 1, sizeof(*sums->sums));
		sums->sums[sums->count++] = *sum;
		return;
	}
	assert(index < sums->count);
	sums->sums[index].ns += sum->ns;
	sums->sums[index].count += sum->count;
	sums->sums[index].inside.slow_ns += sum->inside.slow_ns;
	sums->sums[index].inside.other_ns += sum->inside.other_ns;
}

/* Samples inside of spans, by thread name and stack; those of stack 0 are all of the name. */
struct samples_inside {
	struct tuples numbers;
	struct slow_time *counts; /* by number */
	size_t room;
};

static struct slow_time *count_of(struct samples_inside *inside, uint32_t name, uint32_t stack)
{
	const uint32_t key[] = { name, stack };
	uint32_t known = inside->numbers.count, index = tuples_add(&inside->numbers, key);
	inside->counts = memory_grow(inside->counts, &inside->room, (size_t)index + 1,
				     sizeof(*inside->counts));
	if (index == known)
		inside->counts[index] = (struct slow_time){ 0 };
	return &inside->counts[index];
}

/* A sample is a nanosecond here: all stand for the same CPU time. */
static void count_samples(struct samples_inside *inside, const struct recording *recording,
			  const struct slow_spans *spans, const uint32_t *same)
{
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		uint32_t name = recording->threads[sample->thread].name;
		const struct walk_slice moment = { .thread = sample->thread,
						   .start_ns = sample->at_ns,
						   .end_ns = sample->at_ns + 1 };
		struct slow_time at = { 0 };
		slow_spans_add(spans, &moment, &at);
		if (!sample->stack || !(at.slow_ns || at.other_ns))
			continue;
		const uint32_t stacks[] = { same[sample->stack], 0 };
		for (size_t k = 0; k < 2; k++) {
			struct slow_time *count = count_of(inside, name, stacks[k]);
			count->slow_ns += at.slow_ns;
			count->other_ns += at.other_ns;
		}
	}
}

static uint64_t part(uint64_t ns, uint64_t count, uint64_t of)
{
	return of ? (uint64_t)((double)ns * (double)count / (double)of + 0.5) : 0;
}

/* The running time of threads of that name, which is the row's, goes to their stacks. */
static void share_row(struct stack_sums *sums, size_t *room, size_t row,
		      struct samples_inside *inside)
{
	const struct stack_sum whole = sums->sums[row];
	const struct slow_time all = *count_of(inside, whole.thread_name, 0);
	for (uint32_t i = 0; i < inside->numbers.count; i++) {
		const uint32_t *key = tuples_at(&inside->numbers, i);
		struct stack_sum shared = whole;
		if (key[0] != whole.thread_name || key[1] == 0)
			continue;
		shared.stack = key[1];
		shared.inside = (struct slow_time){
			part(whole.inside.slow_ns, inside->counts[i].slow_ns, all.slow_ns),
			part(whole.inside.other_ns, inside->counts[i].other_ns, all.other_ns),
		};
		add(sums, room, (uint32_t)sums->count, &shared);
	}
	if (all.slow_ns)
		sums->sums[row].inside.slow_ns = 0;
	if (all.other_ns)
		sums->sums[row].inside.other_ns = 0;
}

static void share_out(struct stack_sums *sums, size_t room, const struct walk *walk,
		      const struct slow_spans *spans, const uint32_t *same)
{
	struct samples_inside inside = { .room = 0 };
	size_t rows = sums->count;
	tuples_begin(&inside.numbers, 2);
	count_samples(&inside, walk->recording, spans, same);
	for (size_t i = 0; i < rows; i++)
		if (sums->sums[i].state == WALK_RUNNING)
			share_row(sums, &room, i, &inside);
	tuples_free(&inside.numbers);
	free(inside.counts);
}

void stack_sums_build(struct stack_sums *sums, struct walk *walk, const struct slow_spans *spans)
{
	struct tuples numbers;
	uint32_t *same = stack_sums_same(walk);
	struct walk_slice slice;
	size_t room = 0;
	*sums = (struct stack_sums){ 0 };
	tuples_begin(&numbers, 4);
	for (uint32_t thread = 0; thread < walk_thread_count(walk); thread++) {
		for (walk_thread(walk, thread); walk_next(walk, &slice);) {
			bool is_running = slice.state == WALK_RUNNING;
			struct stack_sum sum = {
				.thread_name = walk->recording->threads[thread].name,
				.stack = is_running && spans ? 0 : same[slice.stack],
				.state = slice.state,
				.cause = is_running ? NO_INDEX : slice.cause,
				.name = is_running ? 0 : slice.name,
				.ns = slice.end_ns - slice.start_ns,
				.count = 1,
			};
			const uint32_t key[] = { sum.thread_name, sum.stack,
						 stack_leaf_number(sum.state, sum.cause),
						 sum.name };
			if (spans)
				slow_spans_add(spans, &slice, &sum.inside);
			add(sums, &room, tuples_add(&numbers, key), &sum);
		}
	}
	if (spans)
		share_out(sums, room, walk, spans, same);
	tuples_free(&numbers);
	free(same);
}

void stack_sums_free(struct stack_sums *sums)
{
	free(sums->sums);
	*sums = (struct stack_sums){ 0 };
}

/* --- Names --- */

static char *copy_of(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_new(bytes, 1), text, bytes);
}

char *stack_leaf(const struct walk *walk, uint32_t number, uint32_t name, uint32_t stack)
{
	enum walk_state state = number % WALK_STATES;
	uint32_t function, cause = number / WALK_STATES - 1;
	if (state == WALK_RUNNING)
		return walk_stack(walk, stack, &function, 1) ? NULL : copy_of("[on CPU]");
	if (state == WALK_QUEUED)
		return copy_of("[waiting for a CPU]");
	if (state == WALK_UNEXPLAINED)
		return copy_of("[unexplained]");
	const char *of = walk->recording->strings[name];
	const char *word = thread_cause_word(walk->recording, cause);
	size_t bytes = strlen(of) + strlen(word) + sizeof("idle:  ");
	char *text = memory_new(bytes, 1);
	snprintf(text, bytes, "%s%s%s%s", state == WALK_IDLE ? "idle: " : "", word, *of ? " " : "",
		 of);
	return text;
}

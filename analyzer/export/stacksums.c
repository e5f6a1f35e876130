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
#include "sampledspans.h"

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

/* The running time of threads of that name, which is the row's, goes to their stacks. */
static void share_row(struct stack_sums *sums, size_t *room, size_t row,
		      const struct sampled_spans *sampled)
{
	struct stack_sum shared = sums->sums[row];
	size_t count;
	struct sampled_share *shares =
		sampled_spans_share(sampled, shared.thread_name, &sums->sums[row].inside, &count);
	for (size_t i = 0; i < count; i++) {
		shared.stack = shares[i].stack;
		shared.inside = shares[i].inside;
		add(sums, room, (uint32_t)sums->count, &shared);
	}
	free(shares);
}

static void share_out(struct stack_sums *sums, size_t room, const struct walk *walk,
		      const struct slow_spans *spans, const uint32_t *same)
{
	struct sampled_spans sampled;
	size_t rows = sums->count;
	uint32_t *name_of = memory_new(walk_thread_count(walk), sizeof(*name_of));
	for (uint32_t thread = 0; thread < walk_thread_count(walk); thread++)
		name_of[thread] = walk->recording->threads[thread].name;
	sampled_spans_build(&sampled, walk->recording, spans, name_of, same);
	for (size_t i = 0; i < rows; i++)
		if (sums->sums[i].state == WALK_RUNNING)
			share_row(sums, &room, i, &sampled);
	sampled_spans_free(&sampled);
	free(name_of);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Icicles of what threads did, by its sort, and of slow requests; top_view.h has the contract.
 *
 * Each slow request's time is compared with what the others took in the same stack, on average.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_icicle.h"
#include "top_view.h"

enum { PICTURES = TOP_ACTIVITIES + 1, SLOW = TOP_ACTIVITIES };

/* In the order in which a key goes through them; the last is of slow requests. */
static const struct {
	enum top_part activity;
	const char *word, *empty;
} pictures[PICTURES] = {
	{ TOP_RUNNING, "running", "no samples of running code: S takes some" },
	{ TOP_QUEUED, "queued", "nothing waited for a CPU, as far as samples tell: S takes more" },
	{ TOP_LOCK, "locks", "no lock was waited for" },
	{ TOP_IO, "io", "no input or output (i: from how long on)" },
	{ TOP_POLL, "poll", "nothing was polled" },
	{ TOP_SLEEP, "sleep", "nothing slept" },
	{ TOP_OTHER, "other waits", "no conditions, semaphores or threads were waited for" },
	{ TOP_ACTIVITIES, "slow requests",
	  "no request took longer than 95 of 100 of its kind do (50 are needed to tell)" },
};

unsigned top_icicle_count(void)
{
	return PICTURES;
}

const char *top_activity_word(enum top_part activity)
{
	for (size_t i = 0; i < PICTURES; i++)
		if (pictures[i].activity == activity)
			return pictures[i].word;
	return "?";
}

size_t top_stack_names(const struct top_state *state, const struct top_stack *stack,
		       char names[TOP_FRAMES_MAX][TOP_LABEL_BYTES])
{
	uint64_t frames[STACK_FRAMES_MAX];
	size_t depth = top_reader_stack(state->reader, stack->stack, frames, STACK_FRAMES_MAX);
	size_t count = 0;

	while (count < depth) {
		top_labels_function(state->labels, frames[depth - 1 - count], names[count],
				    TOP_LABEL_BYTES);
		count++;
	}
	if (stack->name)
		top_labels_string(state->labels, stack->name, names[count++], TOP_LABEL_BYTES);
	else if (stack->activity == TOP_QUEUED)
		snprintf(names[count++], TOP_LABEL_BYTES, "(run queue)");
	if (stack->activity == TOP_LOCK)
		top_labels_lock(state->labels, stack->address, stack->ident, names[count++],
				TOP_LABEL_BYTES);
	return count;
}

struct drawing {
	const struct top_state *state;
	struct icicle *icicle;
	char names[TOP_FRAMES_MAX][TOP_LABEL_BYTES];
};

static void add_stack(struct drawing *drawing, const struct top_stack *stack, double weight,
		      double other)
{
	const char *names[TOP_FRAMES_MAX];
	bool is_wanted = !drawing->state->filter[0];
	size_t count;

	if (!(weight > 0))
		return;
	count = top_stack_names(drawing->state, stack, drawing->names);
	for (size_t i = 0; i < count; i++) {
		names[i] = drawing->names[i];
		is_wanted = is_wanted || top_is_wanted(drawing->state, names[i]);
	}
	if (is_wanted)
		icicle_add(drawing->icicle, names, count, weight, other);
}

static void add_activity(struct drawing *drawing, enum top_part activity)
{
	const struct top_sums *sums = drawing->state->sums;

	for (size_t i = 0; i < sums->stacks.count; i++)
		if (sums->stacks.stacks[i].activity == activity)
			add_stack(drawing, &sums->stacks.stacks[i],
				  top_stack_ns(sums, &sums->stacks.stacks[i], TOP_OF_ALL,
					       drawing->state->view),
				  0);
}

/* --- slow requests --- */

static double count_of(const struct top_state *state, enum top_share share)
{
	return top_weighted(state->sums, state->sums->requests.by_second[share], state->view);
}

/* Of one request. */
static double mean_ns(const struct top_state *state, enum top_share share)
{
	double count = count_of(state, share);

	return count > 0 ? top_weighted(state->sums, state->sums->requests.taken_ns[share],
					state->view) /
				   count
			 : 0;
}

static void write_both(double weight, double other, char *to, size_t size)
{
	char one[TOP_WORD_BYTES], two[TOP_WORD_BYTES];

	snprintf(to, size, "%s/%s", top_time_text(weight, one), top_time_text(other, two));
}

static void add_slow(struct drawing *drawing)
{
	static const char *const rest[] = { "(code and run queue, not sampled)" };
	const struct top_state *state = drawing->state;
	const struct top_sums *sums = state->sums;
	double slow = count_of(state, TOP_OF_SLOW), others = count_of(state, TOP_OF_REST);
	double left_ns = mean_ns(state, TOP_OF_SLOW), other_left_ns = mean_ns(state, TOP_OF_REST);

	icicle_compare(drawing->icicle, write_both);
	for (size_t i = 0; slow > 0 && i < sums->stacks.count; i++) {
		const struct top_stack *stack = &sums->stacks.stacks[i];
		double ns = top_stack_ns(sums, stack, TOP_OF_SLOW, state->view) / slow;
		double other_ns =
			others > 0 ? top_stack_ns(sums, stack, TOP_OF_REST, state->view) / others
				   : 0;

		add_stack(drawing, stack, ns, other_ns);
		left_ns -= ns;
		other_left_ns -= other_ns;
	}
	if (slow > 0 && left_ns > 0 && !state->filter[0])
		icicle_add(drawing->icicle, rest, 1, left_ns,
			   other_left_ns > 0 ? other_left_ns : 0);
}

/* --- the picture --- */

static void heading(const struct drawing *drawing, unsigned picture, struct top_lines *lines)
{
	const struct top_state *state = drawing->state;
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	const char *next = pictures[(picture + 1) % PICTURES].word;
	char slow[TOP_WORD_BYTES], rest[TOP_WORD_BYTES], time[TOP_WORD_BYTES];

	if (picture == SLOW)
		top_line_add(lines, TOP_HEADING,
			     "SLOW REQUESTS: %.0f, of %s each, against %.0f others, of %s (f: %s)",
			     count_of(state, TOP_OF_SLOW),
			     top_time_text(mean_ns(state, TOP_OF_SLOW), slow),
			     count_of(state, TOP_OF_REST),
			     top_time_text(mean_ns(state, TOP_OF_REST), rest), next);
	else
		top_line_add(lines, TOP_HEADING, "ICICLE of %s: %s a second (f: %s)",
			     pictures[picture].word,
			     top_time_text(icicle_total(drawing->icicle) / seconds, time), next);
}

void top_table_icicle(const struct top_state *state, size_t rows, struct top_lines *lines)
{
	unsigned picture = state->picture % PICTURES;
	struct drawing *drawing = calloc(1, sizeof(*drawing));
	size_t depth;

	if (!drawing)
		return;
	drawing->state = state;
	drawing->icicle = icicle_begin();
	if (!drawing->icicle) {
		free(drawing);
		return;
	}
	if (picture == SLOW)
		add_slow(drawing);
	else
		add_activity(drawing, pictures[picture].activity);
	heading(drawing, picture, lines);
	depth = icicle_draw(drawing->icicle, state->columns, rows);
	for (size_t i = 0; i < depth; i++)
		top_line_add(lines, TOP_PLAIN, "%s", icicle_row(drawing->icicle, i));
	if (depth == 0)
		top_line_add(lines, TOP_PLAIN, "%s", pictures[picture].empty);
	icicle_end(drawing->icicle);
	free(drawing);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Icicles of what threads did, by its sort, and of slow requests and calls; top_view.h has the
 * contract.
 *
 * The time of a slow one is compared with what the others took in the same stack, on average.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_contrast.h"
#include "top_icicle.h"
#include "top_view.h"

enum { SLOW = TOP_ACTIVITIES, SLOW_CALLS, PICTURES };

/* Of the time of slow ones: stacks may have so much, for samples are no exact account. */
static const double excess = 1.1;

/* In the order in which a key goes through them; the last stands for one for each function. */
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
	{ TOP_ACTIVITIES, "slow calls of ", "no call took longer than 95 of 100 do" },
};

/* --- which picture --- */

struct top_picture top_picture_next(const struct top_sums *sums, uint64_t since_ns,
				    struct top_picture picture, bool is_back)
{
	if (is_back && picture.number > 0 && picture.number < SLOW_CALLS)
		return (struct top_picture){ .number = picture.number - 1 };
	if (!is_back && picture.number < SLOW)
		return (struct top_picture){ .number = picture.number + 1 };
	picture.call = top_calls_next(&sums->calls, since_ns, picture.call, is_back);
	if (picture.call)
		return (struct top_picture){ SLOW_CALLS, picture.call };
	return (struct top_picture){ .number = is_back ? SLOW : 0 };
}

/* --- stacks --- */

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

/* --- slow requests, slow calls --- */

static void write_both(double weight, double other, char *to, size_t size)
{
	char one[TOP_WORD_BYTES], two[TOP_WORD_BYTES];

	snprintf(to, size, "%s/%s", top_time_text(weight, one), top_time_text(other, two));
}

/*
 * Which stacks of slow calls are told of. Samples may stand for much more time than the calls took.
 * Then there are few, or those calls are slow in which one was taken, which takes microseconds.
 * Time in the run queue is known less exactly, and goes first. In requests samples count twice if
 * they were taken in a call that was recorded: what is too much says nothing there.
 */
static void choose_activities(const struct top_state *state, const struct top_contrast *contrast,
			      bool is_told[TOP_ACTIVITIES])
{
	const struct top_stacks *stacks = &state->sums->stacks;
	enum { BY_SAMPLES = 2 };
	static const enum top_part by_samples[BY_SAMPLES] = { TOP_QUEUED, TOP_RUNNING };
	double ns[TOP_ACTIVITIES] = { 0 }, all_ns = 0;

	for (size_t i = 0; i < stacks->count; i++) {
		double more_ns = top_contrast_stack_ns(contrast, i, TOP_OF_SLOW);

		ns[stacks->stacks[i].activity] += more_ns;
		all_ns += more_ns;
	}
	for (size_t i = 0; i < TOP_ACTIVITIES; i++)
		is_told[i] = true;
	for (size_t i = 0; state->picture.call && i < BY_SAMPLES; i++) {
		double most_ns = excess * top_contrast_mean_ns(contrast, TOP_OF_SLOW);

		is_told[by_samples[i]] = ns[by_samples[i]] == 0 || all_ns <= most_ns;
		if (!is_told[by_samples[i]])
			all_ns -= ns[by_samples[i]];
	}
}

static void add_slow(struct drawing *drawing, const struct top_contrast *contrast)
{
	const struct top_stacks *stacks = &drawing->state->sums->stacks;
	double left_ns = top_contrast_mean_ns(contrast, TOP_OF_SLOW);
	double other_left_ns = top_contrast_mean_ns(contrast, TOP_OF_REST);
	bool is_told[TOP_ACTIVITIES];
	const char *rest;

	choose_activities(drawing->state, contrast, is_told);
	rest = is_told[TOP_QUEUED] && is_told[TOP_RUNNING]
		       ? "(code and run queue, not sampled)"
		       : "(code and run queue, too short for samples)";
	icicle_compare(drawing->icicle, write_both);
	for (size_t i = 0; contrast->count[TOP_OF_SLOW] > 0 && i < stacks->count; i++) {
		double ns = top_contrast_stack_ns(contrast, i, TOP_OF_SLOW);
		double other_ns = top_contrast_stack_ns(contrast, i, TOP_OF_REST);

		if (!is_told[stacks->stacks[i].activity])
			continue;
		add_stack(drawing, &stacks->stacks[i], ns, other_ns);
		left_ns -= ns;
		other_left_ns -= other_ns;
	}
	if (left_ns > 0 && !drawing->state->filter[0])
		icicle_add(drawing->icicle, &rest, 1, left_ns,
			   other_left_ns > 0 ? other_left_ns : 0);
}

/* --- the picture --- */

/* Words above a picture, and in its place if nothing is drawn. */
struct caption {
	char heading[TOP_LINE_BYTES];
	const char *empty;
};

static void slow_caption(const struct top_state *state, const struct top_contrast *contrast,
			 struct caption *caption)
{
	char slow[TOP_WORD_BYTES], rest[TOP_WORD_BYTES], what[2 * TOP_LABEL_BYTES] = "REQUESTS";
	char name[TOP_LABEL_BYTES];

	if (state->picture.call) {
		top_labels_string(state->labels, state->picture.call, name, sizeof(name));
		snprintf(what, sizeof(what), "CALLS of %s", name);
	}
	snprintf(caption->heading, sizeof(caption->heading),
		 "SLOW %s: %.0f, of %s each, against %.0f others, of %s", what,
		 contrast->count[TOP_OF_SLOW],
		 top_time_text(top_contrast_mean_ns(contrast, TOP_OF_SLOW), slow),
		 contrast->count[TOP_OF_REST],
		 top_time_text(top_contrast_mean_ns(contrast, TOP_OF_REST), rest));
	if (!state->picture.call || contrast->count[TOP_OF_ALL] >= TOP_ENOUGH)
		return;
	snprintf(caption->heading, sizeof(caption->heading), "SLOW %s: too few to tell, %.0f of %d",
		 what, contrast->count[TOP_OF_ALL], TOP_ENOUGH);
	caption->empty = "a longer window has more calls: ]";
}

static void draw_slow(struct drawing *drawing, struct caption *caption)
{
	const struct top_state *state = drawing->state;
	struct top_contrast contrast =
		state->picture.call ? top_contrast_calls(state->sums, state->picture.call,
							 top_view_since_ns(state->sums, state->view,
									   state->now_ns))
				    : top_contrast_requests(state->sums, state->view);

	add_slow(drawing, &contrast);
	slow_caption(state, &contrast, caption);
	top_contrast_free(&contrast);
}

static void draw_activity(struct drawing *drawing, struct caption *caption)
{
	const struct top_state *state = drawing->state;
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	char time[TOP_WORD_BYTES];

	add_activity(drawing, pictures[state->picture.number].activity);
	snprintf(caption->heading, sizeof(caption->heading), "ICICLE of %s: %s a second",
		 pictures[state->picture.number].word,
		 top_time_text(icicle_total(drawing->icicle) / seconds, time));
}

/* With what the key leads on to. */
static void add_heading(const struct top_state *state, const char *heading, struct top_lines *lines)
{
	uint64_t since_ns = top_view_since_ns(state->sums, state->view, state->now_ns);
	struct top_picture next = top_picture_next(state->sums, since_ns, state->picture, false);
	char name[TOP_LABEL_BYTES] = "", text[2 * TOP_LINE_BYTES];

	if (next.call)
		top_labels_string(state->labels, next.call, name, sizeof(name));
	snprintf(text, sizeof(text), "%s (f: %s%s)", heading, pictures[next.number].word, name);
	top_line_wrap(lines, TOP_HEADING, state->columns, text);
}

static void draw_picture(struct drawing *drawing, size_t rows, struct top_lines *lines)
{
	const struct top_state *state = drawing->state;
	struct caption caption = { .empty = pictures[state->picture.number].empty };
	size_t depth, end = lines->count + 1 + rows;

	if (state->picture.number >= SLOW)
		draw_slow(drawing, &caption);
	else
		draw_activity(drawing, &caption);
	add_heading(state, caption.heading, lines);
	depth = icicle_draw(drawing->icicle, state->columns,
			    end > lines->count ? end - lines->count : 0);
	for (size_t i = 0; i < depth; i++)
		top_line_add(lines, TOP_PLAIN, "%s", icicle_row(drawing->icicle, i));
	if (depth == 0)
		top_line_add(lines, TOP_PLAIN, "%s", caption.empty);
}

void top_table_icicle(const struct top_state *state, size_t rows, struct top_lines *lines)
{
	struct drawing *drawing = calloc(1, sizeof(*drawing));

	if (!drawing)
		return;
	drawing->state = state;
	drawing->icicle = icicle_begin();
	if (drawing->icicle)
		draw_picture(drawing, rows, lines);
	icicle_end(drawing->icicle);
	free(drawing);
}

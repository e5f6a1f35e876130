/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks; folded.h has the contract.
 *
 * Each wait, call and sample becomes an item; items of the same thread name, stack and last frame
 * are added up, then printed. Of a call that was partly on the CPU only the blocked part counts:
 * the share that threadtime.c found for the thread.
 */
#include "folded.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/memory.h"
#include "format.h"
#include "measure/functions.h"
#include "recording/words.h"

/* Last frames that are no calls; beyond all causes of threadtime.h. */
enum { LEAF_NONE = -1, LEAF_CPU = -2, LEAF_QUEUED = -3, LEAF_UNEXPLAINED = -4 };

struct item {
	uint32_t thread_name;
	uint32_t stack; /* the first of those with the same functions */
	int64_t leaf;   /* a cause, or one of the above */
	uint32_t name;  /* string id: what the cause was about; 0 = nothing more to say */
	uint64_t ns;
};

struct folding {
	const struct recording *recording;
	const struct thread_table *threads;
	const struct frame_names *names;
	const uint32_t *wait_name;
	uint32_t *same; /* by stack: the one that stands for all with the same functions */
	double *share;  /* by thread: how much of the time in calls it was blocked */
	uint64_t *sampled_ns;
	struct item *items;
	size_t count, room;
};

static const struct choice words[] = {
	{ "wait", FOLDED_WAIT },
	{ "cpu", FOLDED_CPU },
	{ "wall", FOLDED_WALL },
	{ "lock", FOLDED_LOCK },
};

bool folded_parse(const char *word, enum folded_of *of)
{
	int value;

	if (!choice_find(words, sizeof(words) / sizeof(words[0]), word, &value))
		return false;
	*of = (enum folded_of)value;
	return true;
}

/* --- Items --- */

static bool is_lock(uint16_t reason)
{
	return reason == REASON_LOCK || reason == REASON_MUTEX || reason == REASON_RWLOCK_READ ||
	       reason == REASON_RWLOCK_WRITE;
}

static void add(struct folding *folding, uint32_t thread, uint32_t stack, int64_t leaf,
		uint32_t name, double ns)
{
	if (thread == NO_INDEX || ns < 1)
		return;
	folding->items = memory_grow(folding->items, &folding->room, folding->count + 1,
				     sizeof(*folding->items));
	folding->items[folding->count++] =
		(struct item){ folding->recording->threads[thread].name, folding->same[stack], leaf,
			       name, (uint64_t)ns };
}

static double share_of(const struct folding *folding, uint32_t thread)
{
	return thread == NO_INDEX ? 0 : folding->share[thread];
}

static void add_waits(struct folding *folding, bool locks_only)
{
	const struct recording *recording = folding->recording;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (!locks_only || is_lock(wait->reason))
			add(folding, wait->thread, wait->stack, wait->reason,
			    folding->wait_name ? folding->wait_name[i] : wait->ident,
			    (double)(wait->end_ns - wait->start_ns) *
				    share_of(folding, wait->thread));
	}
}

static void add_calls(struct folding *folding)
{
	const struct recording *recording = folding->recording;
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (words_is_call(op->kind))
			add(folding, op->thread, recording->extras ? recording->extras[i].stack : 0,
			    (int64_t)recording->reasons.count + op->kind, op->name,
			    (double)(op->end_ns - op->start_ns) * share_of(folding, op->thread));
	}
}

/* With samples, what they say; and what no sample stands for. */
static void add_cpu(struct folding *folding)
{
	const struct recording *recording = folding->recording;
	struct sample_weights weights = { .recording = recording };
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		uint64_t ns = sample_weight_next(&weights);
		if (sample->stack == 0)
			continue;
		folding->sampled_ns[sample->thread] += ns;
		add(folding, sample->thread, sample->stack, LEAF_NONE, 0, (double)ns);
	}
	for (uint32_t i = 0; i < folding->threads->count; i++) {
		const struct thread_time *row = &folding->threads->rows[i];
		add(folding, row->thread, 0, LEAF_CPU, 0,
		    (double)row->cpu_ns - (double)folding->sampled_ns[row->thread]);
	}
}

static void add_unexplained(struct folding *folding)
{
	for (uint32_t i = 0; i < folding->threads->count; i++) {
		const struct thread_time *row = &folding->threads->rows[i];
		add(folding, row->thread, 0, LEAF_QUEUED, 0, (double)row->queued_ns);
		add(folding, row->thread, 0, LEAF_UNEXPLAINED, 0, (double)row->unexplained_ns);
	}
}

static void find_shares(struct folding *folding)
{
	const struct recording *recording = folding->recording;
	double *called_ns = memory_new(recording->thread_count, sizeof(*called_ns));
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].thread != NO_INDEX)
			called_ns[recording->waits[i].thread] +=
				(double)(recording->waits[i].end_ns - recording->waits[i].start_ns);
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].thread != NO_INDEX && words_is_call(recording->ops[i].kind))
			called_ns[recording->ops[i].thread] +=
				(double)(recording->ops[i].end_ns - recording->ops[i].start_ns);
	for (uint32_t i = 0; i < folding->threads->count; i++) {
		const struct thread_time *row = &folding->threads->rows[i];
		if (called_ns[row->thread] > 0)
			folding->share[row->thread] =
				(double)row->blocked_ns / called_ns[row->thread];
	}
	free(called_ns);
}

/* The names of a stack are one run of the names of all. */
static const uint32_t *stack_names(const struct folding *folding, uint32_t stack, size_t *count)
{
	const struct rec_stack *frames = &folding->recording->stacks[stack];
	const struct frame_names *names = folding->names;
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
	return left_count ? memcmp(left, right, left_count * sizeof(*left)) : 0;
}

/* Stacks differ by places in functions, which folded stacks do not show. */
static void find_same(struct folding *folding)
{
	size_t count = folding->recording->stack_count;
	uint32_t *order = memory_new(count, sizeof(*order));
	folding->same = memory_new(count, sizeof(*folding->same));
	for (uint32_t i = 0; i < count; i++)
		folding->same[i] = order[i] = i;
	if (folding->names && folding->names->first) {
		qsort_r(order, count, sizeof(*order), compare_stacks, folding);
		for (size_t i = 1; i < count; i++)
			if (compare_stacks(&order[i - 1], &order[i], folding) == 0)
				folding->same[order[i]] = folding->same[order[i - 1]];
	}
	free(order);
}

/* --- Lines --- */

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	if (left->thread_name != right->thread_name)
		return left->thread_name < right->thread_name ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	if (left->leaf != right->leaf)
		return left->leaf < right->leaf ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

/* A frame's text; what would end a frame or a line is replaced. */
static void put_text(FILE *file, const char *text)
{
	for (; *text; text++)
		fputc(*text == ';' ? ',' : (unsigned char)*text < ' ' ? '?' : *text, file);
}

static void put_frames(FILE *file, const struct folding *folding, uint32_t stack)
{
	uint32_t functions[FUNCTION_STACK_MAX];
	size_t count = frame_names_of_stack(folding->names, folding->recording, stack, functions,
					    FUNCTION_STACK_MAX);
	while (count-- > 0) {
		fputc(';', file);
		put_text(file, folding->recording->strings[functions[count]]);
	}
}

static void put_leaf(FILE *file, const struct folding *folding, const struct item *item)
{
	const char *name = folding->recording->strings[item->name];
	if (item->leaf == LEAF_NONE)
		return;
	fputc(';', file);
	if (item->leaf == LEAF_CPU)
		fputs("[on CPU]", file);
	else if (item->leaf == LEAF_QUEUED)
		fputs("[waiting for a CPU]", file);
	else if (item->leaf == LEAF_UNEXPLAINED)
		fputs("[unexplained]", file);
	else
		put_text(file, thread_cause_word(folding->recording, (uint32_t)item->leaf));
	if (*name) {
		fputc(' ', file);
		put_text(file, name);
	}
}

static void put_line(FILE *file, const struct folding *folding, const struct item *item,
		     uint64_t ns)
{
	const char *thread = folding->recording->strings[item->thread_name];
	uint64_t us = (ns + 500) / 1000;
	if (us == 0)
		return;
	put_text(file, *thread ? thread : "?");
	put_frames(file, folding, item->stack);
	put_leaf(file, folding, item);
	fprintf(file, " %" PRIu64 "\n", us);
}

static void put_lines(FILE *file, struct folding *folding)
{
	if (folding->count > 0)
		qsort(folding->items, folding->count, sizeof(*folding->items), compare_items);
	for (size_t from = 0, to; from < folding->count; from = to) {
		uint64_t ns = 0;
		for (to = from; to < folding->count &&
				compare_items(&folding->items[from], &folding->items[to]) == 0;
		     to++)
			ns += folding->items[to].ns;
		put_line(file, folding, &folding->items[from], ns);
	}
}

void folded_write(FILE *file, enum folded_of of, const struct recording *recording,
		  const struct thread_table *threads, const struct frame_names *names,
		  const uint32_t *wait_name)
{
	struct folding folding = {
		.recording = recording,
		.threads = threads,
		.names = names,
		.wait_name = wait_name,
		.share = memory_new(recording->thread_count, sizeof(*folding.share)),
		.sampled_ns = memory_new(recording->thread_count, sizeof(*folding.sampled_ns)),
	};
	find_same(&folding);
	find_shares(&folding);
	if (of == FOLDED_CPU || of == FOLDED_WALL)
		add_cpu(&folding);
	if (of != FOLDED_CPU)
		add_waits(&folding, of == FOLDED_LOCK);
	if (of == FOLDED_WAIT || of == FOLDED_WALL)
		add_calls(&folding);
	if (of == FOLDED_WALL)
		add_unexplained(&folding);
	put_lines(file, &folding);
	free(folding.items);
	free(folding.sampled_ns);
	free(folding.same);
	free(folding.share);
}

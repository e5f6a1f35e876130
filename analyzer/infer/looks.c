/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sleeps in a row; looks.h has the contract.
 *
 * Method. Several sleeps of one class follow each other, with nothing in between that concerns
 * another thread but locks. A row has only looks between its sleeps: brief calls that move no
 * bytes. Its sleeps are as long each time, or longer: others are work. Where work is between them,
 * it is one of looks only if another thread's end goes with it. Then the thread does something
 * else, or ends: so it found what it looked for.
 */
#include "looks_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

struct row_search {
	struct look_search found;
	size_t capacity; /* of the looks */
	size_t run_capacity;
	/* The rows so far: with looks between the sleeps, and with work, too. */
	uint32_t thread;
	struct run tight;
	struct run loose;
	bool has_tight;          /* a row with looks alone is in the other one */
	bool did_more;           /* since the last sleep, than a call that moves no bytes */
	uint32_t held;           /* locks that it has */
	uint32_t held_before;    /* in the last sleep */
	const bool *is_for_lock; /* by op: sleeps of rows for locks on files; NULL = none */
};

static void row_add(struct row_search *search, struct run *run)
{
	struct looks *looks = search->found.looks;
	size_t count = looks->count + 1;
	looks->rows = memory_grow(looks->rows, &search->capacity, count, sizeof(*looks->rows));
	search->found.runs =
		memory_grow(search->found.runs, &search->run_capacity, count, sizeof(*run));
	search->found.runs[looks->count] = *run;
	looks->rows[looks->count++] =
		(struct look_row){ .thread = search->thread,
				   .class = search->found.classes->of_op[run->first],
				   .first = run->first,
				   .first_ns = search->found.recording->ops[run->first].start_ns,
				   .last = run->last[0],
				   .count = run->count,
				   .ender = NO_INDEX,
				   .hold = NO_INDEX };
}

static bool is_row(const struct run *run)
{
	return run->first != NO_INDEX && run->count >= assume.look_row;
}

static void tight_ends(struct row_search *search)
{
	if (is_row(&search->tight)) {
		search->tight.is_tight = true;
		row_add(search, &search->tight);
		search->has_tight = true;
	}
	search->tight.first = NO_INDEX;
}

static void row_ends(struct row_search *search)
{
	tight_ends(search);
	if (is_row(&search->loose) && !search->has_tight)
		row_add(search, &search->loose);
	search->loose.first = NO_INDEX;
	search->has_tight = false;
}

static void run_add(struct run *run, const struct rec_op_extra *extras, uint32_t op)
{
	if (run->first == NO_INDEX)
		*run = (struct run){ .first = op, .last = { op, op, op } };
	run->shorter += (double)extras[op].amount <
			(1 - assume.look_gap) * (double)extras[run->last[0]].amount;
	run->last[2] = run->last[1];
	run->last[1] = run->last[0];
	run->last[0] = op;
	run->count++;
}

static bool is_look(const struct row_search *search, uint32_t op)
{
	const struct rec_op *ops = search->found.recording->ops;
	uint32_t last = search->tight.last[0];
	uint64_t gap_ns = ops[op].start_ns - ops[last].end_ns;
	uint64_t slept_ns = ops[last].end_ns - ops[last].start_ns;
	return !search->did_more && (double)gap_ns <= assume.look_gap * (double)slept_ns;
}

static void sleep_begins(struct row_search *search, uint32_t op)
{
	const uint32_t *of_op = search->found.classes->of_op;
	/* One that sleeps with a lock, and then without, works with it in between. */
	if (search->loose.first != NO_INDEX &&
	    (of_op[op] != of_op[search->loose.first] || search->held != search->held_before))
		row_ends(search);
	if (search->tight.first != NO_INDEX && !is_look(search, op))
		tight_ends(search);
	run_add(&search->tight, search->found.recording->extras, op);
	run_add(&search->loose, search->found.recording->extras, op);
	search->did_more = false;
	search->held_before = search->held;
}

/* It may be done once more, or not at all, and no other thread is the worse for it. */
static bool may_repeat(struct row_search *search, const struct moment *moment)
{
	const struct recording *recording = search->found.recording;
	enum moment_type type = moment_type(moment);
	if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_END && type != MOMENT_OP_POINT)
		return false;
	search->did_more |= recording->ops[moment->index].kind != KIND_IO ||
			    recording->extras[moment->index].amount;
	return !recording->extras[moment->index].open &&
	       search->found.flows->transfer_of[moment->index] == NO_INDEX;
}

static void happens(struct row_search *search, size_t index)
{
	const struct recording *recording = search->found.recording;
	const struct moment *moment = &search->found.timeline->moments[index];
	enum moment_type type = moment_type(moment);
	bool is_begin = type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT;
	bool is_end = type == MOMENT_OP_END || type == MOMENT_OP_POINT;
	bool is_sleep = (is_begin || is_end) && recording->ops[moment->index].kind == KIND_SLEEP &&
			!recording->extras[moment->index].open;
	search->held = look_locks_held(recording, moment, search->held);
	if (is_sleep && search->is_for_lock && search->is_for_lock[moment->index]) {
		row_ends(search);
		return;
	}
	if (is_sleep && is_begin)
		sleep_begins(search, moment->index);
	if (is_sleep && is_end)
		search->tight.next = search->loose.next = index + 1;
	if (!is_sleep && search->loose.first != NO_INDEX && !may_repeat(search, moment))
		row_ends(search);
}

/* A thread that was still there, or was ended from outside, had found nothing. */
static void thread_ends(struct row_search *search)
{
	const struct recording *recording = search->found.recording;
	uint32_t op = recording->threads[search->thread].op;
	if (op == NO_INDEX || recording->extras[op].open)
		search->tight.first = search->loose.first = NO_INDEX;
	row_ends(search);
}

static void find_rows(struct row_search *search)
{
	const struct timeline *timeline = search->found.timeline;
	for (search->thread = 0; search->thread < timeline->thread_count; search->thread++) {
		search->tight.first = search->loose.first = NO_INDEX;
		search->has_tight = search->did_more = false;
		search->held = search->held_before = 0;
		for (size_t i = timeline->first[search->thread];
		     i < timeline->first[search->thread + 1]; i++)
			happens(search, i);
		thread_ends(search);
	}
}

static uint32_t place_of(const struct row_search *search, size_t row)
{
	return search->found.recording->extras[search->found.runs[row].last[0]].stack;
}

/* A thread that looks sleeps as long each time, or longer. Where rows of a place are often for less
 * than the sleep before, each is work of its own. */
static void drop_pieces(struct row_search *search)
{
	struct looks *looks = search->found.looks;
	struct run *runs = search->found.runs;
	int64_t *more = memory_new(search->found.recording->stack_count + 1, sizeof(*more));
	size_t count = 0;

	for (size_t i = 0; i < looks->count; i++)
		more[place_of(search, i)] +=
			(int64_t)assume.look_shorter * runs[i].shorter - (runs[i].count - 1);
	for (size_t i = 0; i < looks->count; i++) {
		if (runs[i].is_tight && more[place_of(search, i)] > 0)
			continue;
		runs[count] = runs[i];
		looks->rows[count++] = looks->rows[i];
	}
	looks->count = count;
	free(more);
}

/* Rows with work in them that are for nobody's end are work. */
static void drop_work(struct row_search *search)
{
	struct looks *looks = search->found.looks;
	size_t count = 0;
	for (size_t i = 0; i < looks->count; i++)
		if (looks->rows[i].sort >= LOOK_GUESS ||
		    (looks->rows[i].sort == LOOK_KEPT && search->found.runs[i].is_tight))
			looks->rows[count++] = looks->rows[i];
	looks->count = count;
}

static int compare_rows(const void *left, const void *right)
{
	const struct look_row *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

/* With those of others, which are given up. */
static void rows_join(struct looks *looks, struct looks *others)
{
	size_t capacity = looks->count;

	if (others->count) {
		looks->rows = memory_grow(looks->rows, &capacity, looks->count + others->count,
					  sizeof(*looks->rows));
		memcpy(looks->rows + looks->count, others->rows,
		       others->count * sizeof(*others->rows));
		looks->count += others->count;
		qsort(looks->rows, looks->count, sizeof(*looks->rows), compare_rows);
	}
	free(others->rows);
}

void looks_build(struct looks *looks, const struct recording *recording,
		 const struct class_table *classes, const struct timeline *timeline,
		 const struct flows *flows)
{
	struct row_search search = { .found = { .looks = looks,
						.recording = recording,
						.classes = classes,
						.timeline = timeline,
						.flows = flows } };
	struct looks locked = { .count = 0 }, retries = { .count = 0 }, told = { .count = 0 };
	*looks = (struct looks){ .count = 0 };
	if (!recording->extras)
		return;
	bool *is_for_lock = look_locks_find(&locked, recording, classes, timeline);
	search.is_for_lock = is_for_lock;
	find_rows(&search);
	drop_pieces(&search);
	if (looks->count) {
		look_causes_find(&search.found);
		drop_work(&search);
	}
	rows_join(looks, &locked);
	looks->locks = locked.locks;
	looks->lock_count = locked.lock_count;
	look_retries_find(&retries, &search.found);
	rows_join(looks, &retries);
	look_told_find(&told, &search.found);
	rows_join(looks, &told);
	look_sizes_find(&search.found);
	free(is_for_lock);
	free(search.found.runs);
}

void looks_free(struct looks *looks)
{
	free(looks->rows);
	free(looks->locks);
	free(looks->sizes);
	*looks = (struct looks){ 0 };
}

const struct look_row *looks_of(const struct looks *looks, const struct recording *recording,
				uint32_t op_index)
{
	const struct rec_op *op = &recording->ops[op_index];
	size_t low = 0, high = looks->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct look_row *row = &looks->rows[middle];
		if (row->thread < op->thread || (row->thread == op->thread &&
						 recording->ops[row->last].start_ns < op->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == looks->count)
		return NULL;
	const struct look_row *row = &looks->rows[low];
	bool is_inside =
		row->thread == op->thread && recording->ops[row->first].start_ns <= op->start_ns;
	return is_inside ? row : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that the program marks; top_marks.h has the contract.
 *
 * Method. An op's record comes when it has ended, and names the op around it by a number. So the
 * parts of an op are kept by its number before anything else of it is known. When it ends they
 * become a request, or parts of the op around it. If that one is not known either, the op waits
 * there until it is: its record comes, or a look sees it open.
 *
 * A thread has an op around all it does. That one has no parts.
 */
#include "top_marks.h"

#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "grow.h"
#include "top_sums.h"

enum {
	PLACES = 2 * TOP_MARKS_OPEN_MAX,
	LEVELS_MAX = 16,     /* of ops within each other that are climbed */
	LOOKS_UNSEEN_MAX = 3 /* then an op is gone: its record was lost, or had come before */
};

enum sort { SORT_UNKNOWN, SORT_MARK, SORT_PROBED, SORT_OTHER, SORT_THREAD };

struct top_mark {
	uint64_t op;
	uint64_t parent;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t name, ident; /* strings */
	uint32_t next;        /* + 1: with the same hash, among those that wait, or that are free */
	uint32_t waiting;     /* + 1: the first that ended within this, and waits */
	uint32_t look;        /* the last one that saw it */
	enum sort sort;
	bool is_counted;
	struct top_work work;
	struct top_stints stints;
};

/* --- all of them --- */

bool top_marks_begin(struct top_marks *marks)
{
	*marks = (struct top_marks){
		.marks = calloc(TOP_MARKS_OPEN_MAX, sizeof(*marks->marks)),
		.places = calloc(PLACES, sizeof(*marks->places)),
	};
	return marks->marks && marks->places;
}

void top_marks_end(struct top_marks *marks)
{
	free(marks->marks);
	free(marks->places);
	free(marks->calls);
	*marks = (struct top_marks){ .made = 0 };
}

static uint32_t *place_of(const struct top_marks *marks, uint64_t op)
{
	return &marks->places[(op * UINT64_C(0x9e3779b97f4a7c15) >> 32) % PLACES];
}

static struct top_mark *find(const struct top_marks *marks, uint64_t op)
{
	for (uint32_t at = *place_of(marks, op); at; at = marks->marks[at - 1].next)
		if (marks->marks[at - 1].op == op)
			return &marks->marks[at - 1];
	return NULL;
}

/* NULL: there is no room. */
static struct top_mark *find_or_make(struct top_marks *marks, uint64_t op)
{
	struct top_mark *mark = find(marks, op);
	uint32_t number = marks->free;

	if (mark)
		return mark;
	if (number)
		marks->free = marks->marks[number - 1].next;
	else if (marks->made < TOP_MARKS_OPEN_MAX)
		number = ++marks->made;
	if (!number) {
		marks->left_out++;
		return NULL;
	}
	mark = &marks->marks[number - 1];
	*mark = (struct top_mark){ .op = op, .next = *place_of(marks, op), .look = marks->look };
	*place_of(marks, op) = number;
	return mark;
}

static uint32_t number_of(const struct top_marks *marks, const struct top_mark *mark)
{
	return (uint32_t)(mark - marks->marks) + 1;
}

/* It is found by its op no more. */
static void take(struct top_marks *marks, struct top_mark *mark)
{
	uint32_t *at = place_of(marks, mark->op), number = number_of(marks, mark);

	while (*at && *at != number)
		at = &marks->marks[*at - 1].next;
	*at = mark->next;
}

static void release(struct top_marks *marks, struct top_mark *mark)
{
	mark->op = 0;
	mark->next = marks->free;
	marks->free = number_of(marks, mark);
}

/* --- parts --- */

static void join(struct top_mark *to, const struct top_stacks *stacks, const struct top_mark *from)
{
	if (to->sort == SORT_THREAD)
		return;
	top_work_join(&to->work, stacks, &from->work);
	top_stints_join(&to->stints, &from->stints);
}

void top_marks_part(struct top_marks *marks, const struct top_stacks *stacks,
		    const struct record *record, uint32_t thread, enum top_part part,
		    uint32_t number, double ns)
{
	struct top_mark *mark = record->parent ? find_or_make(marks, record->parent) : NULL;
	const struct top_stint time = { record->start, record->end, thread };

	if (!mark || mark->sort == SORT_THREAD)
		return;
	if (part == TOP_OTHER)
		ns = (double)top_stints_outside_ns(&mark->stints, time);
	else
		top_stints_add(&mark->stints, time);
	top_work_add(&mark->work, stacks, part, number, ns);
}

/* --- ends --- */

struct ending {
	struct top_marks *marks;
	struct top_requests *requests;
	struct top_stacks *stacks;
	uint64_t second;
};

static struct top_request request_of(const struct top_mark *mark, uint64_t end_ns)
{
	return (struct top_request){ .op = mark->op,
				     .end_ns = end_ns,
				     .taken_ns = end_ns - mark->begin_ns,
				     .ident = mark->ident,
				     .kind = mark->name,
				     .thread = (uint32_t)(mark->op >> 32),
				     .fd = -1 };
}

static void count(const struct ending *ending, struct top_mark *mark)
{
	if (!mark->is_counted)
		top_requests_mark(ending->requests, ending->stacks, mark->name, ending->second);
	mark->is_counted = true;
}

static void end_request(const struct ending *ending, struct top_mark *mark)
{
	count(ending, mark);
	top_requests_add(ending->requests, ending->stacks, TOP_MARKED,
			 request_of(mark, mark->end_ns), &mark->work, ending->second);
	release(ending->marks, mark);
}

/* One that has ended becomes a request, or a part, by what is around it. */
static void settle(const struct ending *ending, struct top_mark *mark, uint64_t parent)
{
	struct top_mark *around = parent ? find_or_make(ending->marks, parent) : NULL;

	for (int i = 0; around && around->sort == SORT_PROBED && i < LEVELS_MAX; i++)
		around = around->parent ? find_or_make(ending->marks, around->parent) : NULL;
	if (parent && !around && !find(ending->marks, parent)) {
		release(ending->marks, mark);
		return;
	}
	if (around && around->sort == SORT_UNKNOWN) {
		mark->next = around->waiting;
		around->waiting = number_of(ending->marks, mark);
		return;
	}
	if (around)
		join(around, ending->stacks, mark);
	if (around && around->sort == SORT_MARK)
		release(ending->marks, mark);
	else
		end_request(ending, mark);
}

/* It is known now what it is. */
static void settle_waiting(const struct ending *ending, struct top_mark *mark)
{
	uint32_t at = mark->waiting;

	mark->waiting = 0;
	while (at) {
		struct top_mark *waiting = &ending->marks->marks[at - 1];

		at = waiting->next;
		settle(ending, waiting, mark->op);
	}
}

static void know(struct top_mark *mark, const struct record *record)
{
	mark->parent = record->parent;
	mark->begin_ns = record->start;
	mark->end_ns = record->end;
	mark->name = record->name;
	mark->ident = record->ident;
	if (record->what == KIND_THREAD)
		mark->sort = SORT_THREAD;
	else if (record->what != KIND_OP_USER)
		mark->sort = SORT_OTHER;
	else
		mark->sort = field_is_probed(record) ? SORT_PROBED : SORT_MARK;
}

static bool is_mark(const struct record *record)
{
	return record->what == KIND_OP_USER && !field_is_probed(record);
}

void top_marks_op(struct top_marks *marks, struct top_requests *requests, struct top_stacks *stacks,
		  const struct record *record, uint64_t second)
{
	const struct ending ending = { marks, requests, stacks, second };
	bool is_request = is_mark(record) && record->end > record->start;
	struct top_mark *mark =
		is_request ? find_or_make(marks, record->id) : find(marks, record->id);
	struct top_mark *around;

	if (!mark)
		return;
	know(mark, record);
	settle_waiting(&ending, mark);
	take(marks, mark);
	if (is_request) {
		settle(&ending, mark, mark->parent);
		return;
	}
	around = mark->sort != SORT_THREAD && mark->parent ? find_or_make(marks, mark->parent)
							   : NULL;
	if (around)
		join(around, stacks, mark);
	release(marks, mark);
}

/* --- looks --- */

static void see_call(struct top_marks *marks, const struct record *record)
{
	bool is_wait = record->type == RECORD_WAIT;
	struct top_mark_call call = {
		.op = record->parent,
		.time = { .begin_ns = record->start,
			  .thread = is_wait ? record->count : (uint32_t)(record->id >> 32) }
	};
	struct top_mark_call *grown;

	if (!record->parent || !top_sums_part(record, &call.part))
		return;
	grown = grow_for_one(marks->calls, &marks->call_room, marks->call_count, sizeof(*grown));
	if (!grown)
		return;
	marks->calls = grown;
	marks->calls[marks->call_count++] = call;
}

static void see(const struct ending *ending, const struct record *record)
{
	struct top_mark *mark = is_mark(record) || record->what == KIND_THREAD
					? find_or_make(ending->marks, record->id)
					: find(ending->marks, record->id);

	if (!mark)
		return;
	know(mark, record);
	mark->look = ending->marks->look;
}

static void forget(struct top_marks *marks, struct top_mark *mark)
{
	for (uint32_t at = mark->waiting, next; at; at = next) {
		next = marks->marks[at - 1].next;
		release(marks, &marks->marks[at - 1]);
	}
	take(marks, mark);
	release(marks, mark);
}

static const struct top_mark *outermost(const struct top_marks *marks, const struct top_mark *mark)
{
	const struct top_mark *around = mark;

	for (int i = 0; i < LEVELS_MAX; i++) {
		around = around->parent ? find(marks, around->parent) : NULL;
		if (!around || (around->sort != SORT_MARK && around->sort != SORT_PROBED))
			break;
		if (around->sort == SORT_MARK)
			mark = around;
	}
	return mark;
}

/* Whether it was open at the last look: those that wait are found by no op. */
static bool is_open(const struct top_marks *marks, const struct top_mark *mark)
{
	return mark->op && mark->look == marks->look && find(marks, mark->op) == mark;
}

static bool is_running(const struct top_marks *marks, const struct top_mark *mark)
{
	return mark->sort == SORT_MARK && is_open(marks, mark) && outermost(marks, mark) == mark;
}

void top_marks_look(struct top_marks *marks, struct top_requests *requests,
		    struct top_stacks *stacks, const struct snapshot_open *opens,
		    uint32_t open_count, uint64_t second)
{
	const struct ending ending = { marks, requests, stacks, second };

	marks->look++;
	marks->call_count = 0;
	for (uint32_t i = 0; i < open_count; i++) {
		if (opens[i].record.type == RECORD_OP)
			see(&ending, &opens[i].record);
		if (opens[i].record.type == RECORD_OP || opens[i].record.type == RECORD_WAIT)
			see_call(marks, &opens[i].record);
	}
	for (uint32_t i = 0; i < marks->made; i++) {
		struct top_mark *mark = &marks->marks[i];

		if (!mark->op || find(marks, mark->op) != mark)
			continue;
		if (mark->sort != SORT_UNKNOWN)
			settle_waiting(&ending, mark);
		if (is_running(marks, mark))
			count(&ending, mark);
		if (marks->look - mark->look >= LOOKS_UNSEEN_MAX)
			forget(marks, mark);
	}
}

/* --- those that run --- */

/* The request that an op is a part of; NULL: none that runs. */
static const struct top_mark *request_around(const struct top_marks *marks, uint64_t op)
{
	const struct top_mark *mark = find(marks, op);

	for (int i = 0; mark && mark->sort != SORT_MARK && i < LEVELS_MAX; i++)
		mark = mark->parent ? find(marks, mark->parent) : NULL;
	return mark && mark->sort == SORT_MARK ? outermost(marks, mark) : NULL;
}

struct running {
	const struct top_marks *marks;
	struct top_request *list;
	struct top_stints *stints; /* as the list */
	uint32_t *rows;            /* + 1: of the list, by mark */
	size_t count;
};

/* The row + 1 that an op is a part of; 0: none that runs. */
static uint32_t row_with(const struct running *running, uint64_t op)
{
	const struct top_mark *mark = request_around(running->marks, op);

	return mark ? running->rows[mark - running->marks->marks] : 0;
}

static void add_parts(const struct running *running)
{
	for (uint32_t i = 0; running->count && i < running->marks->made; i++) {
		const struct top_mark *mark = &running->marks->marks[i];
		uint32_t row;

		if (!mark->op || mark->sort == SORT_THREAD ||
		    find(running->marks, mark->op) != mark)
			continue;
		row = row_with(running, mark->op);
		if (row == 0)
			continue;
		top_stints_join(&running->stints[row - 1], &mark->stints);
		for (size_t part = 0; part < TOP_PARTS; part++)
			running->list[row - 1].parts_ns[part] += mark->work.parts_ns[part];
	}
}

/* Waits for others come last: what the others do counts first. */
static void add_calls(const struct running *running, bool is_of_others)
{
	for (size_t i = 0; running->count && i < running->marks->call_count; i++) {
		const struct top_mark_call *call = &running->marks->calls[i];
		uint32_t row = row_with(running, call->op);
		struct top_stint time = call->time;

		if (row == 0 || (call->part == TOP_OTHER) != is_of_others)
			continue;
		time.end_ns = running->list[row - 1].end_ns;
		if (time.begin_ns >= time.end_ns)
			continue;
		running->list[row - 1].parts_ns[call->part] +=
			top_stints_outside_ns(is_of_others ? &running->stints[row - 1]
							   : &(struct top_stints){ .count = 0 },
					      time);
		if (!is_of_others)
			top_stints_add(&running->stints[row - 1], time);
	}
}

static void add_running(struct running *running, const struct top_mark *mark, uint64_t now_ns)
{
	struct top_request *request = &running->list[running->count++];

	*request = request_of(mark, now_ns);
	request->is_running = true;
	running->rows[mark - running->marks->marks] = (uint32_t)running->count;
}

struct top_request *top_marks_running(const struct top_marks *marks, uint64_t now_ns, size_t *count)
{
	struct running running = { .marks = marks,
				   .list = malloc((marks->made + 1) * sizeof(*running.list)),
				   .stints = calloc(marks->made + 1, sizeof(*running.stints)),
				   .rows = calloc(marks->made + 1, sizeof(*running.rows)) };

	for (uint32_t i = 0; running.list && running.stints && running.rows && i < marks->made; i++)
		if (is_running(marks, &marks->marks[i]) && marks->marks[i].begin_ns < now_ns)
			add_running(&running, &marks->marks[i], now_ns);
	add_parts(&running);
	add_calls(&running, false);
	add_calls(&running, true);
	free(running.stints);
	free(running.rows);
	*count = running.count;
	return running.list;
}

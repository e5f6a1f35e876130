/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what rows of sleeps and looks were for; looks.h has the contract.
 *
 * Method. The cause is sought among all that other threads did between the last two looks of the
 * row. If a thing was the first of its kind since the row began, earlier looks could not find it.
 * Threads of the same process come first, then processes that it started, then the same program.
 * The end of a thread comes before all else, then a kind that most rows of the class have.
 *
 * It is sure in three cases. The thread started the one that ended, or waits for its end then.
 * Another one begins to wait for this one's end. Or several rows of different lengths all end like
 * that: a fixed number of sleeps would not.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "looks_parts.h"

/* Between two sleeps a thread looks: moments after the row in which it may join a thread. */
enum { MOMENTS_AFTER = 64 };

/* Something that a thread did. */
struct event {
	uint64_t at_ns;
	uint64_t before_ns; /* when it did so before; 0 = never */
	uint32_t thread;
	uint32_t kind;    /* class, or a number behind the classes */
	uint32_t awaited; /* thread whose end it begins to wait for, NO_INDEX = it does not */
	bool is_end;      /* of the thread */
};

/* The time between the last two looks of a row. */
struct window {
	uint64_t from_ns;
	uint64_t to_ns;
};

/* A kind of event that may have been what a row looked for. */
struct vote {
	uint32_t class; /* of the sleeps */
	uint32_t kind;
	uint32_t row;
};

struct search {
	const struct look_search *found;
	uint32_t *starter;      /* by thread, NO_INDEX = not known */
	struct window *windows; /* by time, none in another */
	size_t window_count;
	struct event *events; /* by time */
	size_t event_count;
	size_t event_capacity;
	struct vote *votes;
	size_t vote_count;
	size_t vote_capacity;
};

/* The time between two looks of a row: the last ones, or those before. */
static struct window turn_of(const struct search *search, size_t row, int back)
{
	const struct rec_op *ops = search->found->recording->ops;
	const uint32_t *last = search->found->runs[row].last;
	return (struct window){ ops[last[back + 1]].end_ns, ops[last[back]].end_ns };
}

static int compare_windows(const void *left, const void *right)
{
	const struct window *a = left, *b = right;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static void find_windows(struct search *search)
{
	const struct looks *looks = search->found->looks;
	size_t count = 0;
	search->windows = memory_new(looks->count, sizeof(*search->windows));
	for (size_t i = 0; i < looks->count; i++)
		search->windows[i] = (struct window){ turn_of(search, i, 1).from_ns,
						      turn_of(search, i, 0).to_ns };
	qsort(search->windows, looks->count, sizeof(*search->windows), compare_windows);
	for (size_t i = 0; i < looks->count; i++) {
		struct window *last = count ? &search->windows[count - 1] : NULL;
		if (last && search->windows[i].from_ns <= last->to_ns) {
			if (search->windows[i].to_ns > last->to_ns)
				last->to_ns = search->windows[i].to_ns;
		} else {
			search->windows[count++] = search->windows[i];
		}
	}
	search->window_count = count;
}

static bool is_in_window(const struct search *search, uint64_t at_ns)
{
	size_t low = 0, high = search->window_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (search->windows[middle].to_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < search->window_count && search->windows[low].from_ns <= at_ns;
}

static void event_add(struct search *search, struct event event)
{
	if (!is_in_window(search, event.at_ns))
		return;
	search->events = memory_grow(search->events, &search->event_capacity,
				     search->event_count + 1, sizeof(*search->events));
	search->events[search->event_count++] = event;
}

/* The class of a call that ended, or a number behind those; NO_INDEX = no event. */
static uint32_t kind_of(const struct search *search, const struct moment *moment)
{
	const struct recording *recording = search->found->recording;
	uint32_t classes = search->found->classes->count;
	switch (moment_type(moment)) {
	case MOMENT_OP_END:
	case MOMENT_OP_POINT:
		return recording->ops[moment->index].kind == KIND_IO
			       ? search->found->classes->of_op[moment->index]
			       : NO_INDEX;
	case MOMENT_LINK:
		return classes + 1 + recording->links[moment->index].kind;
	case MOMENT_WAIT_BEGIN:
	case MOMENT_WAIT_POINT:
		return recording->waits[moment->index].reason == REASON_JOIN ? classes : NO_INDEX;
	case MOMENT_OP_BEGIN:
	case MOMENT_WAIT_END:
		break;
	}
	return NO_INDEX;
}

static uint32_t thread_of(const struct recording *recording, uint32_t op)
{
	return op != NO_INDEX && recording->ops[op].kind == KIND_THREAD ? recording->ops[op].thread
									: NO_INDEX;
}

/* The thread whose end the wait is for. One that comes after another one's end was to be waited for
 * anyhow. */
static uint32_t awaited_by(const struct search *search, size_t at, uint32_t thread)
{
	const struct recording *recording = search->found->recording;
	const struct moment *moments = search->found->timeline->moments;
	enum moment_type before = at > search->found->timeline->first[thread]
					  ? moment_type(&moments[at - 1])
					  : MOMENT_LINK;
	if ((before == MOMENT_WAIT_END || before == MOMENT_WAIT_POINT) &&
	    recording->waits[moments[at - 1].index].reason == REASON_JOIN)
		return NO_INDEX;
	return thread_of(recording, recording->waits[moments[at].index].target);
}

static void find_events_of(struct search *search, uint32_t thread, uint64_t *seen_ns,
			   uint32_t *seen_by)
{
	const struct recording *recording = search->found->recording;
	const struct timeline *timeline = search->found->timeline;
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		uint32_t kind = kind_of(search, moment);
		if (kind == NO_INDEX)
			continue;
		struct event event = { .at_ns = moment->at_ns,
				       .before_ns = seen_by[kind] == thread + 1 ? seen_ns[kind] : 0,
				       .thread = thread,
				       .kind = kind,
				       .awaited = NO_INDEX };
		if (kind == search->found->classes->count)
			event.awaited = awaited_by(search, i, thread);
		seen_by[kind] = thread + 1;
		seen_ns[kind] = moment->at_ns;
		event_add(search, event);
	}
	uint32_t op = recording->threads[thread].op;
	if (op != NO_INDEX && !recording->extras[op].open)
		event_add(search, (struct event){ .at_ns = recording->ops[op].end_ns,
						  .thread = thread,
						  .kind = search->found->classes->of_op[op],
						  .awaited = NO_INDEX,
						  .is_end = true });
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->is_end > b->is_end) - (a->is_end < b->is_end);
}

static void find_events(struct search *search)
{
	size_t kinds =
		search->found->classes->count + 1 + search->found->recording->link_kinds.count;
	kinds = kinds + UINT8_MAX; /* words of dumps to come */
	uint64_t *seen_ns = memory_new(kinds, sizeof(*seen_ns));
	uint32_t *seen_by = memory_new(kinds, sizeof(*seen_by));
	for (uint32_t t = 0; t < search->found->timeline->thread_count; t++)
		find_events_of(search, t, seen_ns, seen_by);
	if (search->event_count)
		qsort(search->events, search->event_count, sizeof(*search->events), compare_events);
	free(seen_ns);
	free(seen_by);
}

static size_t first_event(const struct search *search, uint64_t from_ns)
{
	size_t low = 0, high = search->event_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (search->events[middle].at_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Between the last two looks of the row, another thread did this for the first time. */
static bool is_found(const struct search *search, const struct look_row *row,
		     const struct event *event)
{
	return event->thread != row->thread &&
	       (!event->before_ns ||
		event->before_ns < search->found->recording->ops[row->first].start_ns);
}

/* The first thread of a process that another one started. */
static uint32_t thread_of_client(const struct recording *recording, uint32_t client)
{
	for (uint32_t t = 0; client && t < recording->thread_count; t++) {
		const struct rec_process *process =
			&recording->processes[recording->threads[t].process];
		if (process->client == client && process->pid == recording->threads[t].tid)
			return t;
	}
	return NO_INDEX;
}

static uint32_t started_by(const struct recording *recording, const struct rec_link *link)
{
	if (link->kind == LINK_NESTED_CLIENT)
		return thread_of_client(recording, link->ident);
	return link->kind == LINK_SPAWN ? thread_of(recording, link->to) : NO_INDEX;
}

static void find_starters(struct search *search)
{
	const struct recording *recording = search->found->recording;
	search->starter = memory_new(recording->thread_count, sizeof(*search->starter));
	for (size_t t = 0; t < recording->thread_count; t++)
		search->starter[t] = NO_INDEX;
	for (size_t i = 0; i < recording->link_count; i++) {
		uint32_t started = started_by(recording, &recording->links[i]);
		if (started != NO_INDEX)
			search->starter[started] = recording->links[i].thread;
	}
}

static int compare_votes(const void *left, const void *right)
{
	const struct vote *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static void find_votes(struct search *search)
{
	const struct looks *looks = search->found->looks;
	for (size_t i = 0; i < looks->count; i++) {
		const struct look_row *row = &looks->rows[i];
		const struct window turn = turn_of(search, i, 0);
		for (size_t at = first_event(search, turn.from_ns);
		     at < search->event_count && search->events[at].at_ns <= turn.to_ns; at++) {
			const struct event *event = &search->events[at];
			if (!search->found->runs[i].is_tight || !is_found(search, row, event))
				continue;
			search->votes = memory_grow(search->votes, &search->vote_capacity,
						    search->vote_count + 1, sizeof(*search->votes));
			search->votes[search->vote_count++] =
				(struct vote){ row->class, event->kind, (uint32_t)i };
		}
	}
	if (search->vote_count)
		qsort(search->votes, search->vote_count, sizeof(*search->votes), compare_votes);
}

/* The kind that most rows of a class have in common, and how many of them have it. */
struct common {
	uint32_t kind; /* NO_INDEX = nothing */
	uint32_t rows;
};

static struct common common_of(const struct search *search, uint32_t class)
{
	struct common best = { NO_INDEX, 0 };
	uint32_t rows = 0;
	for (size_t i = 0; i < search->vote_count; i++) {
		const struct vote *vote = &search->votes[i];
		if (vote->class != class)
			continue;
		bool is_same_kind = i && vote[-1].class == class && vote[-1].kind == vote->kind;
		if (is_same_kind && vote[-1].row == vote->row)
			continue;
		rows = is_same_kind ? rows + 1 : 1;
		if (rows > best.rows)
			best = (struct common){ vote->kind, rows };
	}
	return best;
}

/* The thread waits next for an end that came in the turn. */
static bool waits_for_end(const struct search *search, size_t index, struct window turn)
{
	const struct recording *recording = search->found->recording;
	const struct look_row *row = &search->found->looks->rows[index];
	size_t end = search->found->timeline->first[row->thread + 1];
	size_t next = search->found->runs[index].next;
	for (size_t i = next; i < end && i < next + MOMENTS_AFTER; i++) {
		const struct moment *moment = &search->found->timeline->moments[i];
		enum moment_type type = moment_type(moment);
		if (type != MOMENT_WAIT_BEGIN && type != MOMENT_WAIT_POINT)
			continue;
		const struct rec_wait *wait = &recording->waits[moment->index];
		if (wait->reason != REASON_JOIN && wait->reason != REASON_EXEC)
			continue;
		if (wait->target == NO_INDEX)
			return false;
		uint64_t end_ns = recording->ops[wait->target].end_ns;
		return end_ns > turn.from_ns && end_ns <= turn.to_ns;
	}
	return false;
}

/* Whom a thread looks for: another one of its process, a process that it started, the same program
 * again, any other one. */
static int distance_of(const struct recording *recording, uint32_t thread, uint32_t other)
{
	uint32_t mine = recording->threads[thread].process;
	uint32_t its = recording->threads[other].process;
	const struct rec_process *processes = recording->processes;
	if (mine == its)
		return 0;
	if (processes[its].ppid == processes[mine].pid)
		return 1;
	return processes[mine].exe == processes[its].exe ? 2 : 3;
}

static bool is_better(const struct recording *recording, uint32_t thread, const struct event *event,
		      const struct event *best, uint32_t common)
{
	if (!best)
		return true;
	int far = distance_of(recording, thread, event->thread);
	int best_far = distance_of(recording, thread, best->thread);
	if (far != best_far)
		return far < best_far;
	if (event->is_end != best->is_end)
		return event->is_end;
	if ((event->kind == common) != (best->kind == common))
		return event->kind == common;
	return true; /* the later one */
}

/* The first thing that the thread had not done before: the cause came just before that. */
static uint64_t first_of(const struct search *search, const struct look_row *row,
			 struct window turn, const struct event *best)
{
	for (size_t at = first_event(search, turn.from_ns); at < search->event_count; at++) {
		const struct event *event = &search->events[at];
		if (event->thread == best->thread && is_found(search, row, event))
			return event->at_ns;
	}
	return best->at_ns;
}

/* The turn is a small part of the row: that the end came in it was no chance. */
static bool is_late(const struct search *search, const struct look_row *row, struct window turn)
{
	uint64_t row_ns = turn.to_ns - search->found->recording->ops[row->first].start_ns;
	return (double)(turn.to_ns - turn.from_ns) <= assume.ended_within * (double)row_ns;
}

/* The likely cause of a turn's end. */
struct cause {
	const struct event *event; /* NULL = nothing */
	bool is_awaited;           /* the thread's own end: another one begins to wait for that */
	bool is_joined; /* an end, for which the thread waits then, or of a thread of its own */
	bool is_alone;  /* no other thread did anything */
};

static struct cause cause_in(const struct search *search, size_t index, struct window turn,
			     uint32_t common)
{
	const struct look_row *row = &search->found->looks->rows[index];
	struct cause cause = { .is_alone = true };
	for (size_t at = first_event(search, turn.from_ns);
	     at < search->event_count && search->events[at].at_ns <= turn.to_ns; at++) {
		const struct event *event = &search->events[at];
		cause.is_alone &= event->thread == row->thread;
		cause.is_awaited = event->awaited == row->thread;
		if (cause.is_awaited ||
		    (is_found(search, row, event) &&
		     is_better(search->found->recording, row->thread, event, cause.event, common)))
			cause.event = event;
		if (cause.is_awaited)
			break;
	}
	if (cause.event && cause.event->is_end)
		cause.is_joined = (search->found->runs[index].is_tight &&
				   search->starter[cause.event->thread] == row->thread) ||
				  waits_for_end(search, index, turn);
	return cause;
}

static void choose(struct search *search, size_t index, const struct common *common, bool is_sure)
{
	struct look_row *row = &search->found->looks->rows[index];
	const struct run *run = &search->found->runs[index];
	struct window turn = turn_of(search, index, 0), before = turn_of(search, index, 1);
	struct cause cause = cause_in(search, index, turn, common->kind);
	const struct cause earlier = cause_in(search, index, before, common->kind);
	bool is_for_end = cause.is_awaited || cause.is_joined;
	if (!is_for_end && (earlier.is_awaited || earlier.is_joined)) {
		/* it looks, and then sleeps once more: the last sleep is not in the row */
		turn = before;
		cause = earlier;
		is_for_end = true;
		row->last = run->last[1];
		row->count--;
	}
	row->sort = cause.is_alone || !earlier.is_alone ? LOOK_WORK : LOOK_KEPT;
	if (!cause.event || (!run->is_tight && !is_for_end))
		return;
	is_sure = (is_sure && cause.event->kind == common->kind) ||
		  (is_for_end && is_late(search, row, turn));
	row->ender = cause.event->thread;
	row->mark_ns = is_for_end ? cause.event->at_ns : first_of(search, row, turn, cause.event);
	row->mark_ns -= cause.is_awaited; /* before it begins to wait */
	row->sort = is_sure ? LOOK_SURE : LOOK_GUESS;
}

/* Rows of one class: whether what they have in common is no chance. */
static void choose_all(struct search *search)
{
	struct looks *looks = search->found->looks;
	bool *is_done = memory_new(search->found->classes->count, sizeof(*is_done));
	for (size_t first = 0; first < looks->count; first++) {
		uint32_t class = looks->rows[first].class, rows = 0;
		if (is_done[class])
			continue;
		const struct common common = common_of(search, class);
		bool varies = false;
		size_t before = looks->count;
		for (size_t i = first; i < looks->count; i++) {
			bool is_one =
				looks->rows[i].class == class && search->found->runs[i].is_tight;
			rows += is_one;
			varies |= is_one && before < looks->count &&
				  looks->rows[i].count != looks->rows[before].count;
			before = is_one ? i : before;
		}
		bool is_sure = varies && (double)common.rows > assume.ended_share * rows;
		for (size_t i = first; i < looks->count; i++) {
			if (looks->rows[i].class != class)
				continue;
			choose(search, i, &common, is_sure);
			if (looks->rows[i].sort == LOOK_KEPT && rows > 1 && !varies)
				looks->rows[i].sort = LOOK_WORK; /* so often, whatever happens */
		}
		is_done[class] = true;
	}
	free(is_done);
}

void look_causes_find(const struct look_search *found)
{
	struct search search = { .found = found };
	find_starters(&search);
	find_windows(&search);
	find_events(&search);
	find_votes(&search);
	choose_all(&search);
	free(search.starter);
	free(search.windows);
	free(search.events);
	free(search.votes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds of locks on files, and waits for them; filelocks.h has the contract.
 *
 * Method. A file's calls are gone through in order of time. A lock may be on some of its bytes. A
 * piece of the file is the bytes between two places where any call begins or ends. Each piece is a
 * lock of its own, for readers and writers. A lock from fcntl() belongs to a process, and ends when
 * that closes the file anywhere. A lock of another sort belongs to an open file. As that is not
 * known, it is taken to be the process and its descriptor.
 *
 * Only pieces that somebody found locked have holds.
 *
 * A call was let go by an unlock if it ended soon after that. Busy CPUs may take a scheduler's tick
 * to get round to it. Where the recording has no such unlock, as of a lock that a child inherited,
 * nothing is said.
 */
#include "filelocks_parts.h"

#include "base/assumptions.h"
#include "base/bound.h"
#include "format.h"
#include "recording/intern.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A lock that is held, or was. */
struct held {
	uint64_t from;
	uint64_t to;
	uint64_t end_ns; /* 0 = it is held */
	uint32_t call;   /* index of the one that took it */
	uint32_t hold;   /* op */
};

struct search {
	struct recording *rec;
	const struct file_call *calls;
	uint64_t *cuts; /* of the file: where pieces begin */
	size_t cut_count;
	struct held *helds; /* of the file, by begin */
	size_t held_count;
	size_t held_capacity;
	size_t op_capacity;
	size_t wait_capacity;
	uint64_t first_piece; /* number of the file's first one */
	bool *is_wanted;      /* by piece: somebody found it locked */
};

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static size_t piece_at(const struct search *search, uint64_t from)
{
	return bound_lower(&from, search->cuts, search->cut_count, sizeof(from), compare_numbers);
}

static void find_pieces(struct search *search, size_t first, size_t end)
{
	search->cuts = memory_new(2 * (end - first) + 1, sizeof(*search->cuts));
	search->cut_count = 0;
	for (size_t i = first; i < end; i++) {
		if (search->calls[i].is_close)
			continue;
		search->cuts[search->cut_count++] = search->calls[i].from;
		search->cuts[search->cut_count++] = search->calls[i].to;
	}
	qsort(search->cuts, search->cut_count, sizeof(*search->cuts), compare_numbers);
	size_t kept = 0;
	for (size_t i = 0; i < search->cut_count; i++)
		if (!kept || search->cuts[i] != search->cuts[kept - 1])
			search->cuts[kept++] = search->cuts[i];
	search->cut_count = kept;
}

static bool is_same_owner(const struct file_call *a, const struct file_call *b)
{
	return a->process == b->process && a->is_files == b->is_files &&
	       (!a->is_files || a->fd == b->fd);
}

static uint32_t name_of(const struct search *search, const struct file_call *call, size_t piece)
{
	const char *path = search->rec->strings[search->rec->ops[call->op].ident];
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	char text[512];

	if (search->cut_count <= 2)
		snprintf(text, sizeof(text), "%.400s", name);
	else
		snprintf(text, sizeof(text), "%.400s %" PRIu64, name, search->cuts[piece]);
	return recording_intern(search->rec, text);
}

static uint64_t address_of(const struct search *search, size_t piece)
{
	return FILE_LOCK_ADDRESS | (search->first_piece + piece);
}

static uint32_t new_op(struct search *search, uint32_t like)
{
	struct recording *rec = search->rec;
	size_t capacity = search->op_capacity;

	rec->ops =
		memory_grow(rec->ops, &search->op_capacity, rec->op_count + 1, sizeof(*rec->ops));
	rec->extras = memory_grow(rec->extras, &capacity, rec->op_count + 1, sizeof(*rec->extras));
	rec->ops[rec->op_count] = rec->ops[like];
	rec->extras[rec->op_count] = rec->extras[like];
	return (uint32_t)rec->op_count++;
}

/* `op` becomes the hold of a piece. Its end is that of its thread until it is known. */
static void hold_of(struct search *search, uint32_t op, const struct file_call *call, size_t piece)
{
	struct recording *rec = search->rec;
	uint32_t life = rec->threads[rec->ops[op].thread].op;
	bool is_read = call->mode == MODE_READ;
	uint32_t name = name_of(search, call, piece);

	rec->ops[op].start_ns = call->at_ns;
	rec->ops[op].end_ns = life == NO_INDEX ? rec->end_ns : rec->ops[life].end_ns;
	if (rec->ops[op].end_ns < call->at_ns)
		rec->ops[op].end_ns = call->at_ns;
	rec->ops[op].kind = KIND_HOLD;
	rec->ops[op].work = WORK_ENGINE;
	rec->ops[op].outcome = OUTCOME_OK;
	rec->ops[op].name = name;
	rec->ops[op].ident = recording_intern(rec, is_read ? "read" : "write");
	rec->extras[op] = (struct rec_op_extra){
		.address = address_of(search, piece),
		.stack = rec->extras[op].stack,
		.fd = -1,
		.tried = call->is_try,
		.open = life == NO_INDEX || rec->extras[life].open,
		.shared = is_read,
	};
}

static void wait_add(struct search *search, const struct file_call *call, size_t piece,
		     uint64_t start_ns)
{
	struct recording *rec = search->rec;
	const struct rec_op *op = &rec->ops[call->op];
	uint32_t thread = op->thread, waiter = op->parent, ident = name_of(search, call, piece);
	uint32_t name = call->has_failed ? recording_intern(rec, "trylock of a file")
					 : rec->ops[call->op].name;

	search->is_wanted[piece] = true;
	rec->waits = memory_grow(rec->waits, &search->wait_capacity, rec->wait_count + 1,
				 sizeof(*rec->waits));
	rec->waits[rec->wait_count++] = (struct rec_wait){
		.start_ns = start_ns,
		.end_ns = call->at_ns,
		.waiter = waiter,
		.target = NO_INDEX,
		.ident = ident,
		.reason = call->mode == MODE_READ ? REASON_RWLOCK_READ : REASON_RWLOCK_WRITE,
		.timed_out = call->has_failed,
		.thread = thread,
		.stack = rec->extras[call->op].stack,
		.name = name,
		.holder = NO_INDEX,
		.address = address_of(search, piece),
	};
}

/* The last one whose lock the call could not have together with its own, while it was under way;
 * NULL = none. */
static const struct held *blocker_of(const struct search *search, const struct file_call *call)
{
	uint64_t start_ns = search->rec->ops[call->op].start_ns;
	const struct held *found = NULL;

	for (size_t i = search->held_count; i-- > 0;) {
		const struct held *held = &search->helds[i];
		const struct file_call *other = &search->calls[held->call];

		if (held->from >= call->to || held->to <= call->from ||
		    (held->end_ns && held->end_ns < start_ns) || is_same_owner(other, call) ||
		    (call->mode == MODE_READ && other->mode == MODE_READ))
			continue;
		if (!found || !held->end_ns || (found->end_ns && held->end_ns > found->end_ns))
			found = held;
		if (!held->end_ns)
			break;
	}
	return found;
}

/* The call waited for that one: it ended soon after the unlock. */
static bool was_let_go(const struct search *search, const struct file_call *call,
		       const struct held *held)
{
	uint64_t start_ns = search->rec->ops[call->op].start_ns;
	double waited_ns = (double)(call->at_ns - start_ns);

	return held && held->end_ns && held->end_ns <= call->at_ns &&
	       (double)(call->at_ns - held->end_ns) <=
		       fmax(assume.ended_within * waited_ns, (double)assume.tick);
}

static void held_add(struct search *search, size_t call, size_t piece, uint32_t hold)
{
	search->helds = memory_grow(search->helds, &search->held_capacity, search->held_count + 1,
				    sizeof(*search->helds));
	search->helds[search->held_count++] = (struct held){ .from = search->cuts[piece],
							     .to = search->cuts[piece + 1],
							     .call = (uint32_t)call,
							     .hold = hold };
}

static void held_ends(struct search *search, struct held *held, uint64_t at_ns)
{
	struct rec_op *hold = &search->rec->ops[held->hold];

	held->end_ns = at_ns;
	if (at_ns < hold->start_ns)
		at_ns = hold->start_ns;
	if (at_ns >= hold->end_ns)
		return;
	hold->end_ns = at_ns;
	search->rec->extras[held->hold].open = false;
}

/* Threads that are gone hold nothing. */
static void forget_ended(struct search *search, uint64_t before_ns)
{
	for (size_t i = 0; i < search->held_count; i++) {
		struct held *held = &search->helds[i];
		const struct rec_op *hold = &search->rec->ops[held->hold];

		if (!held->end_ns && !search->rec->extras[held->hold].open &&
		    hold->end_ns <= before_ns)
			held->end_ns = hold->end_ns;
	}
}

/* The call's owner has these bytes no more, or in another way. */
static void let_go(struct search *search, const struct file_call *call)
{
	for (size_t i = 0; i < search->held_count; i++) {
		struct held *held = &search->helds[i];
		const struct file_call *by = &search->calls[held->call];
		bool is_its = call->is_close ? call->process == by->process &&
						       (!by->is_files || by->fd == call->fd)
					     : is_same_owner(by, call);

		if (!held->end_ns && is_its && held->from < call->to && held->to > call->from)
			held_ends(search, held, call->at_ns);
	}
}

/* A lock that ended before all calls to come began matters no more. */
static void drop_old(struct search *search, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < search->held_count; i++)
		if (!search->helds[i].end_ns || search->helds[i].end_ns >= before_ns)
			search->helds[kept++] = search->helds[i];
	search->held_count = kept;
}

/* A lock of another owner that is in the way was given back before, seen by nobody. */
static void give_up_others(struct search *search, const struct file_call *call)
{
	uint64_t start_ns = search->rec->ops[call->op].start_ns;

	for (size_t i = 0; i < search->held_count; i++) {
		struct held *held = &search->helds[i];
		const struct file_call *by = &search->calls[held->call];

		if (!held->end_ns && held->from < call->to && held->to > call->from &&
		    !is_same_owner(by, call) &&
		    (call->mode == MODE_WRITE || by->mode == MODE_WRITE))
			held_ends(search, held, start_ns);
	}
}

static void gain(struct search *search, size_t index)
{
	struct file_call call = search->calls[index];
	size_t piece = piece_at(search, call.from);
	const struct held *blocker = blocker_of(search, &call);
	bool has_waited = !call.is_try && was_let_go(search, &call, blocker);
	size_t waited = has_waited ? piece_at(search, blocker->from) : 0;
	uint32_t op = call.op;

	let_go(search, &call);
	give_up_others(search, &call);
	if (has_waited) {
		wait_add(search, &call, waited, search->rec->ops[op].start_ns);
		hold_of(search, op, &call, waited);
		held_add(search, index, waited, op);
	}
	for (; search->cuts[piece] < call.to; piece++) {
		if (has_waited && piece == waited)
			continue;
		uint32_t hold = new_op(search, op);
		hold_of(search, hold, &call, piece);
		held_add(search, index, piece, hold);
	}
}

static void happens(struct search *search, size_t index)
{
	const struct file_call *call = &search->calls[index];

	forget_ended(search, call->at_ns);
	if (call->has_failed && call->is_try) {
		const struct held *blocker = blocker_of(search, call);
		if (blocker)
			wait_add(search, call, piece_at(search, blocker->from), call->at_ns);
	} else if (!call->has_failed && call->mode != MODE_NONE) {
		gain(search, index);
	} else if (!call->has_failed) {
		let_go(search, call);
	}
}

/* When the earliest call begins of those from here on, by call. */
static uint64_t *begins_of(const struct search *search, size_t first, size_t end)
{
	uint64_t *begins = memory_new(end - first + 1, sizeof(*begins));

	begins[end - first] = UINT64_MAX;
	for (size_t i = end; i-- > first;) {
		uint64_t start_ns = search->rec->ops[search->calls[i].op].start_ns;
		uint64_t later = begins[i - first + 1];

		begins[i - first] = start_ns < later ? start_ns : later;
	}
	return begins;
}

/* Holds of pieces that nobody ever found locked say nothing, as those of mutexes do not. */
static void drop_unwanted(struct search *search, size_t first_op)
{
	struct recording *rec = search->rec;
	size_t kept = first_op;

	for (size_t i = first_op; i < rec->op_count; i++) {
		if (!search->is_wanted[rec->extras[i].address - address_of(search, 0)])
			continue;
		rec->ops[kept] = rec->ops[i];
		rec->extras[kept++] = rec->extras[i];
	}
	rec->op_count = kept;
}

static void find_holds(struct search *search, size_t first, size_t end)
{
	uint64_t *begins = begins_of(search, first, end);
	size_t first_op = search->rec->op_count;

	find_pieces(search, first, end);
	search->is_wanted = memory_new(search->cut_count, sizeof(*search->is_wanted));
	search->held_count = 0;
	for (size_t i = first; i < end; i++) {
		drop_old(search, begins[i - first]);
		happens(search, i);
	}
	drop_unwanted(search, first_op);
	search->first_piece += search->cut_count;
	free(search->is_wanted);
	free(search->cuts);
	free(begins);
}

void file_locks_find(struct recording *rec)
{
	struct search search = { .rec = rec };
	struct file_calls calls = { .count = 0 };

	if (rec->extras)
		file_calls_find(&calls, rec);
	search.calls = calls.calls;
	search.op_capacity = rec->op_count;
	search.wait_capacity = rec->wait_count;
	for (size_t first = 0, end; first < calls.count; first = end) {
		end = first + 1;
		while (end < calls.count &&
		       !file_calls_compare(&calls.calls[first], &calls.calls[end]))
			end++;
		find_holds(&search, first, end);
	}
	free(calls.calls);
	free(search.helds);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches reads to writes by running byte offset.
 *
 * Method. A descriptor's description names both ends ("tcp 127.0.0.1:80>127.0.0.1:4711"). So a
 * write on one end and a read on the other are the same flow when the read's ends are exchanged.
 * The description of a socket of the unix kind names one end, and the recording says elsewhere
 * which is the other. A flow's writes in order of their beginnings and its reads in order of their
 * ends give each byte an offset. A read waited if the write of its last byte began after it did.
 *
 * A flow is left alone if bytes were read that nobody was seen to write: its reads stay as long as
 * they were. Only at its end may there be such bytes, since libc writes the rest of a stream at a
 * program's end by no call. Where recording began they are at its beginning (flows_messages.c).
 *
 * Bytes may also be permits, as in the pipe of make's job server: they are read, and written back.
 * Such bytes do not come from nowhere: they were there at the start. They are as many as the
 * recording's largest deficit of bytes read over bytes written.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "flows_ends.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* All sides of all flows, in order. */
struct sides {
	const struct recording *rec;
	struct flow_names ends;
	struct addresses names; /* of flows */
	struct flow_ends endings;
	struct side *list;
	size_t count;
	size_t capacity;
};

static int compare_sides(const void *left, const void *right)
{
	const struct side *a = left, *b = right;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (a->is_write != b->is_write)
		return (int)b->is_write - (int)a->is_write;
	return (int)b->is_look - (int)a->is_look;
}

static uint64_t amount_of(const struct recording *rec, uint32_t op, enum flow_unit unit)
{
	if (unit == FLOW_BYTES)
		return rec->extras[op].amount;
	return unit == FLOW_MESSAGES && rec->extras[op].messages ? rec->extras[op].messages : 1;
}

/* A look finds nothing: a read that failed, or a poll that had to wait. */
static bool is_look(const struct recording *rec, uint32_t op)
{
	const struct rec_op *call = &rec->ops[op];

	return call->kind == KIND_POLL ? call->end_ns - call->start_ns > assume.copy
				       : call->outcome == OUTCOME_ERROR;
}

/* It began before the selected time, so its bytes may have been read before, too. They are there as
 * soon as it begins, unless it has to wait for room. */
static bool was_written_before(const struct recording *rec, uint32_t op)
{
	const struct rec_op *io = &rec->ops[op];

	return rec->extras[op].cut && io->end_ns - io->start_ns < assume.write_waited;
}

static void side_add(struct sides *sides, uint32_t op, bool is_other)
{
	const struct recording *rec = sides->rec;
	const struct rec_op *io = &rec->ops[op];
	struct flow_end end = flow_names_end(&sides->ends, op, is_other);
	struct side side = { .at_ns = end.is_write ? io->start_ns : io->end_ns,
			     .op = op,
			     .unit = end.unit,
			     .is_write = end.is_write,
			     .is_other = is_other };

	if (!end.name)
		return;
	side.is_look = !side.is_write && is_look(rec, op);
	if (io->kind == KIND_POLL && !side.is_look) /* the read after it is what takes */
		return;
	side.amount = side.is_look ? 0 : amount_of(rec, op, end.unit);
	if (end.unit == FLOW_BYTES || end.unit == FLOW_MESSAGES)
		side.amount = rec->extras[op].amount ? side.amount : 0;
	if (io->outcome == OUTCOME_ERROR && side.is_write && end.unit != FLOW_CONNECTIONS)
		side.amount = 0; /* a connection that comes about later is an error as well */
	if (side.is_write && was_written_before(rec, op))
		side.amount = 0;
	if (!side.amount && (!side.is_look || end.unit == FLOW_BYTES))
		return;
	side.flow = addresses_add(&sides->names, 0, end.name);
	sides->list =
		memory_grow(sides->list, &sides->capacity, sides->count + 1, sizeof(*sides->list));
	sides->list[sides->count++] = side;
}

/* Whether a call asks for what came of the connection that an earlier one has begun. `begun`: by
 * description, the last call that has begun one. */
static bool connects_again(const struct recording *rec, uint32_t op, uint32_t *begun)
{
	const struct rec_op *call = &rec->ops[op];
	uint32_t *first = &begun[call->ident];

	if (call->kind != KIND_IO || !strstr(rec->strings[call->name], "connect"))
		return false;
	bool is_again = *first != NO_INDEX && call->outcome != OUTCOME_ERROR &&
			rec->extras[op].fd == rec->extras[*first].fd;

	*first = call->outcome == OUTCOME_ERROR ? op : NO_INDEX;
	return is_again;
}

static void sides_collect(struct sides *sides)
{
	const struct recording *rec = sides->rec;
	uint32_t *begun = memory_new(rec->string_count, sizeof(*begun));

	memset(begun, 0xff, rec->string_count * sizeof(*begun));
	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if ((op->kind != KIND_IO && op->kind != KIND_POLL) || !op->ident ||
		    op->thread == NO_INDEX || rec->extras[i].open || connects_again(rec, i, begun))
			continue;
		side_add(sides, i, false);
		if (rec->extras[i].other_ident)
			side_add(sides, i, true);
	}
	free(begun);
	if (sides->count)
		qsort(sides->list, sides->count, sizeof(*sides->list), compare_sides);
}

/*
 * How many of one flow's sides, from the first on, are whole: reads do not run ahead of writes, and
 * both exist. Reads after the last write may get more: libc writes the rest of a stream when the
 * program ends. 0 = bytes came from nowhere before.
 */
static size_t whole_sides(const struct side *sides, size_t count, uint64_t initial)
{
	uint64_t written = initial, received = 0;
	size_t whole = 0;

	for (; whole < count; whole++) {
		uint64_t bytes = sides[whole].amount;

		if (!sides[whole].is_write && received + bytes > written)
			break;
		written += sides[whole].is_write ? bytes : 0;
		received += sides[whole].is_write ? 0 : bytes;
	}
	for (size_t i = whole; i < count; i++)
		if (sides[i].is_write)
			return 0;
	return written > initial && received ? whole : 0;
}

static bool has_several_readers(const struct recording *rec, const struct side *sides, size_t count)
{
	uint32_t reader = NO_INDEX;

	for (size_t i = 0; i < count; i++) {
		uint32_t thread = rec->ops[sides[i].op].thread;

		if (sides[i].is_write)
			continue;
		if (reader != NO_INDEX && reader != thread)
			return true;
		reader = thread;
	}
	return false;
}

/* How far the reads of a flow have got. */
struct reading_place {
	uint64_t received; /* bytes */
	uint64_t written;  /* bytes, by the writes before `write` */
	size_t write;      /* side */
};

/* The write that carries the byte before `offset`, going on from *at; NULL: it was there before. */
static const struct rec_op *write_of(const struct recording *rec, const struct side *sides,
				     size_t count, uint64_t offset, size_t *at, uint64_t *written)
{
	const struct rec_op *op = NULL;

	for (; *at < count && *written < offset; (*at)++) {
		if (!sides[*at].is_write)
			continue;
		op = &rec->ops[sides[*at].op];
		if (*written + sides[*at].amount >= offset)
			return op;
		*written += sides[*at].amount;
	}
	return op;
}

/* Whether a write took so long because the reader had to make room first. */
static bool write_waited(const struct recording *rec, const struct side *sides, size_t count,
			 size_t write)
{
	const struct rec_op *op = &rec->ops[sides[write].op];

	assert(sides[write].is_write);
	/* The kernel refuses connections by TCP for which a listener has no room. */
	if (op->end_ns - op->start_ns < assume.write_waited ||
	    (sides[write].unit == FLOW_CONNECTIONS &&
	     strncmp(rec->strings[op->ident], "tcp ", 4) == 0))
		return false;
	for (size_t i = write + 1; i < count && sides[i].at_ns <= op->end_ns; i++)
		if (!sides[i].is_write)
			return true;
	return false;
}

/*
 * A flow's room shows when a write had to wait: as much as was on its way when that write ended.
 * Where none waited, 0.
 */
static uint64_t capacity_find(const struct recording *rec, const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0, capacity = 0;
	size_t next = 0; /* read that has not ended yet */

	for (size_t i = 0; i < count; i++) {
		const struct rec_op *op = &rec->ops[sides[i].op];

		if (!sides[i].is_write)
			continue;
		written += sides[i].amount;
		if (!write_waited(rec, sides, count, i))
			continue;
		for (; next < count && sides[next].at_ns <= op->end_ns; next++)
			received += sides[next].is_write ? 0 : sides[next].amount;
		if (written > received && written - received > capacity)
			capacity = written - received;
	}
	return capacity;
}

/* A read that takes what is there waits for the first of it, any other one for the last. */
static void read_add(const struct recording *rec, const struct side *sides, size_t count,
		     size_t read, bool is_gathered, struct reading_place *place,
		     struct transfer *transfer)
{
	const struct rec_op *op = &rec->ops[sides[read].op];
	const struct rec_op *first =
		write_of(rec, sides, count, place->received + 1, &place->write, &place->written);

	transfer->first_ns = first ? first->start_ns : 0;
	place->received += transfer->bytes;
	const struct rec_op *from =
		write_of(rec, sides, count, place->received, &place->write, &place->written);

	from = is_gathered ? first : from;
	transfer->has_waited = from && from->start_ns > op->start_ns;
	if (transfer->has_waited && op->end_ns > from->start_ns)
		transfer->latency_ns = op->end_ns - from->start_ns;
}

/* The read that made room for a write that waited: the last one that began meanwhile. `count`: none
 * did. */
static size_t room_maker(const struct recording *rec, const struct side *sides, size_t count,
			 size_t write)
{
	const struct rec_op *op = &rec->ops[sides[write].op];
	size_t found = count;

	assert(sides[write].is_write);

	for (size_t i = write + 1; i < count; i++) {
		const struct rec_op *other = &rec->ops[sides[i].op];

		if (other->start_ns >= op->end_ns)
			break;
		if (!sides[i].is_write && other->start_ns > op->start_ns)
			found = i;
	}
	return found;
}

static void transfers_add(struct flows *flows, const struct recording *rec,
			  const struct side *sides, size_t count)
{
	struct reading_place place = { 0, flows->flows[sides->flow].initial, 0 };
	struct transfer *transfers = flows->transfers + flows->transfer_count;
	uint64_t moved[2] = { 0, flows->flows[sides->flow].initial }; /* read, written */

	for (size_t i = 0; i < count; i++) {
		struct transfer transfer = { .bytes = sides[i].amount,
					     .flow = sides[i].flow,
					     .offset = moved[sides[i].is_write],
					     .is_write = sides[i].is_write };

		moved[sides[i].is_write] += transfer.bytes;
		if (transfer.is_write)
			transfer.has_waited = write_waited(rec, sides, count, i);
		else
			read_add(rec, sides, count, i, flows->flows[sides->flow].is_gathered,
				 &place, &transfer);
		uint32_t *table = sides[i].is_other ? flows->other_of : flows->transfer_of;

		table[sides[i].op] = (uint32_t)flows->transfer_count++;
		transfer.has_woken = transfers[i].has_woken;
		transfers[i] = transfer;
		size_t waker = !transfer.has_waited ? count
			       : transfer.is_write  ? room_maker(rec, sides, count, i)
						    : place.write;
		if (waker < count)
			transfers[waker].has_woken = true;
	}
}

static bool is_pipe(const struct recording *rec, const struct side *side)
{
	uint32_t ident =
		side->is_other ? rec->extras[side->op].other_ident : rec->ops[side->op].ident;

	return flow_is_pipe(rec->strings[ident]);
}

/* A stream fills its buffer or the program's by several reads, of which the last end is known. */
static bool is_read_by_streams(const struct recording *rec, const struct side *sides, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sides[i].is_write && sides[i].amount > assume.pipe_room &&
		    strncmp(rec->strings[rec->ops[sides[i].op].name], "read", 4) != 0)
			return true;
	return false;
}

/* Of a stream the first end says what it is. */
static bool can_be_shared(const struct recording *rec, const struct side *side)
{
	return side->unit == FLOW_BYTES ? is_pipe(rec, side) : side->unit != FLOW_SIGNALS;
}

/* The clocks of all its ends are aligned, or one. */
static bool is_on_one_axis(const struct recording *rec, const struct side *sides, size_t count)
{
	uint32_t group = NO_INDEX;

	for (size_t i = 0; rec->clock_count > 1 && i < count; i++) {
		uint32_t thread = rec->ops[sides[i].op].thread;
		uint32_t clock = rec->processes[rec->threads[thread].process].clock;

		if (group != NO_INDEX && rec->clocks[clock].group != group)
			return false;
		group = rec->clocks[clock].group;
	}
	return true;
}

static bool all_is_read(const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0;

	for (size_t i = 0; i < count; i++)
		*(sides[i].is_write ? &written : &received) += sides[i].amount;
	return written == received;
}

static void end_add(struct flows *flows, const struct recording *rec, uint32_t flow,
		    uint32_t closed, uint32_t found)
{
	flows->end_of[closed] = (uint32_t)flows->transfer_count;
	flows->end_of[found] = (uint32_t)flows->transfer_count + 1;
	flows->transfers[flows->transfer_count++] =
		(struct transfer){ .bytes = 1, .flow = flow, .is_write = true };
	flows->transfers[flows->transfer_count++] = (struct transfer){
		.bytes = 1, .flow = flow, .first_ns = rec->ops[closed].start_ns
	};
}

static void flow_add(struct flows *flows, const struct flow_names *names,
		     const struct flow_ends *endings, struct side *sides, size_t count)
{
	uint32_t closed, found;

	assert(count > 0 && sides->flow < flows->flow_count);
	const struct recording *rec = names->recording;
	struct flow *flow = &flows->flows[sides->flow];
	bool is_stream = sides->unit == FLOW_BYTES;

	flow->unit = sides->unit;
	if (!is_on_one_axis(rec, sides, count))
		return;
	flow->is_given_back =
		is_stream && is_pipe(rec, sides) && flows_is_given_back(rec, sides, count);
	if (!is_stream &&
	    (sides->unit != FLOW_CONNECTIONS || !flow_connections_match(names, sides, &count)))
		count = flow_messages_match(flow, rec, sides, count);
	if (is_stream && !flow->is_given_back)
		count = flow_bytes_match(rec, sides, count, whole_sides(sides, count, 0) > 0);
	flow->initial = flow->is_given_back ? flows_deficit(sides, count) : 0;
	size_t whole = whole_sides(sides, count, flow->initial);

	flow->is_whole = whole > 0;
	if (!flow->is_whole)
		return;
	flow->capacity = capacity_find(rec, sides, count);
	if (is_stream && is_pipe(rec, sides) &&
	    (!flow->capacity || is_read_by_streams(rec, sides, count)))
		flow->capacity = assume.pipe_room;
	flow->is_shared = can_be_shared(rec, sides) && !flow->is_given_back &&
			  has_several_readers(rec, sides, count);
	struct transfer *transfers = flows->transfers + flows->transfer_count;

	transfers_add(flows, rec, sides, whole);
	if (is_stream && flow->is_shared)
		flow_rests_find(rec, sides, whole, transfers);
	if (is_stream && whole == count && !flow->initial && all_is_read(sides, count) &&
	    flow_end_find(endings, rec, sides, count, &closed, &found))
		end_add(flows, rec, sides->flow, closed, found);
}

void flows_build(struct flows *flows, const struct recording *rec)
{
	struct sides sides = {
		.rec = rec,
	};

	assert(rec->extras);
	memset(flows, 0, sizeof(*flows));
	flow_names_build(&sides.ends, rec);
	sides_collect(&sides);
	flows->flow_count = sides.names.count;
	flows->flows = memory_new(sides.names.count, sizeof(*flows->flows));
	flow_ends_collect(&sides.endings, rec, &sides.ends, &sides.names);
	flows->transfers = memory_new(sides.count + sides.endings.count, sizeof(*flows->transfers));
	flows->transfer_of = memory_new(rec->op_count, sizeof(*flows->transfer_of));
	flows->other_of = memory_new(rec->op_count, sizeof(*flows->other_of));
	flows->end_of = memory_new(rec->op_count, sizeof(*flows->end_of));
	for (size_t i = 0; i < rec->op_count; i++)
		flows->transfer_of[i] = flows->other_of[i] = flows->end_of[i] = NO_INDEX;
	for (size_t from = 0, to; from < sides.count; from = to) {
		for (to = from; to < sides.count && sides.list[to].flow == sides.list[from].flow;)
			to++;
		flow_add(flows, &sides.ends, &sides.endings, sides.list + from, to - from);
	}
	free(sides.list);
	flow_ends_free(&sides.endings);
	flow_names_free(&sides.ends);
	addresses_free(&sides.names);
}

void flows_free(struct flows *flows)
{
	free(flows->transfers);
	free(flows->flows);
	free(flows->transfer_of);
	free(flows->other_of);
	free(flows->end_of);
	memset(flows, 0, sizeof(*flows));
}

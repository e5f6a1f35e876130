/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches reads to writes by running byte offset.
 *
 * Method. A descriptor's description names both ends ("tcp 127.0.0.1:80>127.0.0.1:4711"), so a
 * write on one end and a read on the other are the same flow when the read's ends are exchanged. A
 * flow's writes in order of their beginnings and its reads in order of their ends give each byte an
 * offset. A read waited if the write of its last byte began after it did. A flow of which bytes
 * were read that nobody was seen to write is left alone: its reads stay as long as they were.
 *
 * One thread.
 */
#include "flows.h"

#include "addresses.h"
#include "format.h"
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_part(uint64_t hash, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (hash ^ '|') * 0x100000001b3u;
}

/* A name for the direction: from the writer's end to the reader's. 0 = no stream. */
static uint64_t flow_name(const char *ident, bool is_write)
{
	bool is_pipe = strncmp(ident, "pipe:", 5) == 0;
	const char *middle = strchr(ident, '>');
	uint64_t hash = 0xcbf29ce484222325u;

	if (is_pipe)
		return hash_part(hash, ident, strlen(ident));
	if (!middle || (strncmp(ident, "tcp ", 4) != 0 && strncmp(ident, "unix:", 5) != 0))
		return 0;
	size_t prefix_bytes = ident[0] == 't' ? 4 : 5;
	const char *left = ident + prefix_bytes, *right = middle + 1;
	size_t left_bytes = (size_t)(middle - left), right_bytes = strlen(right);

	if (right_bytes == 1 && *right == '*')
		return 0;
	hash = hash_part(hash, ident, prefix_bytes);
	hash = is_write ? hash_part(hash, left, left_bytes) : hash_part(hash, right, right_bytes);
	return is_write ? hash_part(hash, right, right_bytes) : hash_part(hash, left, left_bytes);
}

/* A write that fits into the buffer takes less, but for one in a crowd of runnable threads. */
enum { WRITE_WAITED_NS = 100000 };

enum flow_direction flow_direction_of(const char *call)
{
	if (strstr(call, "read") || strstr(call, "recv"))
		return FLOW_READ;
	return strstr(call, "write") || strstr(call, "send") ? FLOW_WRITE : FLOW_NONE;
}

struct side {
	uint64_t at_ns; /* write: its beginning; read: its end */
	uint32_t op;
	uint32_t flow;
	bool is_write;
};

static int compare_sides(const void *left, const void *right)
{
	const struct side *a = left, *b = right;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)b->is_write - (int)a->is_write;
}

static struct side *sides_collect(struct addresses *names, const struct recording *rec,
				  size_t *count)
{
	struct side *sides = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->kind != KIND_IO || !op->ident || op->outcome == OUTCOME_ERROR ||
		    !rec->extras[i].bytes || op->thread == NO_INDEX || rec->extras[i].open)
			continue;
		enum flow_direction direction = flow_direction_of(rec->strings[op->name]);
		bool is_write = direction == FLOW_WRITE;
		uint64_t name = direction ? flow_name(rec->strings[op->ident], is_write) : 0;

		if (!name)
			continue;
		sides = memory_grow(sides, &capacity, *count + 1, sizeof(*sides));
		sides[(*count)++] = (struct side){ is_write ? op->start_ns : op->end_ns, i,
						   addresses_add(names, 0, name), is_write };
	}
	if (*count)
		qsort(sides, *count, sizeof(*sides), compare_sides);
	return sides;
}

/* One flow's sides: its reads never run ahead of its writes, and both exist. */
static bool is_whole(const struct recording *rec, const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = rec->extras[sides[i].op].bytes;

		if (sides[i].is_write)
			written += bytes;
		else
			received += bytes;
		if (received > written)
			return false;
	}
	return written && received;
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

/* The write that carries the byte before `offset`, going on from *at. */
static const struct rec_op *write_of(const struct recording *rec, const struct side *sides,
				     size_t count, uint64_t offset, size_t *at, uint64_t *written)
{
	const struct rec_op *op = NULL;

	for (; *at < count; (*at)++) {
		if (!sides[*at].is_write)
			continue;
		op = &rec->ops[sides[*at].op];
		if (*written + rec->extras[sides[*at].op].bytes >= offset)
			return op;
		*written += rec->extras[sides[*at].op].bytes;
	}
	return op;
}

/* Whether a write took so long because the reader had to make room first. */
static bool write_waited(const struct recording *rec, const struct side *sides, size_t count,
			 size_t write)
{
	const struct rec_op *op = &rec->ops[sides[write].op];

	if (op->end_ns - op->start_ns < WRITE_WAITED_NS)
		return false;
	for (size_t i = write + 1; i < count && sides[i].at_ns <= op->end_ns; i++)
		if (!sides[i].is_write)
			return true;
	return false;
}

/*
 * What a flow holds shows when a write had to wait: as much as was on its way when that write
 * ended. Where none waited, 0.
 */
static uint64_t capacity_find(const struct recording *rec, const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0, capacity = 0;
	size_t next = 0; /* read that has not ended yet */

	for (size_t i = 0; i < count; i++) {
		const struct rec_op *op = &rec->ops[sides[i].op];

		if (!sides[i].is_write)
			continue;
		written += rec->extras[sides[i].op].bytes;
		if (!write_waited(rec, sides, count, i))
			continue;
		for (; next < count && sides[next].at_ns <= op->end_ns; next++)
			received += sides[next].is_write ? 0 : rec->extras[sides[next].op].bytes;
		if (written > received && written - received > capacity)
			capacity = written - received;
	}
	return capacity;
}

static void read_add(const struct recording *rec, const struct side *sides, size_t count,
		     size_t read, struct reading_place *place, struct transfer *transfer)
{
	const struct rec_op *op = &rec->ops[sides[read].op];
	const struct rec_op *first =
		write_of(rec, sides, count, place->received + 1, &place->write, &place->written);

	transfer->first_ns = first ? first->start_ns : 0;
	place->received += transfer->bytes;
	const struct rec_op *from =
		write_of(rec, sides, count, place->received, &place->write, &place->written);
	transfer->has_waited = from && from->start_ns > op->start_ns;
	if (transfer->has_waited && op->end_ns > from->start_ns)
		transfer->latency_ns = op->end_ns - from->start_ns;
}

static void transfers_add(struct flows *flows, const struct recording *rec,
			  const struct side *sides, size_t count)
{
	struct reading_place place = { 0, 0, 0 };

	for (size_t i = 0; i < count; i++) {
		struct transfer transfer = { .bytes = rec->extras[sides[i].op].bytes,
					     .flow = sides[i].flow,
					     .is_write = sides[i].is_write };

		if (transfer.is_write)
			transfer.has_waited = write_waited(rec, sides, count, i);
		else
			read_add(rec, sides, count, i, &place, &transfer);
		flows->transfer_of[sides[i].op] = (uint32_t)flows->transfer_count;
		flows->transfers[flows->transfer_count++] = transfer;
	}
}

void flows_build(struct flows *flows, const struct recording *rec)
{
	struct addresses names = { 0 };
	size_t count;

	assert(rec->extras);
	memset(flows, 0, sizeof(*flows));
	struct side *sides = sides_collect(&names, rec, &count);
	flows->flow_count = names.count;
	flows->flows = memory_new(names.count, sizeof(*flows->flows));
	flows->transfers = memory_new(count, sizeof(*flows->transfers));
	flows->transfer_of = memory_new(rec->op_count, sizeof(*flows->transfer_of));
	for (size_t i = 0; i < rec->op_count; i++)
		flows->transfer_of[i] = NO_INDEX;
	for (size_t from = 0, to; from < count; from = to) {
		struct flow *flow = &flows->flows[sides[from].flow];
		bool is_pipe =
			strncmp(rec->strings[rec->ops[sides[from].op].ident], "pipe:", 5) == 0;

		for (to = from; to < count && sides[to].flow == sides[from].flow;)
			to++;
		flow->is_whole = is_whole(rec, sides + from, to - from);
		flow->capacity = capacity_find(rec, sides + from, to - from);
		if (!flow->capacity && is_pipe)
			flow->capacity = PIPE_BYTES;
		flow->is_shared = is_pipe && has_several_readers(rec, sides + from, to - from);
		if (flow->is_whole)
			transfers_add(flows, rec, sides + from, to - from);
	}
	free(sides);
	addresses_free(&names);
}

void flows_free(struct flows *flows)
{
	free(flows->transfers);
	free(flows->flows);
	free(flows->transfer_of);
	memset(flows, 0, sizeof(*flows));
}

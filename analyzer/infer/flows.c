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
 * program's end by no call.
 *
 * One thread.
 */
#include "flows.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_part(uint64_t hash, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (hash ^ '|') * 0x100000001b3u;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

/* --- sockets of the unix kind: their ends are known by inode --- */

static int compare_peers(const void *left, const void *right)
{
	const struct rec_peer *a = left, *b = right;

	return (a->inode > b->inode) - (a->inode < b->inode);
}

/* The number after `mark`; 0 = there is none. */
static uint64_t number_after(const char *text, const char *mark)
{
	const char *at = text ? strstr(text, mark) : NULL;

	return at ? strtoull(at + strlen(mark), NULL, 10) : 0;
}

/* Of a description "unix:[INODE]", "unix:[INODE]>[PEER]", "unix PATH#INODE". */
static uint64_t inode_of(const char *ident)
{
	return ident[4] == ':' ? number_after(ident, ":[") : number_after(strrchr(ident, '#'), "#");
}

static bool is_unix_stream(const char *ident)
{
	return strncmp(ident, "unix:", 5) == 0 ||
	       (strncmp(ident, "unix ", 5) == 0 && strncmp(ident, "unix dgram", 10) != 0 &&
		strncmp(ident, "unix seqpacket", 14) != 0);
}

struct peers {
	struct rec_peer *list; /* in order of inode, each pair both ways */
	size_t count;
	size_t capacity;
};

static void peers_add(struct peers *peers, uint64_t inode, uint64_t peer)
{
	if (!inode || !peer)
		return;
	peers->list =
		memory_grow(peers->list, &peers->capacity, peers->count + 2, sizeof(*peers->list));
	peers->list[peers->count++] = (struct rec_peer){ inode, peer };
	peers->list[peers->count++] = (struct rec_peer){ peer, inode };
}

/* Peers that the recorders asked the kernel for, and pairs that they saw being made. The other end
 * of a pair may have gone to a process that saw nothing. */
static struct peers peers_collect(const struct recording *rec)
{
	struct peers peers = { 0 };

	for (size_t i = 0; i < rec->peer_count; i++)
		peers_add(&peers, rec->peers[i].inode, rec->peers[i].peer);
	for (size_t i = 0; i < rec->string_count; i++)
		if (is_unix_stream(rec->strings[i]))
			peers_add(&peers, inode_of(rec->strings[i]),
				  number_after(rec->strings[i], ">["));
	if (peers.count)
		qsort(peers.list, peers.count, sizeof(*peers.list), compare_peers);
	return peers;
}

static uint64_t peer_of(const struct peers *peers, uint64_t inode)
{
	struct rec_peer key = { inode, 0 };
	const struct rec_peer *found =
		peers->count ? bsearch(&key, peers->list, peers->count, sizeof(key), compare_peers)
			     : NULL;

	return found ? found->peer : 0;
}

static uint64_t unix_name(const char *ident, bool is_write, const struct peers *peers)
{
	uint64_t own = inode_of(ident), peer = peer_of(peers, own);
	uint64_t from = is_write ? own : peer, to = is_write ? peer : own;

	if (!own || !peer)
		return 0;
	uint64_t hash = hash_part(hash_start, "unix", 4);
	hash = hash_part(hash, (const char *)&from, sizeof(from));
	return hash_part(hash, (const char *)&to, sizeof(to));
}

/* --- all --- */

/* A name for the direction: from the writer's end to the reader's. 0 = no stream. */
static uint64_t flow_name(const char *ident, bool is_write, const struct peers *peers)
{
	const char *middle = strchr(ident, '>');

	if (strncmp(ident, "pipe:", 5) == 0)
		return hash_part(hash_start, ident, strlen(ident));
	if (is_unix_stream(ident))
		return unix_name(ident, is_write, peers);
	if (!middle || strncmp(ident, "tcp ", 4) != 0)
		return 0;
	const char *left = ident + 4, *right = middle + 1;
	size_t left_bytes = (size_t)(middle - left), right_bytes = strlen(right);

	if (right_bytes == 1 && *right == '*')
		return 0;
	uint64_t hash = hash_part(hash_start, ident, 4);
	hash = is_write ? hash_part(hash, left, left_bytes) : hash_part(hash, right, right_bytes);
	return is_write ? hash_part(hash, right, right_bytes) : hash_part(hash, left, left_bytes);
}

/* The directions of a call on its descriptor, and on the other one where it has two. */
struct call_directions {
	enum flow_direction own;
	enum flow_direction other;
};

/* Parts of the names of calls, also those of libc's streams. Of these the bytes are those that went
 * through the descriptor: where the buffer served, there is none. */
static const char *const reading[] = { "read", "recv", "get", "scan" };
static const char *const writing[] = { "write", "send",   "put",   "print",
				       "flush", "fclose", "fseek", "fsetpos" };

static bool names_any(const char *call, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(call, parts[i]))
			return true;
	return false;
}

static struct call_directions directions_of(const char *call)
{
	if (strcmp(call, "splice") == 0)
		return (struct call_directions){ FLOW_READ, FLOW_WRITE };
	if (strcmp(call, "tee") == 0) /* the bytes that it reads stay there */
		return (struct call_directions){ FLOW_NONE, FLOW_WRITE };
	if (strncmp(call, "sendfile", 8) == 0)
		return (struct call_directions){ FLOW_WRITE, FLOW_READ };
	if (strcmp(call, "vmsplice") == 0)
		return (struct call_directions){ FLOW_WRITE, FLOW_NONE };
	if (names_any(call, reading, sizeof(reading) / sizeof(reading[0])))
		return (struct call_directions){ FLOW_READ, FLOW_NONE };
	if (names_any(call, writing, sizeof(writing) / sizeof(writing[0])))
		return (struct call_directions){ FLOW_WRITE, FLOW_NONE };
	return (struct call_directions){ FLOW_NONE, FLOW_NONE };
}

enum flow_direction flow_direction_of(const char *call)
{
	return directions_of(call).own;
}

struct side {
	uint64_t at_ns; /* write: its beginning; read: its end */
	uint32_t op;
	uint32_t flow;
	bool is_write;
	bool is_other; /* the second descriptor of the op's */
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

/* All sides of all flows, in order. */
struct sides {
	const struct recording *rec;
	struct peers peers;
	struct addresses names; /* of flows */
	struct side *list;
	size_t count;
	size_t capacity;
};

static void side_add(struct sides *sides, uint32_t op, uint32_t ident,
		     enum flow_direction direction, bool is_other)
{
	const struct rec_op *io = &sides->rec->ops[op];
	bool is_write = direction == FLOW_WRITE;
	uint64_t name = direction != FLOW_NONE && ident
				? flow_name(sides->rec->strings[ident], is_write, &sides->peers)
				: 0;

	if (!name)
		return;
	sides->list =
		memory_grow(sides->list, &sides->capacity, sides->count + 1, sizeof(*sides->list));
	sides->list[sides->count++] =
		(struct side){ is_write ? io->start_ns : io->end_ns, op,
			       addresses_add(&sides->names, 0, name), is_write, is_other };
}

static void sides_collect(struct sides *sides)
{
	const struct recording *rec = sides->rec;

	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->kind != KIND_IO || !op->ident || op->outcome == OUTCOME_ERROR ||
		    !rec->extras[i].amount || op->thread == NO_INDEX || rec->extras[i].open)
			continue;
		struct call_directions directions = directions_of(rec->strings[op->name]);

		side_add(sides, i, op->ident, directions.own, false);
		side_add(sides, i, rec->extras[i].other_ident, directions.other, true);
	}
	if (sides->count)
		qsort(sides->list, sides->count, sizeof(*sides->list), compare_sides);
}

/*
 * How many of one flow's sides, from the first on, are whole: reads do not run ahead of writes, and
 * both exist. Reads after the last write may get more: libc writes the rest of a stream when the
 * program ends. 0 = bytes came from nowhere before.
 */
static size_t whole_sides(const struct recording *rec, const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0;
	size_t whole = 0;

	for (; whole < count; whole++) {
		uint64_t bytes = rec->extras[sides[whole].op].amount;

		if (!sides[whole].is_write && received + bytes > written)
			break;
		written += sides[whole].is_write ? bytes : 0;
		received += sides[whole].is_write ? 0 : bytes;
	}
	for (size_t i = whole; i < count; i++)
		if (sides[i].is_write)
			return 0;
	return written && received ? whole : 0;
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
		if (*written + rec->extras[sides[*at].op].amount >= offset)
			return op;
		*written += rec->extras[sides[*at].op].amount;
	}
	return op;
}

/* Whether a write took so long because the reader had to make room first. */
static bool write_waited(const struct recording *rec, const struct side *sides, size_t count,
			 size_t write)
{
	const struct rec_op *op = &rec->ops[sides[write].op];

	assert(sides[write].is_write);
	if (op->end_ns - op->start_ns < assume.write_waited)
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
		written += rec->extras[sides[i].op].amount;
		if (!write_waited(rec, sides, count, i))
			continue;
		for (; next < count && sides[next].at_ns <= op->end_ns; next++)
			received += sides[next].is_write ? 0 : rec->extras[sides[next].op].amount;
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
	struct reading_place place = { 0, 0, 0 };
	struct transfer *transfers = flows->transfers + flows->transfer_count;

	for (size_t i = 0; i < count; i++) {
		struct transfer transfer = { .bytes = rec->extras[sides[i].op].amount,
					     .flow = sides[i].flow,
					     .is_write = sides[i].is_write };

		if (transfer.is_write)
			transfer.has_waited = write_waited(rec, sides, count, i);
		else
			read_add(rec, sides, count, i, &place, &transfer);
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

	return strncmp(rec->strings[ident], "pipe:", 5) == 0;
}

/* A stream fills its buffer or the program's by several reads, of which the last end is known. */
static bool is_read_by_streams(const struct recording *rec, const struct side *sides, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sides[i].is_write && rec->extras[sides[i].op].amount > assume.pipe_room &&
		    strncmp(rec->strings[rec->ops[sides[i].op].name], "read", 4) != 0)
			return true;
	return false;
}

static void flow_add(struct flows *flows, const struct recording *rec, const struct side *sides,
		     size_t count)
{
	assert(count > 0 && sides->flow < flows->flow_count);
	struct flow *flow = &flows->flows[sides->flow];
	size_t whole = whole_sides(rec, sides, count);

	flow->is_whole = whole > 0;
	flow->capacity = capacity_find(rec, sides, count);
	if (is_pipe(rec, sides) && (!flow->capacity || is_read_by_streams(rec, sides, count)))
		flow->capacity = assume.pipe_room;
	flow->is_shared = is_pipe(rec, sides) && has_several_readers(rec, sides, count);
	if (flow->is_whole)
		transfers_add(flows, rec, sides, whole);
}

void flows_build(struct flows *flows, const struct recording *rec)
{
	struct sides sides = { .rec = rec, .peers = peers_collect(rec) };

	assert(rec->extras);
	memset(flows, 0, sizeof(*flows));
	sides_collect(&sides);
	flows->flow_count = sides.names.count;
	flows->flows = memory_new(sides.names.count, sizeof(*flows->flows));
	flows->transfers = memory_new(sides.count, sizeof(*flows->transfers));
	flows->transfer_of = memory_new(rec->op_count, sizeof(*flows->transfer_of));
	flows->other_of = memory_new(rec->op_count, sizeof(*flows->other_of));
	for (size_t i = 0; i < rec->op_count; i++)
		flows->transfer_of[i] = flows->other_of[i] = NO_INDEX;
	for (size_t from = 0, to; from < sides.count; from = to) {
		for (to = from; to < sides.count && sides.list[to].flow == sides.list[from].flow;)
			to++;
		flow_add(flows, rec, sides.list + from, to - from);
	}
	free(sides.list);
	free(sides.peers.list);
	addresses_free(&sides.names);
}

void flows_free(struct flows *flows)
{
	free(flows->transfers);
	free(flows->flows);
	free(flows->transfer_of);
	free(flows->other_of);
	memset(flows, 0, sizeof(*flows));
}

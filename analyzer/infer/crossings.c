/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds on the offsets of clocks; crossings.h has the contract.
 *
 * Method. A connection has two directions. In each, writes are in order of their beginnings, and
 * reads in order of their ends. That gives each byte an offset, each by the clock of its own
 * machine. If the connect() was recorded, both ends count from its first byte. Else one end may
 * have been recorded before the other, and it is not known how many bytes are missing: the base
 * (crossings_bases.c).
 *
 * One thread.
 */
#include "crossings_parts.h"

#include "base/memory.h"
#include "flows_names.h"
#include "format.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Of two machines: more connections say no more. */
enum { GUESSED_CONNECTIONS = 64 };

/* One call on one end of a connection. */
struct call {
	uint64_t connection; /* the same at both ends */
	uint64_t stream;     /* the direction */
	uint64_t at_ns;      /* a write: its beginning; a read: its end */
	uint64_t bytes;
	uint32_t clock;
	bool is_write;
	bool is_new; /* the connect() was recorded */
};

struct calls {
	struct call *list;
	size_t count;
	size_t room;
};

/* --- calls --- */

static bool *connected_find(const struct recording *rec)
{
	bool *is_connected = memory_new(rec->string_count, sizeof(*is_connected));

	for (size_t i = 0; i < rec->op_count; i++)
		if (rec->ops[i].kind == KIND_IO &&
		    strstr(rec->strings[rec->ops[i].name], "connect"))
			is_connected[rec->ops[i].ident] = true;
	return is_connected;
}

static void call_add(struct calls *calls, const struct flow_names *names, uint32_t op,
		     bool is_other, const bool *is_connected)
{
	const struct recording *rec = names->recording;
	const struct rec_op *io = &rec->ops[op];
	uint32_t ident = is_other ? rec->extras[op].other_ident : io->ident;
	struct flow_end end = flow_names_end(names, op, is_other);

	if (!end.name || end.unit != FLOW_BYTES || !rec->extras[op].amount ||
	    strncmp(rec->strings[ident], "tcp ", 4) != 0)
		return;
	uint64_t back = flow_names_stream(names, ident, !end.is_write);

	calls->list =
		memory_grow(calls->list, &calls->room, calls->count + 1, sizeof(*calls->list));
	calls->list[calls->count++] = (struct call){
		.connection = end.name ^ back,
		.stream = end.name,
		.at_ns = end.is_write ? io->start_ns : io->end_ns,
		.bytes = rec->extras[op].amount,
		.clock = rec->processes[rec->threads[io->thread].process].clock,
		.is_write = end.is_write,
		.is_new = is_connected[ident],
	};
}

/* In order of connection, direction, end, time. */
static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	if (a->connection != b->connection)
		return a->connection < b->connection ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->is_write != b->is_write)
		return (int)b->is_write - (int)a->is_write;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void calls_collect(struct calls *calls, const struct recording *rec)
{
	bool *is_connected = connected_find(rec);
	struct flow_names names;

	flow_names_build(&names, rec);
	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->kind != KIND_IO || op->thread == NO_INDEX || rec->extras[i].open ||
		    op->outcome == OUTCOME_ERROR)
			continue;
		call_add(calls, &names, i, false, is_connected);
		if (rec->extras[i].other_ident)
			call_add(calls, &names, i, true, is_connected);
	}
	if (calls->count)
		qsort(calls->list, calls->count, sizeof(*calls->list), compare_calls);
	flow_names_free(&names);
	free(is_connected);
}

/* --- connections --- */

static struct message *messages_of(const struct call *calls, size_t count)
{
	struct message *messages = memory_new(count, sizeof(*messages));
	int64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		end += (int64_t)calls[i].bytes;
		messages[i] = (struct message){ (double)calls[i].at_ns, end };
	}
	return messages;
}

/* Calls of one direction: writes first. False: an end of it was on two machines. */
static bool stream_make(struct stream *stream, const struct call *calls, size_t count)
{
	size_t writes = 0;

	while (writes < count && calls[writes].is_write)
		writes++;
	for (size_t i = 1; i < count; i++)
		if (i != writes && calls[i].clock != calls[i - 1].clock)
			return false;
	*stream = (struct stream){ .writer = writes ? calls[0].clock : NO_INDEX,
				   .reader = writes < count ? calls[writes].clock : NO_INDEX };
	if (!writes || writes == count || stream->writer == stream->reader)
		return false;
	stream->writes = messages_of(calls, writes);
	stream->write_count = writes;
	stream->reads = messages_of(calls + writes, count - writes);
	stream->read_count = count - writes;
	return true;
}

static void connection_free(struct connection *connection)
{
	for (size_t i = 0; i < 2; i++) {
		free(connection->streams[i].writes);
		free(connection->streams[i].reads);
	}
}

/* Calls of one connection. False: it was not recorded on two machines. */
static bool connection_make(struct connection *connection, const struct call *calls, size_t count)
{
	bool has_any = false;

	*connection = (struct connection){ 0 };
	for (size_t from = 0, to; from < count; from = to) {
		struct stream stream;

		for (to = from; to < count && calls[to].stream == calls[from].stream; to++)
			connection->is_new |= calls[to].is_new;
		if (!stream_make(&stream, calls + from, to - from))
			continue;
		has_any = true;
		struct stream *place = &connection->streams[stream.writer > stream.reader];

		free(place->writes);
		free(place->reads);
		*place = stream;
	}
	return has_any;
}

/* --- bounds --- */

static void bound_add(struct clock_bound **list, size_t *count, size_t *room, double at_ns,
		      double offset_ns)
{
	*list = memory_grow(*list, room, *count + 1, sizeof(**list));
	(*list)[(*count)++] = (struct clock_bound){ at_ns, offset_ns };
}

static void bounds_add(struct crossing *crossing, const struct stream *stream, int64_t base)
{
	bool is_back = stream->writer == crossing->to;
	size_t write = 0;

	for (size_t i = 0; i < stream->read_count; i++) {
		const struct message *read = &stream->reads[i];

		if (read->end + base <= 0)
			continue;
		while (write < stream->write_count && stream->writes[write].end < read->end + base)
			write++;
		if (write == stream->write_count)
			return;
		double sent_ns = stream->writes[write].at_ns;

		if (is_back)
			bound_add(&crossing->most, &crossing->most_count, &crossing->most_room,
				  sent_ns, read->at_ns - sent_ns);
		else
			bound_add(&crossing->least, &crossing->least_count, &crossing->least_room,
				  read->at_ns, sent_ns - read->at_ns);
	}
}

static void take(struct crossing *crossing, const struct connection *connection,
		 const struct choice *choice, struct range *range)
{
	bounds_add(crossing, &connection->streams[0], choice->there.bytes);
	bounds_add(crossing, &connection->streams[1], choice->back.bytes);
	range->least_ns = fmax(range->least_ns, choice->there.late_ns);
	range->most_ns = fmin(range->most_ns, -choice->back.late_ns);
}

/* Both ends count from the first byte. */
static bool take_new(struct crossing *crossing, const struct connection *connection,
		     struct range *range)
{
	struct choice choice = { .there = crossing_base_judge(&connection->streams[0], 0),
				 .back = crossing_base_judge(&connection->streams[1], 0) };

	if (!connection->is_new || choice.there.matched + choice.back.matched == 0 ||
	    !crossing_fits(&choice.there, &choice.back, range))
		return false;
	take(crossing, connection, &choice, range);
	return true;
}

static bool take_guessed(struct crossing *crossing, const struct connection *connection,
			 struct range *range)
{
	struct choice choice = crossing_choose(connection, range);
	bool has_any = !isinf(choice.taken_ns);

	if (has_any)
		take(crossing, connection, &choice, range);
	return has_any;
}

static int64_t bytes_of(const struct message *messages, size_t count)
{
	return count ? messages[count - 1].end : 0;
}

/* From the first byte to the last: there is no base to be found. */
static bool is_whole(const struct connection *connection)
{
	bool is_whole = connection->is_new;

	for (size_t i = 0; i < 2; i++) {
		const struct stream *stream = &connection->streams[i];

		is_whole &= bytes_of(stream->writes, stream->write_count) ==
			    bytes_of(stream->reads, stream->read_count);
	}
	return is_whole;
}

/* --- pairs of machines --- */

static size_t size_of(const struct connection *connection)
{
	return connection->streams[0].read_count + connection->streams[1].read_count;
}

/* Those with the most messages first. */
static int compare_connections(const void *left, const void *right)
{
	size_t a = size_of(left), b = size_of(right);

	return (a < b) - (a > b);
}

static void crossing_fill(struct crossing *crossing, struct connection *connections, size_t count)
{
	struct range range = { -INFINITY, INFINITY };
	size_t taken = 0, begun = 0;

	qsort(connections, count, sizeof(*connections), compare_connections);
	crossing->connections = count;
	for (size_t i = 0; i < count; i++) {
		begun += connections[i].is_new;
		taken += take_new(crossing, &connections[i], &range);
	}
	crossing->unmatched = taken ? begun - taken : 0;
	crossing->is_guessed = !taken;
	for (size_t i = 0; !taken && i < count && i < GUESSED_CONNECTIONS; i++)
		crossing->unmatched += is_whole(&connections[i]) ||
				       !take_guessed(crossing, &connections[i], &range);
}

/* Connections in order of their machines. */
struct pairing {
	struct connection *list;
	size_t count;
	size_t room;
};

static void ends_of(const struct connection *connection, uint32_t *from, uint32_t *to)
{
	const struct stream *stream = &connection->streams[connection->streams[0].read_count == 0];

	*from = stream->writer < stream->reader ? stream->writer : stream->reader;
	*to = stream->writer < stream->reader ? stream->reader : stream->writer;
}

static int compare_ends(const void *left, const void *right)
{
	uint32_t a[2], b[2];

	ends_of(left, &a[0], &a[1]);
	ends_of(right, &b[0], &b[1]);
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] > b[1]) - (a[1] < b[1]);
}

static void pairing_collect(struct pairing *pairing, const struct calls *calls)
{
	for (size_t from = 0, to; from < calls->count; from = to) {
		struct connection connection;

		for (to = from; to < calls->count &&
				calls->list[to].connection == calls->list[from].connection;)
			to++;
		if (!connection_make(&connection, calls->list + from, to - from))
			continue;
		pairing->list = memory_grow(pairing->list, &pairing->room, pairing->count + 1,
					    sizeof(*pairing->list));
		pairing->list[pairing->count++] = connection;
	}
	if (pairing->count)
		qsort(pairing->list, pairing->count, sizeof(*pairing->list), compare_ends);
}

void crossings_find(struct crossings *crossings, const struct recording *rec)
{
	struct calls calls = { 0 };
	struct pairing pairing = { 0 };

	*crossings = (struct crossings){ 0 };
	calls_collect(&calls, rec);
	pairing_collect(&pairing, &calls);
	for (size_t from = 0, to; from < pairing.count; from = to) {
		struct crossing crossing = { 0 };

		for (to = from; to < pairing.count &&
				compare_ends(&pairing.list[from], &pairing.list[to]) == 0;)
			to++;
		ends_of(&pairing.list[from], &crossing.from, &crossing.to);
		crossing_fill(&crossing, pairing.list + from, to - from);
		crossings->crossings =
			memory_grow(crossings->crossings, &crossings->room, crossings->count + 1,
				    sizeof(*crossings->crossings));
		crossings->crossings[crossings->count++] = crossing;
	}
	for (size_t i = 0; i < pairing.count; i++)
		connection_free(&pairing.list[i]);
	free(pairing.list);
	free(calls.list);
}

void crossings_free(struct crossings *crossings)
{
	for (size_t i = 0; i < crossings->count; i++) {
		free(crossings->crossings[i].least);
		free(crossings->crossings[i].most);
	}
	free(crossings->crossings);
	*crossings = (struct crossings){ 0 };
}

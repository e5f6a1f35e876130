/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes up the clients that are not recorded; clients.h has the contract.
 *
 * Method. Its server's reads and writes in order of time are the client's sends and receipts. All
 * reads up to the next write are one send, but for reads that waited: these began with a send of
 * their own.
 *
 * A datagram is a send or receipt of its own.
 *
 * A send came no later than its read returned, or the poll that found it. It came no earlier than
 * the answer before it. Nor did it before the thread's last poll that returned all that was ready.
 * Where the call took long the server was waiting: the send came as the call returned. Where it
 * took most of the time between, it came about then. Other sends get a time in between
 * (clients_times.c).
 *
 * One thread.
 */
#include "clients.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "clients_parts.h"
#include "flows_names.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct seeking {
	const struct recording *rec;
	struct client_ends ends;
	struct served *served; /* by connection, then time */
	size_t served_count;
	struct clients_polls polls;
	struct clients_polls whole;   /* of these: what they did not find came later */
	struct clients_polls accepts; /* the same of accepts that found a connection */
	uint32_t *accept_of;          /* by connection, NO_INDEX = it is older than the recording */
	struct knock *knocks;
	size_t knock_count;
	uint32_t *handed; /* by read: the poll of another thread that found it, NO_INDEX = none */
	struct doing *doings;
	size_t doing_count;
	size_t doing_room;
};

/* --- what their servers did --- */

static int compare_served(const void *left, const void *right)
{
	const struct served *a = left, *b = right;

	if (a->connection != b->connection)
		return a->connection < b->connection ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static void served_find(struct seeking *seeking)
{
	const struct recording *rec = seeking->rec;
	struct client_ends *ends = &seeking->ends;
	size_t room = 0;

	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		uint32_t connection = client_ends_connection(ends, i);

		if (connection == NO_INDEX)
			continue;
		bool is_write = flow_direction_of(rec->strings[op->name]) == FLOW_WRITE;

		seeking->served = memory_grow(seeking->served, &room, seeking->served_count + 1,
					      sizeof(*seeking->served));
		seeking->served[seeking->served_count++] =
			(struct served){ is_write ? op->start_ns : op->end_ns, i, connection,
					 is_write };
	}
	if (!seeking->served_count)
		return;
	qsort(seeking->served, seeking->served_count, sizeof(*seeking->served), compare_served);
	clients_split(ends, seeking->served, seeking->served_count);
	qsort(seeking->served, seeking->served_count, sizeof(*seeking->served), compare_served);
}

/* --- polls that found what was read --- */

static int compare_polls(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	const struct rec_op *a = &ops[*(const uint32_t *)left], *b = &ops[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static void poll_add(struct clients_polls *polls, size_t *room, uint32_t op)
{
	polls->polls = memory_grow(polls->polls, room, polls->count + 1, sizeof(*polls->polls));
	polls->polls[polls->count++] = op;
}

static void polls_sort(const struct clients_polls *polls)
{
	if (polls->count)
		qsort_r(polls->polls, polls->count, sizeof(*polls->polls), compare_polls,
			polls->rec->ops);
}

static void polls_find(struct seeking *seeking)
{
	const struct recording *rec = seeking->rec;
	size_t room = 0, whole_room = 0, accept_room = 0;

	seeking->polls.rec = seeking->whole.rec = seeking->accepts.rec = rec;
	for (uint32_t i = 0; i < rec->op_count; i++) {
		if (clients_is_accept(rec, i))
			poll_add(&seeking->accepts, &accept_room, i);
		if (rec->ops[i].kind != KIND_POLL || rec->ops[i].thread == NO_INDEX ||
		    rec->extras[i].open || !rec->extras[i].amount || rec_waits_for_signal(rec, i))
			continue;
		poll_add(&seeking->polls, &room, i);
		if (rec_polls_all(rec, i))
			poll_add(&seeking->whole, &whole_room, i);
	}
	polls_sort(&seeking->polls);
	polls_sort(&seeking->whole);
	polls_sort(&seeking->accepts);
}

size_t clients_poll_before(const struct clients_polls *polls, uint32_t thread, uint64_t until_ns)
{
	const struct rec_op *ops = polls->rec->ops;
	size_t low = 0, high = polls->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_op *poll = &ops[polls->polls[middle]];

		if (poll->thread < thread || (poll->thread == thread && poll->end_ns <= until_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && ops[polls->polls[low - 1]].thread == thread ? low - 1 : SIZE_MAX;
}

/* Of a thread the last one that had returned by then; NO_INDEX = there is none. */
static uint32_t poll_before(const struct seeking *seeking, uint32_t thread, uint64_t until_ns)
{
	size_t at = clients_poll_before(&seeking->polls, thread, until_ns);

	return at == SIZE_MAX ? NO_INDEX : seeking->polls.polls[at];
}

/* The same before a read, and behind `after_ns`. One for another descriptor alone says nothing. */
static uint32_t poll_of_read(const struct seeking *seeking, uint32_t read, uint64_t after_ns)
{
	const struct rec_op *ops = seeking->rec->ops;
	uint32_t poll = poll_before(seeking, ops[read].thread, ops[read].start_ns);

	return poll != NO_INDEX && ops[poll].end_ns > after_ns &&
			       (rec_polls_many(seeking->rec, poll) ||
				ops[poll].ident == ops[read].ident)
		       ? poll
		       : NO_INDEX;
}

/* The end of what was done before on the same connection; 0 = nothing was. */
static uint64_t before_ns(const struct seeking *seeking, size_t served)
{
	const struct served *now = &seeking->served[served];

	return served && now[-1].connection == now->connection
		       ? seeking->rec->ops[now[-1].op].end_ns
		       : 0;
}

/* Reads with which questions begin, by threads that do not poll. */
static void handed_find(struct seeking *seeking)
{
	const struct recording *rec = seeking->rec;
	struct handed_read *reads = memory_new(seeking->served_count, sizeof(*reads));
	size_t count = 0;

	seeking->handed = memory_new(seeking->served_count, sizeof(*seeking->handed));
	for (size_t i = 0; i < seeking->served_count; i++) {
		const struct served *read = &seeking->served[i];
		const struct rec_op *op = &rec->ops[read->op];
		uint64_t after_ns = before_ns(seeking, i);

		seeking->handed[i] = NO_INDEX;
		if (!read->is_write && (!after_ns || read[-1].is_write) &&
		    poll_of_read(seeking, read->op, after_ns) == NO_INDEX)
			reads[count++] = (struct handed_read){ after_ns, op->start_ns,
							       rec->threads[op->thread].process,
							       (uint32_t)i };
	}
	if (seeking->polls.count)
		clients_hand(&seeking->polls, reads, count, seeking->handed);
	free(reads);
}

static void connects_find(struct seeking *seeking)
{
	uint64_t *first_ns = memory_new(seeking->ends.count, sizeof(*first_ns));

	for (size_t i = seeking->served_count; i-- > 0;)
		first_ns[seeking->served[i].connection] =
			seeking->rec->ops[seeking->served[i].op].start_ns;
	seeking->accept_of = memory_new(seeking->ends.count, sizeof(*seeking->accept_of));
	seeking->knock_count = clients_accepts_find(&seeking->ends, first_ns, seeking->accept_of,
						    &seeking->knocks);
	free(first_ns);
}

/* --- what the clients did --- */

/* When a call's bytes or connection came, if nothing did between `after_ns` and it. NO_INDEX: no
 * poll found that. */
static struct doing coming_of(const struct seeking *seeking, uint32_t call, uint32_t poll,
			      uint64_t after_ns)
{
	const struct rec_op *ops = seeking->rec->ops, *op = &ops[poll == NO_INDEX ? call : poll];
	uint64_t early_ns = after_ns;
	size_t before = poll == NO_INDEX
				? SIZE_MAX
				: clients_poll_before(&seeking->whole, op->thread, op->start_ns);

	/* which would have found it */
	if (before != SIZE_MAX && ops[seeking->whole.polls[before]].end_ns > early_ns)
		early_ns = ops[seeking->whole.polls[before]].end_ns;
	early_ns = early_ns < op->end_ns ? early_ns : op->end_ns;
	uint64_t since_ns = op->start_ns > early_ns ? op->start_ns : early_ns;
	uint64_t waited_ns = op->end_ns - since_ns;

	return (struct doing){ .at_ns = op->end_ns,
			       .due_ns = op->end_ns,
			       .early_ns = early_ns,
			       .late_ns = op->end_ns,
			       .op = call,
			       .is_exact = waited_ns > assume.copy,
			       .is_near = waited_ns > since_ns - early_ns };
}

/* The bytes of a read. */
static struct doing send_of(const struct seeking *seeking, const struct served *read,
			    uint64_t after_ns)
{
	uint32_t poll = poll_of_read(seeking, read->op, after_ns);

	if (poll == NO_INDEX)
		poll = seeking->handed[read - seeking->served];
	struct doing send = coming_of(seeking, read->op, poll, after_ns);

	send.bytes = seeking->rec->extras[read->op].amount;
	send.messages = seeking->rec->extras[read->op].messages;
	send.connection = read->connection;
	send.found_by = poll;
	send.is_send = true;
	return send;
}

static void doing_add(struct seeking *seeking, const struct doing *doing)
{
	seeking->doings = memory_grow(seeking->doings, &seeking->doing_room,
				      seeking->doing_count + 1, sizeof(*seeking->doings));
	seeking->doings[seeking->doing_count++] = *doing;
}

static void write_look_at(struct seeking *seeking, const struct served *write, bool is_more)
{
	const struct rec_op *op = &seeking->rec->ops[write->op];
	struct doing got = { .at_ns = op->end_ns + 1, /* the write did not wait for it */
			     .bytes = seeking->rec->extras[write->op].amount,
			     .messages = seeking->rec->extras[write->op].messages,
			     .op = write->op,
			     .connection = write->connection };

	if (is_more) {
		struct doing *last = &seeking->doings[seeking->doing_count - 1];

		got.bytes += last->bytes;
		*last = got;
	} else {
		doing_add(seeking, &got);
	}
}

/* The poll that found the connection. Once another one was accepted, it may have come later. */
static uint32_t poll_of_accept(const struct seeking *seeking, uint32_t accept)
{
	const struct rec_op *ops = seeking->rec->ops, *op = &ops[accept];
	uint32_t poll = poll_of_read(seeking, accept, 0);
	size_t before = clients_poll_before(&seeking->accepts, op->thread, op->start_ns);

	return poll != NO_INDEX && before != SIZE_MAX &&
			       ops[seeking->accepts.polls[before]].end_ns > ops[poll].end_ns
		       ? NO_INDEX
		       : poll;
}

static void connect_add(struct seeking *seeking, uint32_t connection, uint32_t accept)
{
	struct doing connect = coming_of(seeking, accept, poll_of_accept(seeking, accept), 0);

	connect.connection = connection;
	connect.is_connect = true;
	doing_add(seeking, &connect);
}

/* The connection came about before its first bytes; false: before the recording. */
static bool connect_look_at(struct seeking *seeking, uint32_t connection)
{
	uint32_t accept = seeking->accept_of[connection];

	if (accept != NO_INDEX)
		connect_add(seeking, connection, accept);
	return accept != NO_INDEX;
}

static void read_look_at(struct seeking *seeking, const struct served *read,
			 const struct served *before, bool is_accepted)
{
	const struct doing *last =
		before || is_accepted ? &seeking->doings[seeking->doing_count - 1] : NULL;
	uint64_t after_ns = before        ? seeking->rec->ops[before->op].end_ns
			    : is_accepted ? last->at_ns
					  : 0;
	struct doing send = send_of(seeking, read, after_ns);

	bool is_datagram = seeking->ends.ends[read->connection].peer;

	send.is_first = !before || before->is_write;
	send.is_new = !last && is_datagram;
	if (!send.is_first && !send.is_exact && !is_datagram) {
		seeking->doings[seeking->doing_count - 1].bytes += send.bytes;
		return;
	}
	send.is_exact = send.is_exact || (!last && !is_datagram);
	/* the answer, or the connection, is there by then */
	if (last && send.is_first) {
		struct doing *got = &seeking->doings[seeking->doing_count - 1];

		got->at_ns = got->at_ns < read->at_ns ? got->at_ns : read->at_ns;
		send.answered_ns = before ? got->at_ns : 0;
		send.early_ns = send.early_ns > got->at_ns ? send.early_ns : got->at_ns;
		send.late_ns = send.late_ns > send.early_ns ? send.late_ns : send.early_ns;
		send.at_ns = send.due_ns = send.late_ns;
	}
	doing_add(seeking, &send);
}

static void doings_find(struct seeking *seeking)
{
	for (size_t i = 0; i < seeking->served_count; i++) {
		const struct served *served = &seeking->served[i];
		const struct served *before =
			i && served[-1].connection == served->connection ? &served[-1] : NULL;

		bool is_accepted = !before && connect_look_at(seeking, served->connection);

		if (served->is_write)
			write_look_at(seeking, served,
				      before && before->is_write &&
					      !seeking->ends.ends[served->connection].peer);
		else
			read_look_at(seeking, served, before, is_accepted);
	}
}

/* Connections that waited for the server at the end are clients' as all others. */
static void waiting_add(struct seeking *seeking)
{
	size_t kept = 0;

	for (size_t i = 0; i < seeking->knock_count; i++) {
		const struct knock knock = seeking->knocks[i];

		if (!knock.is_waiting) {
			seeking->knocks[kept++] = knock;
			continue;
		}
		uint32_t connection = client_ends_add(&seeking->ends, knock.like);

		seeking->ends.ends[connection].ident =
			seeking->rec->extras[knock.accept].other_ident;
		connect_add(seeking, connection, knock.accept);
	}
	seeking->knock_count = kept;
}

/* One more client has the other connections without bytes, each at its time. */
static void knocks_add(struct seeking *seeking, struct doings *doings)
{
	for (size_t i = 0; i < seeking->knock_count; i++) {
		const struct knock *knock = &seeking->knocks[i];
		uint32_t connection = client_ends_add(&seeking->ends, knock->like);

		doings->client_of[connection] = (uint32_t)doings->client_count;
		connect_add(seeking, connection, knock->accept);
	}
	doings->client_count += seeking->knock_count > 0;
	doings->ends = seeking->ends.ends;
	doings->connection_count = seeking->ends.count;
	doings->list = seeking->doings;
	doings->count = seeking->doing_count;
}

void clients_build(struct clients *clients, const struct recording *rec,
		   const struct class_table *classes, struct clients_wanted wanted)
{
	struct seeking seeking = { .rec = rec };

	assert(rec->extras && rec->thread_count);
	*clients = (struct clients){ .sort = CLIENTS_CLOSED };
	client_ends_find(&seeking.ends, rec);
	if (seeking.ends.count) {
		served_find(&seeking);
		polls_find(&seeking);
		handed_find(&seeking);
		connects_find(&seeking);
		doings_find(&seeking);
		waiting_add(&seeking);
		clients_time(clients, rec, wanted, seeking.doings, seeking.doing_count);
		uint32_t *client_of =
			memory_new(seeking.ends.count + seeking.knock_count, sizeof(*client_of));
		struct doings doings = { .rec = rec,
					 .ends = seeking.ends.ends,
					 .connection_count = seeking.ends.count,
					 .client_of = client_of,
					 .list = seeking.doings,
					 .count = seeking.doing_count };

		clients->asker_count = doings.client_count =
			clients_connect(clients, wanted, &doings);
		knocks_add(&seeking, &doings);
		clients_record(clients, &doings, classes);
		free(client_of);
	}
	client_ends_free(&seeking.ends);
	free(seeking.served);
	free(seeking.polls.polls);
	free(seeking.whole.polls);
	free(seeking.accepts.polls);
	free(seeking.handed);
	free(seeking.accept_of);
	free(seeking.knocks);
	free(seeking.doings);
}

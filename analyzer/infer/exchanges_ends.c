/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of connections, what went through them, and who serves; exchanges_parts.h has the
 * contract.
 *
 * Method. An end is known by what its descriptor is called, whichever thread or process uses it. A
 * name that many connections share says too little: there a process and a descriptor are an end.
 *
 * An end serves if its connection was accepted, and asks if it connected. The other end of one that
 * serves asks. For a connection that is older than the recording, the address tells: one that many
 * connections share is the server's. Where nothing else is known the first writer asks.
 *
 * A socket for datagrams serves in each thread of its own, if its first datagram came in.
 *
 * One thread.
 */
#include "exchanges_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "flows_names.h"
#include "format.h"
#include "recording/addresses.h"

/* Kinds of names, by string. */
enum name_sort { NAME_OTHER, NAME_STREAM, NAME_CROWDED, NAME_DATAGRAM };

struct gathering {
	const struct recording *rec;
	const struct flows *flows;
	struct flow_names names;
	struct connection_ends *ends;
	struct addresses keys; /* of ends, by index */
	uint8_t *sorts;        /* by string */
	uint64_t *names_of;    /* by string: of the stream that is written there, 0 = none */
	size_t end_room, event_room;
	struct addresses locals;  /* local addresses of ends */
	struct addresses remotes; /* remote ones */
	uint32_t *local_counts;
	uint32_t *remote_counts;
};

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static enum name_sort sort_of(const char *ident)
{
	size_t bytes = strlen(ident);

	if (begins_with(ident, "udp "))
		return NAME_DATAGRAM;
	if (begins_with(ident, "unix:") ||
	    (begins_with(ident, "unix ") && !strstr(ident, " listen ") &&
	     !begins_with(ident, "unix dgram") && !begins_with(ident, "unix seqpacket")))
		return strchr(ident, '#') || strchr(ident, '[') ? NAME_STREAM : NAME_CROWDED;
	if (!begins_with(ident, "tcp ") || !strchr(ident, '>'))
		return NAME_OTHER;
	return begins_with(ident, "tcp *>") || ident[bytes - 1] == '*' ? NAME_CROWDED : NAME_STREAM;
}

/* --- ends and their events --- */

static uint32_t end_of(struct gathering *gathering, uint32_t op, uint32_t ident, int32_t fd)
{
	const struct recording *rec = gathering->rec;
	struct connection_ends *ends = gathering->ends;
	enum name_sort sort = (enum name_sort)gathering->sorts[ident];
	uint32_t thread = rec->ops[op].thread, process = rec->threads[thread].process, end;

	if (sort == NAME_OTHER || (sort == NAME_CROWDED && fd < 0))
		return NO_INDEX;
	if (sort == NAME_CROWDED)
		end = addresses_add(&gathering->keys, process,
				    (uint64_t)ident << 32 | (uint32_t)fd);
	else if (sort == NAME_DATAGRAM)
		end = addresses_add(&gathering->keys, thread, (uint64_t)ident << 32 | UINT32_MAX);
	else if (gathering->names_of[ident])
		end = addresses_add(&gathering->keys, NO_INDEX, gathering->names_of[ident]);
	else
		end = addresses_add(&gathering->keys, NO_INDEX, ident);
	if (end < ends->count)
		return end;
	ends->ends =
		memory_grow(ends->ends, &gathering->end_room, ends->count + 1, sizeof(*ends->ends));
	ends->ends[ends->count++] = (struct connection_end){ .ident = ident,
							     .peer = NO_INDEX,
							     .is_crowded = sort == NAME_CROWDED };
	return end;
}

static void event_add(struct gathering *gathering, const struct end_event *event)
{
	struct connection_ends *ends = gathering->ends;

	ends->events = memory_grow(ends->events, &gathering->event_room, ends->event_count + 1,
				   sizeof(*ends->events));
	ends->events[ends->event_count++] = *event;
}

/* A call may say by itself what its end's role is. */
static void role_note(const struct gathering *gathering, struct connection_end *end, uint32_t op,
		      bool connects)
{
	if (gathering->sorts[end->ident] == NAME_DATAGRAM)
		return;
	if (connects)
		end->role = ROLE_ASKS;
	else if (gathering->rec->extras[op].accepted && end->role == ROLE_UNKNOWN)
		end->role = ROLE_SERVES;
}

static void side_look_at(struct gathering *gathering, uint32_t op, bool is_other)
{
	const struct recording *rec = gathering->rec;
	const struct rec_op_extra *extra = &rec->extras[op];
	const char *call = rec->strings[rec->ops[op].name];
	uint32_t ident = is_other ? extra->other_ident : rec->ops[op].ident;
	enum flow_direction direction =
		is_other ? flow_other_direction_of(call) : flow_direction_of(call);
	bool connects = !is_other && strstr(call, "connect");
	bool closes = !is_other && begins_with(call, "close");

	if (!ident || gathering->sorts[ident] == NAME_OTHER ||
	    (direction == FLOW_NONE && !connects && !closes))
		return;
	if (gathering->sorts[ident] == NAME_DATAGRAM &&
	    (connects || gathering->flows->transfer_of[op] != NO_INDEX))
		return;
	uint32_t end = end_of(gathering, op, ident, is_other ? -1 : extra->fd);
	if (end == NO_INDEX)
		return;
	role_note(gathering, &gathering->ends->ends[end], op, connects);
	bool is_write = direction == FLOW_WRITE, is_none = !extra->amount;
	if (connects || (!closes && is_none && is_write))
		return;
	struct end_event event = { .at_ns = is_write ? rec->ops[op].start_ns : rec->ops[op].end_ns,
				   .op = op,
				   .end = end,
				   .sort = closes     ? END_CLOSED
					   : is_write ? END_WRITTEN
					   : is_none  ? END_EMPTY
						      : END_READ,
				   .is_other = is_other };
	event_add(gathering, &event);
}

static int compare_events(const void *left, const void *right)
{
	const struct end_event *a = left, *b = right;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static void events_gather(struct gathering *gathering)
{
	const struct recording *rec = gathering->rec;
	struct connection_ends *ends = gathering->ends;

	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (rec->ops[op].kind != KIND_IO || rec->ops[op].thread == NO_INDEX ||
		    rec->extras[op].open)
			continue;
		side_look_at(gathering, op, false);
		if (rec->extras[op].other_ident)
			side_look_at(gathering, op, true);
	}
	if (ends->event_count)
		qsort(ends->events, ends->event_count, sizeof(*ends->events), compare_events);
	for (size_t i = ends->event_count; i-- > 0;) {
		struct connection_end *end = &ends->ends[ends->events[i].end];

		end->first_event = i;
		if (!end->event_count++)
			end->is_closed = ends->events[i].sort == END_CLOSED;
	}
}

/* --- roles --- */

static void peers_find(struct gathering *gathering)
{
	struct connection_ends *ends = gathering->ends;

	for (uint32_t i = 0; i < ends->count; i++) {
		struct connection_end *end = &ends->ends[i];
		uint64_t name = gathering->sorts[end->ident] == NAME_STREAM
					? flow_names_stream(&gathering->names, end->ident, false)
					: 0;

		if (name)
			end->peer = addresses_find(&gathering->keys, NO_INDEX, name);
	}
}

static enum end_role other_role(enum end_role role)
{
	return role == ROLE_ASKS ? ROLE_SERVES : role == ROLE_SERVES ? ROLE_ASKS : ROLE_UNKNOWN;
}

static void roles_of_peers(struct connection_ends *ends)
{
	for (uint32_t i = 0; i < ends->count; i++) {
		struct connection_end *end = &ends->ends[i];

		if (end->role == ROLE_UNKNOWN && end->peer != NO_INDEX)
			end->role = other_role(ends->ends[end->peer].role);
	}
}

/* "tcp LOCAL>REMOTE". False: it is none. */
static bool places_of(const char *ident, uint64_t *local, uint64_t *remote)
{
	const char *start = ident + strlen("tcp "), *middle = strchr(ident, '>');

	if (!begins_with(ident, "tcp ") || !middle)
		return false;
	*local = hash_bytes(HASH_START, start, (size_t)(middle - start));
	*remote = hash_bytes(HASH_START, middle + 1, strlen(middle + 1));
	return true;
}

/* Of how many ends an address is the local one, and of how many the remote one. */
static void places_count(struct gathering *gathering)
{
	const struct connection_ends *ends = gathering->ends;
	uint64_t local, remote;

	gathering->local_counts = memory_new(ends->count, sizeof(*gathering->local_counts));
	gathering->remote_counts = memory_new(ends->count, sizeof(*gathering->remote_counts));
	for (uint32_t i = 0; i < ends->count; i++) {
		if (!places_of(gathering->rec->strings[ends->ends[i].ident], &local, &remote))
			continue;
		gathering->local_counts[addresses_add(&gathering->locals, 0, local)]++;
		gathering->remote_counts[addresses_add(&gathering->remotes, 0, remote)]++;
	}
}

static enum end_role role_by_place(const struct gathering *gathering, uint32_t ident)
{
	uint64_t local, remote;

	if (!places_of(gathering->rec->strings[ident], &local, &remote))
		return ROLE_UNKNOWN;
	uint32_t here = gathering->local_counts[addresses_find(&gathering->locals, 0, local)];
	uint32_t there = gathering->remote_counts[addresses_find(&gathering->remotes, 0, remote)];

	return here > there ? ROLE_SERVES : there > here ? ROLE_ASKS : ROLE_UNKNOWN;
}

/* The first of an end's events that moved bytes; NULL: none did. */
static const struct end_event *first_moved(const struct connection_ends *ends, uint32_t index)
{
	const struct connection_end *end = &ends->ends[index];

	for (size_t i = end->first_event; i < end->first_event + end->event_count; i++)
		if (ends->events[i].sort == END_READ || ends->events[i].sort == END_WRITTEN)
			return &ends->events[i];
	return NULL;
}

/* The first writer asks. */
static enum end_role role_by_words(const struct connection_ends *ends, uint32_t index)
{
	const struct end_event *first = first_moved(ends, index), *other = NULL;

	if (ends->ends[index].peer != NO_INDEX)
		other = first_moved(ends, ends->ends[index].peer);
	if (!first)
		return other && other->sort == END_READ ? ROLE_ASKS : ROLE_SERVES;
	if (first->sort == END_READ)
		return ROLE_SERVES;
	return other && other->sort == END_WRITTEN && other->at_ns < first->at_ns ? ROLE_SERVES
										  : ROLE_ASKS;
}

static void roles_find(struct gathering *gathering)
{
	struct connection_ends *ends = gathering->ends;

	roles_of_peers(ends);
	places_count(gathering);
	for (uint32_t i = 0; i < ends->count; i++)
		if (ends->ends[i].role == ROLE_UNKNOWN)
			ends->ends[i].role = role_by_place(gathering, ends->ends[i].ident);
	for (uint32_t i = 0; i < ends->count; i++) {
		struct connection_end *end = &ends->ends[i];

		if (end->role == ROLE_UNKNOWN)
			end->role = role_by_words(ends, i);
		/* nobody knows who answers a datagram */
		if (gathering->sorts[end->ident] == NAME_DATAGRAM && end->role == ROLE_ASKS)
			end->role = ROLE_UNKNOWN;
	}
}

void connection_ends_build(struct connection_ends *ends, const struct recording *rec,
			   const struct flows *flows)
{
	struct gathering gathering = { .rec = rec, .flows = flows, .ends = ends };

	*ends = (struct connection_ends){ 0 };
	flow_names_build(&gathering.names, rec);
	gathering.sorts = memory_new(rec->string_count, sizeof(*gathering.sorts));
	gathering.names_of = memory_new(rec->string_count, sizeof(*gathering.names_of));
	for (uint32_t i = 0; i < rec->string_count; i++) {
		gathering.sorts[i] = (uint8_t)sort_of(rec->strings[i]);
		if (gathering.sorts[i] == NAME_STREAM)
			gathering.names_of[i] = flow_names_stream(&gathering.names, i, true);
	}
	events_gather(&gathering);
	peers_find(&gathering);
	roles_find(&gathering);
	free(gathering.sorts);
	free(gathering.names_of);
	free(gathering.local_counts);
	free(gathering.remote_counts);
	addresses_free(&gathering.keys);
	addresses_free(&gathering.locals);
	addresses_free(&gathering.remotes);
	flow_names_free(&gathering.names);
}

void connection_ends_free(struct connection_ends *ends)
{
	free(ends->ends);
	free(ends->events);
	*ends = (struct connection_ends){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections whose other end is missing; clients_parts.h has the contract.
 *
 * Method. A connection is a client's if it was accepted, and no recorded call writes what is read
 * from it. Of a connection of the unix kind the other end is made up with its name. Where recorded
 * programs ask for most connections to an address, they have the others, too. Those were there
 * before.
 *
 * A socket for datagrams has clients if the first one came in, and it answers. Each address that it
 * gets some from is a client's, so all of them must be known. No recorded call sends to it.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "flows_names.h"
#include "format.h"
#include "recording/addresses.h"
#include "recording/hosts.h"

static int compare_names(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool moves_bytes(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_IO && rec->ops[op].thread != NO_INDEX &&
	       rec->ops[op].ident && !rec->extras[op].open && rec->extras[op].amount &&
	       rec->ops[op].outcome != OUTCOME_ERROR &&
	       flow_direction_of(rec->strings[rec->ops[op].name]) != FLOW_NONE;
}

static bool is_write(const struct recording *rec, uint32_t op)
{
	return flow_direction_of(rec->strings[rec->ops[op].name]) == FLOW_WRITE;
}

uint32_t client_ends_add(struct client_ends *ends, uint32_t like)
{
	const struct client_end end = ends->ends[like];

	ends->ends = memory_grow(ends->ends, &ends->room, ends->count + 1, sizeof(*ends->ends));
	ends->ends[ends->count] = end;
	return (uint32_t)ends->count++;
}

static void end_add(struct client_ends *ends, uint32_t ident, uint32_t peer)
{
	ends->ends = memory_grow(ends->ends, &ends->room, ends->count + 1, sizeof(*ends->ends));
	ends->ends[ends->count++] = (struct client_end){ ident, peer };
}

/* --- streams --- */

/* By ident: whether it is that of an accepted connection that bytes went through. */
static bool *accepted_find(const struct recording *rec, bool *is_used)
{
	bool *is_accepted = memory_new(rec->string_count, sizeof(*is_accepted));

	for (uint32_t i = 0; i < rec->op_count; i++) {
		if (!moves_bytes(rec, i))
			continue;
		is_used[rec->ops[i].ident] = true;
		is_accepted[rec->ops[i].ident] |= rec->extras[i].accepted;
	}
	return is_accepted;
}

/* Of all streams that bytes were moved through: their names to those who write. */
static uint64_t *written_find(const struct flow_names *names, const bool *is_used, size_t *count)
{
	const struct recording *rec = names->recording;
	uint64_t *written = memory_new(rec->string_count, sizeof(*written));

	*count = 0;
	for (uint32_t i = 1; i < rec->string_count; i++) {
		uint64_t name = is_used[i] ? flow_names_stream(names, i, true) : 0;

		if (name)
			written[(*count)++] = name;
	}
	if (*count)
		qsort(written, *count, sizeof(*written), compare_names);
	return written;
}

/* How many accepted connections to an address have a recorded program at the other end, less those
 * that have not. */
struct listeners {
	struct addresses names;
	int64_t *known;
	size_t room;
};

/* "unix PATH#INODE", "tcp ADDRESS>PEER": up to the mark. */
static uint64_t hash_of_address(const char *ident)
{
	const char *end = strrchr(ident, clients_is_unix(ident) ? '#' : '>');

	return hash_bytes(HASH_START, ident, end ? (size_t)(end - ident) : 0);
}

static int64_t *listener_of(struct listeners *listeners, const struct recording *rec,
			    uint32_t ident)
{
	size_t before = listeners->names.count;
	uint32_t index = addresses_add(&listeners->names, hosts_scope_of(rec, ident),
				       hash_of_address(rec->strings[ident]));

	listeners->known = memory_grow(listeners->known, &listeners->room, listeners->names.count,
				       sizeof(*listeners->known));
	if (listeners->names.count > before)
		listeners->known[index] = 0;
	return &listeners->known[index];
}

static void listeners_find(struct listeners *listeners, const struct recording *rec,
			   const bool *is_accepted, const bool *is_written)
{
	*listeners = (struct listeners){ .room = 0 };
	for (uint32_t i = 1; i < rec->string_count; i++)
		if (is_accepted[i])
			*listener_of(listeners, rec, i) += is_written[i] ? 1 : -1;
}

static void streams_find(struct client_ends *ends, const struct flow_names *names)
{
	const struct recording *rec = ends->rec;
	bool *is_used = memory_new(rec->string_count, sizeof(*is_used));
	bool *is_accepted = accepted_find(rec, is_used);
	bool *is_written = memory_new(rec->string_count, sizeof(*is_written));
	size_t written_count;
	uint64_t *written = written_find(names, is_used, &written_count);
	struct listeners listeners;

	for (uint32_t i = 1; i < rec->string_count; i++) {
		uint64_t name = is_accepted[i] ? flow_names_stream(names, i, false) : 0;

		is_written[i] = name && written_count &&
				bsearch(&name, written, written_count, sizeof(name), compare_names);
	}
	listeners_find(&listeners, rec, is_accepted, is_written);
	for (uint32_t i = 1; i < rec->string_count; i++) {
		if (!is_accepted[i] || is_written[i])
			continue;
		bool is_tcp = strncmp(rec->strings[i], "tcp ", 4) == 0;

		if ((is_tcp ? !flow_names_stream(names, i, false)
			    : !clients_is_unix(rec->strings[i])) ||
		    *listener_of(&listeners, rec, i) > 0)
			continue;
		ends->of_stream[i] = (uint32_t)ends->count;
		end_add(ends, i, 0);
	}
	addresses_free(&listeners.names);
	free(listeners.known);
	free(written);
	free(is_used);
	free(is_accepted);
	free(is_written);
}

/* --- datagrams --- */

/* Of a socket that datagrams of any address come to. */
struct datagrams {
	uint64_t read_ns; /* the first, UINT64_MAX = there is none */
	uint64_t written_ns;
	uint64_t name; /* of what is read */
	bool is_known; /* where each came from, of any address */
};

static bool is_udp(const char *ident)
{
	return strncmp(ident, "udp ", 4) == 0;
}

/* To all addresses. */
static bool is_open(const char *ident)
{
	size_t bytes = strlen(ident);

	return bytes > 2 && strcmp(ident + bytes - 2, ">*") == 0;
}

/* By ident. `written` gets the names of all that datagrams are sent to, in order. */
static struct datagrams *datagrams_find(const struct flow_names *names, uint64_t *written,
					size_t *written_count)
{
	const struct recording *rec = names->recording;
	struct datagrams *found = memory_new(rec->string_count, sizeof(*found));

	*written_count = 0;
	for (size_t i = 0; i < rec->string_count; i++)
		found[i] =
			(struct datagrams){ UINT64_MAX, UINT64_MAX, 0, is_open(rec->strings[i]) };
	for (uint32_t op = 0; op < rec->op_count; op++) {
		struct datagrams *of = &found[rec->ops[op].ident];

		if (!is_udp(rec->strings[rec->ops[op].ident]) || !moves_bytes(rec, op))
			continue;
		bool is_sent = is_write(rec, op);
		uint64_t name = flow_names_end(names, op, false).name;
		uint64_t at_ns = is_sent ? rec->ops[op].start_ns : rec->ops[op].end_ns;
		uint64_t *first_ns = is_sent ? &of->written_ns : &of->read_ns;

		*first_ns = at_ns < *first_ns ? at_ns : *first_ns;
		of->is_known &= is_sent || rec->extras[op].other_ident;
		if (is_sent)
			written[(*written_count)++] = name;
		else
			of->name = name;
	}
	if (*written_count)
		qsort(written, *written_count, sizeof(*written), compare_names);
	return found;
}

/* Ops of a socket that serves are its senders', each with a connection. */
static void senders_find(struct client_ends *ends, const struct flow_names *names)
{
	const struct recording *rec = ends->rec;
	uint64_t *written = memory_new(rec->op_count, sizeof(*written));
	size_t written_count;
	struct datagrams *found = datagrams_find(names, written, &written_count);

	ends->first_sender = ends->count;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		uint32_t ident = rec->ops[op].ident, peer = rec->extras[op].other_ident;
		const struct datagrams *of = &found[ident];

		if (of->read_ns >= of->written_ns || of->written_ns == UINT64_MAX ||
		    !of->is_known || !peer || !moves_bytes(rec, op) || is_write(rec, op) ||
		    bsearch(&of->name, written, written_count, sizeof(of->name), compare_names))
			continue;
		uint32_t sender = addresses_add(&ends->senders, ident, peer);

		if (ends->first_sender + sender == ends->count)
			end_add(ends, ident, peer);
	}
	free(written);
	free(found);
}

/* --- all --- */

void client_ends_find(struct client_ends *ends, const struct recording *rec)
{
	struct flow_names names;

	*ends = (struct client_ends){ .rec = rec };
	ends->of_stream = memory_new(rec->string_count, sizeof(*ends->of_stream));
	memset(ends->of_stream, 0xff, rec->string_count * sizeof(*ends->of_stream));
	flow_names_build(&names, rec);
	streams_find(ends, &names);
	senders_find(ends, &names);
	flow_names_free(&names);
}

uint32_t client_ends_connection(const struct client_ends *ends, uint32_t op)
{
	uint32_t ident = ends->rec->ops[op].ident;

	uint32_t connection = ends->of_stream[ident];

	if (connection == NO_INDEX && ends->senders.count) {
		uint32_t peer = ends->rec->extras[op].other_ident;
		uint32_t sender = addresses_find(&ends->senders, ident, peer);

		connection = sender == NO_INDEX ? NO_INDEX : (uint32_t)ends->first_sender + sender;
	}
	return connection != NO_INDEX && moves_bytes(ends->rec, op) ? connection : NO_INDEX;
}

void client_ends_free(struct client_ends *ends)
{
	free(ends->ends);
	free(ends->of_stream);
	addresses_free(&ends->senders);
	*ends = (struct client_ends){ 0 };
}

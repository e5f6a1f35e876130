/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accepts that connections came about by; clients_parts.h has the contract.
 *
 * Method. An accept may name its connection: the one of the name whose first call came next.
 * Any other connection is that of the last accept at its port which no later one has, and which
 * returned before its first call began. A connection may never have any bytes, as that of a health
 * check. That changes nothing for others behind a moment at which all had spoken.
 *
 * Accepts that are left are of such connections. Where a recorded call connects to their port they
 * may be its own. A named one that nobody closed waits for a thread that has time for it.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/memory.h"
#include "format.h"

/* The number at the end of an address, before `end` or the text's end. */
static uint64_t port_before(const char *text, const char *end)
{
	end = end ? end : text + strlen(text);
	while (end > text && end[-1] != ':')
		end--;
	return strtoull(end, NULL, 10);
}

static const char tcp_listening[] = "tcp listen ", unix_listening[] = "unix listen ";

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

bool clients_is_listening(const char *ident)
{
	return begins_with(ident, tcp_listening) || begins_with(ident, unix_listening);
}

/* Of a socket with a path, which its connections have before their number: a hash of that. */
static uint64_t port_of(const char *ident)
{
	uint64_t hash = 0xcbf29ce484222325u;

	if (!begins_with(ident, "unix "))
		return port_before(ident, strchr(ident, '>'));
	const char *path = ident + (begins_with(ident, unix_listening) ? strlen(unix_listening)
								       : strlen("unix "));
	const char *number = strrchr(path, '#');
	const char *end = number ? number : path + strlen(path);

	for (; path < end; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
	return hash;
}

struct accept {
	uint64_t end_ns;
	uint64_t port;
	uint32_t op;
	uint32_t name; /* of the connection: string id, 0 = not known */
	bool is_claimed;
	bool has_connect; /* the first one of its port: a recorded call connects there */
};

static int compare_accepts(const void *left, const void *right)
{
	const struct accept *a = left, *b = right;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

bool clients_is_accept(const struct recording *rec, uint32_t op)
{
	const struct rec_op *call = &rec->ops[op];

	return call->kind == KIND_IO && call->thread != NO_INDEX && !rec->extras[op].open &&
	       call->outcome != OUTCOME_ERROR &&
	       strncmp(rec->strings[call->name], "accept", 6) == 0 &&
	       clients_is_listening(rec->strings[call->ident]);
}

static struct accept *accepts_find(const struct recording *rec, size_t *count)
{
	struct accept *list = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (!clients_is_accept(rec, op))
			continue;
		list = memory_grow(list, &room, *count + 1, sizeof(*list));
		list[(*count)++] = (struct accept){ rec->ops[op].end_ns,
						    port_of(rec->strings[rec->ops[op].ident]),
						    op,
						    rec->extras[op].other_ident,
						    false,
						    false };
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_accepts);
	return list;
}

/* A connection, by when bytes went through it first. */
struct begun {
	uint64_t port;
	uint64_t at_ns;
	uint32_t connection;
};

static int compare_begun(const void *left, const void *right)
{
	const struct begun *a = left, *b = right;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->connection > b->connection) - (a->connection < b->connection);
}

static void connects_note(const struct recording *rec, struct accept *list, size_t count)
{
	for (uint32_t op = 0; op < rec->op_count; op++) {
		const struct rec_op *call = &rec->ops[op];
		const char *ident = rec->strings[call->ident];

		bool is_tcp = begins_with(ident, "tcp ");

		if (call->kind != KIND_IO || strncmp(rec->strings[call->name], "connect", 7) != 0 ||
		    (!is_tcp && !begins_with(ident, "unix ")))
			continue;
		const struct accept key = { .port = is_tcp ? port_before(ident, NULL)
							   : port_of(ident) };
		size_t first = bound_lower(&key, list, count, sizeof(key), compare_accepts);

		if (first < count && list[first].port == key.port)
			list[first].has_connect = true;
	}
}

/* When a connection of each name was closed last, 0 = never. */
static uint64_t *closes_find(const struct recording *rec)
{
	uint64_t *closed_ns = memory_new(rec->string_count, sizeof(*closed_ns));

	memset(closed_ns, 0, rec->string_count * sizeof(*closed_ns));
	for (uint32_t op = 0; op < rec->op_count; op++) {
		const struct rec_op *call = &rec->ops[op];

		if (call->kind == KIND_IO && closed_ns[call->ident] < call->start_ns &&
		    strncmp(rec->strings[call->name], "close", 5) == 0)
			closed_ns[call->ident] = call->start_ns;
	}
	return closed_ns;
}

/* Accepts that are left at ports of connections that nobody recorded connects to. */
static size_t knocks_find(const struct recording *rec, const struct accept *list, size_t count,
			  const struct begun *begun, size_t begun_count, struct knock *knocks)
{
	uint64_t *closed_ns = closes_find(rec);
	size_t found = 0, at = 0;
	bool has_connect = false;

	for (size_t i = 0; i < count; i++) {
		if (!i || list[i].port != list[i - 1].port)
			has_connect = list[i].has_connect;
		while (at < begun_count && begun[at].port < list[i].port)
			at++;
		if (at < begun_count && begun[at].port == list[i].port && !has_connect &&
		    !list[i].is_claimed)
			knocks[found++] = (struct knock){ list[i].op, begun[at].connection,
							  list[i].name && closed_ns[list[i].name] <
										  list[i].end_ns };
	}
	free(closed_ns);
	return found;
}

/* A named accept, by its connection. */
struct naming {
	uint32_t name;
	uint64_t end_ns;
	size_t accept; /* its place in the list */
};

static int compare_namings(const void *left, const void *right)
{
	const struct naming *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static struct naming *namings_find(const struct accept *list, size_t count, size_t *found)
{
	struct naming *namings = memory_new(count, sizeof(*namings));

	*found = 0;
	for (size_t i = 0; i < count; i++)
		if (list[i].name)
			namings[(*found)++] = (struct naming){ list[i].name, list[i].end_ns, i };
	if (*found)
		qsort(namings, *found, sizeof(*namings), compare_namings);
	return namings;
}

/* Accepts that name their connections. */
static void claim_named(const struct client_ends *ends, struct accept *list, size_t count,
			const uint64_t *first_ns, uint32_t *accept_of)
{
	size_t found;
	struct naming *namings = namings_find(list, count, &found);

	for (uint32_t i = 0; i < ends->count && found; i++) {
		const struct naming key = { ends->ends[i].ident, first_ns[i] + 1, 0 };
		size_t at = bound_lower(&key, namings, found, sizeof(key), compare_namings);

		if (!at || namings[at - 1].name != key.name)
			continue;
		struct accept *accept = &list[namings[at - 1].accept];

		if (accept->is_claimed)
			continue;
		accept->is_claimed = true;
		accept_of[i] = accept->op;
	}
	free(namings);
}

/* All others. Of connections `begun` that have an accept by now nothing changes. */
static void claim_rest(struct accept *list, size_t count, const struct begun *begun,
		       size_t begun_count, uint32_t *accept_of)
{
	size_t at = count;

	for (size_t i = begun_count; i-- > 0;) {
		if (accept_of[begun[i].connection] != NO_INDEX)
			continue;
		for (; at && (list[at - 1].port > begun[i].port || list[at - 1].name ||
			      (list[at - 1].port == begun[i].port &&
			       list[at - 1].end_ns > begun[i].at_ns));
		     at--)
			;
		if (!at || list[at - 1].port != begun[i].port)
			continue;
		list[--at].is_claimed = true;
		accept_of[begun[i].connection] = list[at].op;
	}
}

size_t clients_accepts_find(const struct client_ends *ends, const uint64_t *first_ns,
			    uint32_t *accept_of, struct knock **knocks)
{
	const struct recording *rec = ends->rec;
	size_t count = ends->count;
	struct begun *begun = memory_new(count, sizeof(*begun));
	size_t accept_count;
	struct accept *list = accepts_find(rec, &accept_count);

	for (uint32_t i = 0; i < count; i++) {
		const char *ident = rec->strings[ends->ends[i].ident];
		uint64_t port = ends->ends[i].peer ? 0 : port_of(ident);

		begun[i] = (struct begun){ port, first_ns[i], i };
		accept_of[i] = NO_INDEX;
	}
	if (count)
		qsort(begun, count, sizeof(*begun), compare_begun);
	claim_named(ends, list, accept_count, first_ns, accept_of);
	claim_rest(list, accept_count, begun, count, accept_of);
	connects_note(rec, list, accept_count);
	*knocks = memory_new(accept_count, sizeof(**knocks));
	size_t knock_count = knocks_find(rec, list, accept_count, begun, count, *knocks);

	free(begun);
	free(list);
	return knock_count;
}

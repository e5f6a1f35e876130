/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the other ends of sockets of the unix kind; peers.h has the contract.
 *
 * Method. A listener accepts connections in the order in which they are made. So the n-th connect()
 * to a path and the n-th accept() there have the two ends of one connection. The first connections
 * may have been made, and the first ones accepted, before they were recorded, and a call that took
 * no time is not. So each connect() has the next accept(), or a later one if all that come
 * next can have that. One comes not before the other. A question is read after it was written, and
 * so is an answer. Threads that accept at once may do so in another order
 * than they return. Then two neighbours are exchanged. Where many do not fit, or have not the last
 * answer that was given, others connect that are not recorded. Then nothing is told.
 *
 * One thread.
 */
#include "peers.h"

#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "flows.h"
#include "format.h"
#include "recording/hosts.h"

enum {
	AHEAD = 16,        /* connections that are looked at ahead */
	AHEAD_MISFITS = 2, /* of these that may not fit */
	OFF_MOST = 64      /* that an order may be off from that of the connection before */
};

/* One end of a connection. Of times, UINT64_MAX = it did not. */
struct end {
	const char *path; /* to the inode */
	uint64_t inode;
	uint64_t made_ns;  /* its connect() began, or its accept() ended; 0 = before all */
	uint64_t asked_ns; /* one end begins to write first, or the other has read first */
	uint64_t answered_ns;
	bool is_accepted;
	uint32_t scope;
	uint32_t process;
	uint32_t peer; /* among the other ends of the path; NO_INDEX = none yet */
};

struct search {
	struct recording *rec;
	struct end *ends;
	size_t count;
	size_t capacity;
	uint32_t *end_of; /* by string that describes it: 1 + index, 0 = none */
	uint64_t *known;  /* inodes with a peer, in order */
	size_t known_count;
	size_t peer_room;
};

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void known_find(struct search *search)
{
	const struct recording *rec = search->rec;

	search->known = memory_new(2 * rec->peer_count, sizeof(*search->known));
	for (size_t i = 0; i < rec->peer_count; i++) {
		if (!rec->peers[i].peer)
			continue;
		search->known[search->known_count++] = rec->peers[i].inode;
		search->known[search->known_count++] = rec->peers[i].peer;
	}
	if (search->known_count)
		qsort(search->known, search->known_count, sizeof(*search->known), compare_numbers);
}

static bool is_known(const struct search *search, uint64_t inode)
{
	return search->known_count &&
	       bsearch(&inode, search->known, search->known_count, sizeof(inode), compare_numbers);
}

/* "unix PATH#INODE" */
static const char *inode_in(const char *ident)
{
	const char *mark = strrchr(ident, '#');

	return strncmp(ident, "unix ", 5) == 0 ? mark : NULL;
}

/* A connection's end that this string describes. */
static struct end *end_add(struct search *search, uint32_t op, uint32_t ident, bool is_accepted)
{
	const struct recording *rec = search->rec;
	const char *text = rec->strings[ident], *mark = inode_in(text);
	uint64_t inode = mark ? strtoull(mark + 1, NULL, 10) : 0;
	uint32_t process = rec->threads[rec->ops[op].thread].process;

	if (!inode || search->end_of[ident] || is_known(search, inode))
		return NULL;
	search->ends = memory_grow(search->ends, &search->capacity, search->count + 1,
				   sizeof(*search->ends));
	struct end *end = &search->ends[search->count++];

	*end = (struct end){ .path = text,
			     .inode = inode,
			     .asked_ns = UINT64_MAX,
			     .answered_ns = UINT64_MAX,
			     .scope = hosts_scope_of_process(rec, process),
			     .process = process,
			     .is_accepted = is_accepted,
			     .peer = NO_INDEX };
	search->end_of[ident] = (uint32_t)search->count;
	return end;
}

static bool is_call(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_IO && rec->ops[op].thread != NO_INDEX;
}

/* Those that were made, and then those that were there before. */
static void ends_find(struct search *search)
{
	const struct recording *rec = search->rec;

	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		const char *call = rec->strings[op->name];
		struct end *end;

		if (!is_call(rec, i))
			continue;
		if (strcmp(call, "connect") == 0 && (end = end_add(search, i, op->ident, false)))
			end->made_ns = op->start_ns;
		else if (strncmp(call, "accept", 6) == 0 && rec->extras[i].other_ident &&
			 (end = end_add(search, i, rec->extras[i].other_ident, true)))
			end->made_ns = op->end_ns;
	}
	for (uint32_t i = 0; i < rec->op_count; i++)
		if (is_call(rec, i) && rec->extras[i].amount)
			(void)end_add(search, i, rec->ops[i].ident, rec->extras[i].accepted);
}

static void note_first(uint64_t *first_ns, uint64_t at_ns)
{
	*first_ns = at_ns < *first_ns ? at_ns : *first_ns;
}

/* The end that connected asks, and the other one answers. */
static void talks_find(struct search *search)
{
	const struct recording *rec = search->rec;

	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (!is_call(rec, i) || !search->end_of[op->ident] || !rec->extras[i].amount)
			continue;
		struct end *end = &search->ends[search->end_of[op->ident] - 1];
		enum flow_direction direction = flow_direction_of(rec->strings[op->name]);

		if (direction == FLOW_WRITE)
			note_first(end->is_accepted ? &end->answered_ns : &end->asked_ns,
				   op->start_ns);
		else if (direction == FLOW_READ)
			note_first(end->is_accepted ? &end->asked_ns : &end->answered_ns,
				   op->end_ns);
	}
}

/* --- which two are one connection --- */

static int compare_paths(const struct end *a, const struct end *b)
{
	size_t bytes = (size_t)(strrchr(a->path, '#') - a->path);
	size_t others = (size_t)(strrchr(b->path, '#') - b->path);

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (bytes != others)
		return bytes < others ? -1 : 1;
	return memcmp(a->path, b->path, bytes);
}

/* By path; those that connected first; of these in order of time. Those that were there before are
 * in the order of their answers. */
static int compare_ends(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	int order = compare_paths(a, b);

	if (order)
		return order;
	if (a->is_accepted != b->is_accepted)
		return a->is_accepted < b->is_accepted ? -1 : 1;
	if (a->made_ns != b->made_ns)
		return a->made_ns < b->made_ns ? -1 : 1;
	if (a->answered_ns != b->answered_ns)
		return a->answered_ns < b->answered_ns ? -1 : 1;
	return (a->inode > b->inode) - (a->inode < b->inode);
}

static bool is_before(uint64_t at_ns, uint64_t other_ns)
{
	return at_ns == UINT64_MAX || other_ns == UINT64_MAX || at_ns <= other_ns;
}

static bool fits(const struct end *client, const struct end *server)
{
	return client->made_ns <= server->made_ns &&
	       is_before(client->asked_ns, server->asked_ns) &&
	       is_before(server->answered_ns, client->answered_ns);
}

/* The two ends of connections to one path. */
struct sides {
	struct end *clients;
	struct end *servers;
	size_t client_count;
	size_t server_count;
};

/* These two, and those that come next. */
static bool fit_ahead(const struct sides *sides, size_t client, size_t server)
{
	size_t misfits = 0;

	if (client + AHEAD > sides->client_count || server + AHEAD > sides->server_count)
		return false;
	for (size_t i = 0; i < AHEAD; i++)
		misfits += !fits(&sides->clients[client + i], &sides->servers[server + i]);
	return misfits <= AHEAD_MISFITS;
}

/* The last one behind `next` that this one can have, as its turn is; else the next, if that fits.
 * SIZE_MAX = none. */
static size_t server_of(const struct sides *sides, size_t client, size_t next)
{
	size_t end = next + OFF_MOST < sides->server_count ? next + OFF_MOST : sides->server_count;

	while (end-- > next + 1)
		if (fit_ahead(sides, client, end))
			return end;
	return next < sides->server_count && fits(&sides->clients[client], &sides->servers[next])
		       ? next
		       : SIZE_MAX;
}

static void pair(struct sides *sides, size_t client, size_t server)
{
	sides->clients[client].peer = (uint32_t)server;
	sides->servers[server].peer = (uint32_t)client;
}

/* They returned in another order than that in which they accepted. */
static void exchange_if_better(struct sides *sides, size_t client)
{
	struct end *clients = sides->clients, *servers = sides->servers;
	size_t one = clients[client - 1].peer, other = clients[client].peer;

	if (one == NO_INDEX || other == NO_INDEX)
		return;
	bool are_well = fits(&clients[client - 1], &servers[one]) &&
			fits(&clients[client], &servers[other]);
	if (are_well || !fits(&clients[client - 1], &servers[other]) ||
	    !fits(&clients[client], &servers[one]))
		return;
	pair(sides, client - 1, other);
	pair(sides, client, one);
}

/* Returns how many do not fit. */
static size_t misfits_drop(struct sides *sides)
{
	size_t misfits = 0;

	for (size_t i = 0; i < sides->client_count; i++) {
		struct end *client = &sides->clients[i];

		if (client->peer == NO_INDEX || fits(client, &sides->servers[client->peer]))
			continue;
		client->peer = NO_INDEX;
		misfits++;
	}
	return misfits;
}

/* Of the connections that were there before, one end reads the answer of the other, and reads it
 * before the next one is given. Returns the first server that was not. */
static size_t old_pair(struct sides *sides)
{
	size_t client = 0, server = 0;

	for (; server < sides->server_count && !sides->servers[server].made_ns; server++) {
		uint64_t answered_ns = sides->servers[server].answered_ns;

		while (client < sides->client_count && !sides->clients[client].made_ns &&
		       sides->clients[client].answered_ns < answered_ns)
			client++;
		if (client < sides->client_count && !sides->clients[client].made_ns &&
		    answered_ns != UINT64_MAX)
			pair(sides, client++, server);
	}
	return server;
}

/* The last of these times that is not after this one; 0 = none. */
static uint64_t last_until(const uint64_t *times_ns, size_t count, uint64_t at_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (times_ns[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? times_ns[low - 1] : 0;
}

/* An answer is read soon: of most it is the last one that any server of the path has given. */
static bool are_answered_last(const struct sides *sides)
{
	uint64_t *answers_ns = memory_new(sides->server_count, sizeof(*answers_ns));
	size_t answered = 0, last = 0;

	for (size_t i = 0; i < sides->server_count; i++)
		answers_ns[i] = sides->servers[i].answered_ns;
	if (sides->server_count)
		qsort(answers_ns, sides->server_count, sizeof(*answers_ns), compare_numbers);
	for (size_t i = 0; i < sides->client_count; i++) {
		const struct end *client = &sides->clients[i];

		if (client->peer == NO_INDEX || client->answered_ns == UINT64_MAX)
			continue;
		answered++;
		last += last_until(answers_ns, sides->server_count, client->answered_ns) ==
			sides->servers[client->peer].answered_ns;
	}
	free(answers_ns);
	return 2 * last >= answered;
}

static void path_pair(struct sides *sides)
{
	size_t next = old_pair(sides), paired = 0;

	for (size_t i = 0; i < sides->client_count; i++) {
		if (sides->clients[i].peer != NO_INDEX)
			continue;
		size_t server = server_of(sides, i, next);

		if (server == SIZE_MAX)
			continue;
		pair(sides, i, server);
		paired++;
		next = server + 1;
	}
	for (size_t i = 1; i < sides->client_count; i++)
		exchange_if_better(sides, i);
	if ((double)misfits_drop(sides) > assume.peers_misfit * (double)paired ||
	    !are_answered_last(sides))
		for (size_t i = 0; i < sides->client_count; i++)
			sides->clients[i].peer = NO_INDEX;
}

static void path_tell(struct search *search, const struct sides *sides)
{
	struct recording *rec = search->rec;

	for (size_t i = 0; i < sides->client_count; i++) {
		const struct end *client = &sides->clients[i];

		if (client->peer == NO_INDEX)
			continue;
		rec->peers = memory_grow(rec->peers, &search->peer_room, rec->peer_count + 1,
					 sizeof(*rec->peers));
		rec->peers[rec->peer_count++] =
			(struct rec_peer){ client->inode, sides->servers[client->peer].inode,
					   client->process };
	}
}

void peers_find(struct recording *rec)
{
	struct search search = { .rec = rec, .peer_room = rec->peer_count };

	if (!rec->extras || !rec->thread_count)
		return;
	search.end_of = memory_new(rec->string_count, sizeof(*search.end_of));
	known_find(&search);
	ends_find(&search);
	talks_find(&search);
	if (search.count)
		qsort(search.ends, search.count, sizeof(*search.ends), compare_ends);
	for (size_t i = 0, end; i < search.count; i = end) {
		size_t servers = i;

		for (end = i;
		     end < search.count && compare_paths(&search.ends[end], &search.ends[i]) == 0;
		     end++)
			servers += !search.ends[end].is_accepted;
		struct sides sides = { search.ends + i, search.ends + servers, servers - i,
				       end - servers };

		path_pair(&sides);
		path_tell(&search, &sides);
	}
	free(search.ends);
	free(search.end_of);
	free(search.known);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients as threads behind those of the recording; clients.h has the contract.
 *
 * Tables that get more rows are copies, and all others are shared. One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/hosts.h"

enum { UNIX_IDENT_BYTES = 32 };

/* Inodes of other ends: no socket has such a number. */
static const uint64_t first_inode = UINT64_C(1) << 62;

bool clients_is_unix(const char *ident)
{
	return strncmp(ident, "unix ", 5) == 0 && strchr(ident, '#') &&
	       strncmp(ident, "unix dgram ", 11) != 0 && strncmp(ident, "unix seqpacket ", 15) != 0;
}

static const char udp[] = "udp ";

static size_t local_bytes(const char *ident)
{
	return strcspn(ident, ">") - strlen(udp);
}

/* Of the name that its client's end has, and of the address that this sends datagrams to. */
static size_t name_bytes_max(const struct recording *rec, const struct client_end *end)
{
	const char *ident = rec->strings[end->ident];

	if (end->peer)
		return sizeof(udp) + strlen(rec->strings[end->peer]) + strlen(">*") +
		       local_bytes(ident) + 1;
	return clients_is_unix(ident) ? UNIX_IDENT_BYTES : strlen(ident) + 1;
}

/* The same connection from its other end, "tcp B>A" of "tcp A>B", "udp B>*" of "udp A>*". Returns
 * the bytes, with a NUL. */
static size_t turn_round(char *into, const struct recording *rec, const struct client_end *end,
			 size_t connection)
{
	const char *ident = rec->strings[end->ident];

	if (end->peer)
		return (size_t)sprintf(into, "%s%s>*", udp, rec->strings[end->peer]) + 1;
	if (clients_is_unix(ident))
		return (size_t)snprintf(into, UNIX_IDENT_BYTES, "unix:[%" PRIu64 "]",
					first_inode + connection) +
		       1;
	const char *local = strchr(ident, ' ') + 1, *remote = strchr(local, '>');

	return (size_t)sprintf(into, "%.*s%s>%.*s", (int)(local - ident), ident, remote + 1,
			       (int)(remote - local), local) +
	       1;
}

/* Where datagrams are sent to. Returns the bytes, with a NUL. */
static size_t local_put(char *into, const char *ident)
{
	return (size_t)sprintf(into, "%.*s", (int)local_bytes(ident), ident + strlen(udp)) + 1;
}

enum { SEND_WORD, RECEIVE_WORD, CONNECT_WORD, FIRST_IDENT };

/* Strings behind the recorded ones: the names of all calls, then of each connection its ident, and
 * the address that datagrams are sent to. */
static void strings_add(struct clients *clients, const struct doings *doings)
{
	static const char send[] = "send", receive[] = "recv", connect[] = "connect";
	struct recording *rec = &clients->recording;
	size_t count = rec->string_count + FIRST_IDENT + 2 * doings->connection_count, bytes = 0;
	const char **strings = memory_new(count, sizeof(*strings));

	memcpy(strings, rec->strings, rec->string_count * sizeof(*strings));
	strings[rec->string_count + SEND_WORD] = send;
	strings[rec->string_count + RECEIVE_WORD] = receive;
	strings[rec->string_count + CONNECT_WORD] = connect;
	for (size_t i = 0; i < doings->connection_count; i++)
		bytes += name_bytes_max(rec, &doings->ends[i]);
	clients->words = memory_new(bytes, 1);
	char *word = clients->words;
	for (size_t i = 0; i < doings->connection_count; i++) {
		size_t string = rec->string_count + FIRST_IDENT + 2 * i;

		strings[string] = word;
		word += turn_round(word, rec, &doings->ends[i], i);
		strings[string + 1] = "";
		if (!doings->ends[i].peer)
			continue;
		strings[string + 1] = word;
		word += local_put(word, rec->strings[doings->ends[i].ident]);
	}
	assert(word <= clients->words + bytes);
	rec->strings = strings;
	rec->string_count = count;
}

/* A client is where its server's connection is. */
static void scopes_add(struct clients *clients, const struct doings *doings)
{
	struct recording *rec = &clients->recording;
	size_t first = doings->rec->string_count + FIRST_IDENT;
	const uint32_t *known = rec->scopes;

	if (!rec->scope_count)
		return;
	rec->scopes = memory_new(rec->string_count, sizeof(*rec->scopes));
	memcpy(rec->scopes, known, rec->scope_count * sizeof(*known));
	rec->scope_count = rec->string_count;
	for (size_t i = 0; i < doings->connection_count; i++)
		rec->scopes[first + 2 * i] = hosts_scope_of(doings->rec, doings->ends[i].ident);
}

/* Any process of the machine where this socket is. */
static uint32_t process_beside(const struct recording *rec, uint32_t ident)
{
	uint32_t process = 0;

	while (process + 1 < rec->process_count &&
	       hosts_scope_of_process(rec, process) != hosts_scope_of(rec, ident))
		process++;
	return process;
}

static void *longer(const void *array, size_t count, size_t more, size_t element_bytes)
{
	void *copy = memory_new(count + more, element_bytes);

	return count ? memcpy(copy, array, count * element_bytes) : copy;
}

static int compare_inodes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static uint64_t inode_of(const char *ident)
{
	return strtoull(strrchr(ident, '#') + 1, NULL, 10);
}

/* Servers' ends have those of the clients as peers, instead of others that nobody recorded. */
static void peers_add(struct clients *clients, const struct doings *doings)
{
	struct recording *rec = &clients->recording;
	size_t count = 0, known_count = rec->peer_count;
	const struct rec_peer *known = rec->peers;
	uint64_t *inodes = memory_new(doings->connection_count, sizeof(*inodes));

	rec->peers = memory_new(known_count + doings->connection_count, sizeof(*rec->peers));
	rec->peer_count = 0;
	for (size_t i = 0; i < doings->connection_count; i++) {
		const char *ident = rec->strings[doings->ends[i].ident];

		if (doings->ends[i].peer || !clients_is_unix(ident))
			continue;
		inodes[count++] = inode_of(ident);
		rec->peers[rec->peer_count++] =
			(struct rec_peer){ inode_of(ident), first_inode + i,
					   process_beside(rec, doings->ends[i].ident) };
	}
	if (count)
		qsort(inodes, count, sizeof(*inodes), compare_inodes);
	for (size_t i = 0; i < known_count; i++)
		if (!count ||
		    (!bsearch(&known[i].inode, inodes, count, sizeof(*inodes), compare_inodes) &&
		     !bsearch(&known[i].peer, inodes, count, sizeof(*inodes), compare_inodes)))
			rec->peers[rec->peer_count++] = known[i];
	free(inodes);
}

/* All clients are threads of one process that says nothing of itself. Each is called as one of its
 * connections. */
static void threads_add(struct clients *clients, const struct doings *doings)
{
	struct recording *rec = &clients->recording;

	rec->processes = longer(rec->processes, rec->process_count, 1, sizeof(*rec->processes));
	rec->processes[rec->process_count++] =
		(struct rec_process){ .op = NO_INDEX, .filtered_ns = 0 };
	rec->threads = longer(rec->threads, rec->thread_count, doings->client_count,
			      sizeof(*rec->threads));
	clients->first_thread = (uint32_t)rec->thread_count;
	clients->count = doings->client_count;
	for (uint32_t i = 0; i < doings->client_count; i++)
		rec->threads[rec->thread_count++] = (struct rec_thread){
			.process = (uint32_t)rec->process_count - 1, .tid = i + 1, .op = NO_INDEX
		};
	for (size_t i = doings->connection_count; i-- > 0;)
		rec->threads[clients->first_thread + doings->client_of[i]].name =
			doings->ends[i].ident;
}

static uint32_t word_of(const struct doing *doing)
{
	return doing->is_connect ? CONNECT_WORD : doing->is_send ? SEND_WORD : RECEIVE_WORD;
}

static void ops_add(struct clients *clients, const struct doings *doings,
		    const struct class_table *classes, uint32_t first_string)
{
	struct recording *rec = &clients->recording;
	size_t more = doings->count;
	clients->first_op = (uint32_t)rec->op_count;
	uint64_t last_ns = 0;

	rec->ops = longer(rec->ops, rec->op_count, more, sizeof(*rec->ops));
	rec->extras = longer(rec->extras, rec->op_count, more, sizeof(*rec->extras));
	clients->classes = *classes;
	clients->classes.of_op =
		longer(classes->of_op, rec->op_count, more, sizeof(*classes->of_op));
	clients->due_ns = memory_new(more, sizeof(*clients->due_ns));
	clients->asked = memory_new(more, sizeof(*clients->asked));
	clients->send_of = memory_new(rec->op_count, sizeof(*clients->send_of));
	if (clients->end == CLIENTS_END_ONE_THREAD)
		clients->work_ns = memory_new(more, sizeof(*clients->work_ns));
	memset(clients->send_of, 0xff, rec->op_count * sizeof(*clients->send_of));
	for (size_t i = 0; i < more; i++) {
		const struct doing *doing = &doings->list[i];
		bool is_first = !i || doing[-1].connection != doing->connection;
		bool is_got = !doing->is_send && !doing->is_connect;

		clients->classes.of_op[rec->op_count] = classes->of_op[doing->op];
		uint32_t ident = first_string + FIRST_IDENT + 2 * doing->connection;

		rec->extras[rec->op_count] = (struct rec_op_extra){
			.amount = doing->bytes,
			.messages = doing->messages,
			.other_ident = doings->ends[doing->connection].peer ? ident + 1 : 0,
			.fd = -1
		};
		rec->ops[rec->op_count++] = (struct rec_op){
			.start_ns = is_got && is_first ? rec->ops[doing->op].start_ns
				    : is_got           ? last_ns
						       : doing->at_ns,
			.end_ns = doing->at_ns,
			.parent = NO_INDEX,
			.name = first_string + word_of(doing),
			.ident = ident,
			.kind = KIND_IO,
			.outcome = OUTCOME_OK,
			.thread = clients->first_thread + doings->client_of[doing->connection]
		};
		last_ns = doing->at_ns;
		clients->due_ns[i] = doing->due_ns;
		if (clients->work_ns)
			clients->work_ns[i] = doing->is_queued ? doing->work_ns : UINT64_MAX;
		clients->asked[i] = doing->is_send && doing->is_first ? doing->op : NO_INDEX;
		if (clients->asked[i] == NO_INDEX)
			continue;
		clients->send_of[doing->op] = clients->first_op + (uint32_t)i;
	}
}

void clients_record(struct clients *clients, const struct doings *doings,
		    const struct class_table *classes)
{
	assert(doings->connection_count);
	clients->recording = *doings->rec;
	strings_add(clients, doings);
	scopes_add(clients, doings);
	peers_add(clients, doings);
	threads_add(clients, doings);
	ops_add(clients, doings, classes, (uint32_t)doings->rec->string_count);
}

void clients_date(const struct clients *clients, struct requests *requests)
{
	assert(clients->count);
	for (size_t i = 0; i < requests->place_count; i++) {
		struct stamp_place *place = &requests->places[i];
		struct request *request = &requests->requests[place->stamp / 2];
		uint32_t send = clients->send_of[request->op];

		if (place->stamp % 2 || send == NO_INDEX)
			continue;
		/* whatever found it: in the replay it begins where the client sends it */
		*place = (struct stamp_place){ request->op, place->stamp, STAMP_END };
		request->start_ns = clients->recording.ops[send].start_ns;
		if (request->early_ns > request->start_ns)
			request->early_ns = request->start_ns;
		request->taken_ns = request->end_ns - request->start_ns;
	}
	requests_sort_places(requests);
}

void clients_free(struct clients *clients)
{
	if (clients->count) {
		free(clients->recording.ops);
		free(clients->recording.extras);
		free(clients->recording.threads);
		free(clients->recording.processes);
		free(clients->recording.strings);
		free(clients->recording.peers);
		if (clients->recording.scope_count)
			free(clients->recording.scopes);
		free(clients->classes.of_op);
	}
	free(clients->words);
	free(clients->due_ns);
	free(clients->work_ns);
	free(clients->asked);
	free(clients->send_of);
	*clients = (struct clients){ .sort = CLIENTS_CLOSED };
}

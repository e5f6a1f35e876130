/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of flows; flows_names.h has the contract.
 *
 * Method. A stream's description has both ends, and the reader's has them exchanged. The
 * description of a socket of the unix kind has one end, and the recording says elsewhere which is
 * the other. A datagram goes by the receiver's address: the sender's peer, or the address that the
 * call named. Connections go by the listener's address. An address without a host stands for all:
 * where one is bound like that, its port alone is the address.
 *
 * Where several machines or network name spaces were recorded, a description counts where it was
 * made (recording/hosts.h). A pipe there is another one here, and so is a loopback address. An
 * address of the network is the same everywhere. It belongs to where a socket has it as its own
 * end. One thread.
 */
#include "flows_names.h"

#include "base/hash.h"
#include "base/memory.h"
#include "format.h"
#include "recording/hosts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_part(uint64_t hash, const char *text, size_t bytes)
{
	return hash_bytes(hash_bytes(hash, text, bytes), "|", 1);
}

/* The same thing elsewhere has another hash. */
static uint64_t scoped(uint64_t hash, uint32_t scope)
{
	return scope ? hash_part(hash, (const char *)&scope, sizeof(scope)) : hash;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* --- sets of hashes --- */

static int compare_hashes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void set_add(uint64_t **set, size_t *count, size_t *room, uint64_t hash)
{
	*set = memory_grow(*set, room, *count + 1, sizeof(**set));
	(*set)[(*count)++] = hash;
}

static bool set_has(const uint64_t *set, size_t count, uint64_t hash)
{
	return count && bsearch(&hash, set, count, sizeof(*set), compare_hashes);
}

static void set_sort(uint64_t *set, size_t count)
{
	if (count)
		qsort(set, count, sizeof(*set), compare_hashes);
}

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
	const char *kind = ident + strcspn(ident, ":");

	return begins_with(kind, ":[") ? number_after(kind, ":[")
				       : number_after(strrchr(ident, '#'), "#");
}

/* Machines number their sockets each on its own. */
static uint64_t socket_of(uint64_t inode, uint32_t scope)
{
	return inode ? inode + ((uint64_t)scope << 48) : 0;
}

static bool is_unix(const char *ident)
{
	return begins_with(ident, "unix:") || begins_with(ident, "unix ");
}

static void peers_add(struct flow_names *names, uint64_t inode, uint64_t peer)
{
	if (!inode || !peer)
		return;
	names->peers = memory_grow(names->peers, &names->peer_room, names->peer_count + 2,
				   sizeof(*names->peers));
	names->peers[names->peer_count++] = (struct rec_peer){ inode, peer, 0 };
	names->peers[names->peer_count++] = (struct rec_peer){ peer, inode, 0 };
}

static uint64_t peer_of(const struct flow_names *names, uint64_t inode)
{
	struct rec_peer key = { inode, 0, 0 };
	const struct rec_peer *found =
		names->peer_count
			? bsearch(&key, names->peers, names->peer_count, sizeof(key), compare_peers)
			: NULL;

	return found ? found->peer : 0;
}

static uint64_t unix_name(const struct flow_names *names, const char *ident, uint32_t scope,
			  bool is_write)
{
	uint64_t own = socket_of(inode_of(ident), scope), peer = peer_of(names, own);
	uint64_t from = is_write ? own : peer, to = is_write ? peer : own;

	if (!own || !peer)
		return 0;
	uint64_t hash = hash_part(HASH_START, "unix", 4);
	hash = hash_part(hash, (const char *)&from, sizeof(from));
	return hash_part(hash, (const char *)&to, sizeof(to));
}

/* --- addresses --- */

/* Part of a description. */
struct address {
	const char *text;
	size_t bytes;
	uint32_t scope; /* of the description */
};

static struct address within(struct address address, uint32_t scope)
{
	address.scope = scope;
	return address;
}

static struct address port_of(struct address address)
{
	for (size_t i = address.bytes; i-- > 0;)
		if (address.text[i] == ':')
			return (struct address){ address.text + i, address.bytes - i, 0 };
	return (struct address){ address.text, 0, 0 };
}

static bool is_of_host(struct address address, const char *host)
{
	return address.bytes - port_of(address).bytes >= strlen(host) &&
	       begins_with(address.text, host);
}

static bool is_loopback(struct address address)
{
	return is_of_host(address, "127.") || is_of_host(address, "[::1]");
}

static bool is_any_host(struct address address)
{
	size_t host_bytes = address.bytes - port_of(address).bytes;

	return (host_bytes == 7 && is_of_host(address, "0.0.0.0")) ||
	       (host_bytes == 4 && is_of_host(address, "[::]"));
}

static uint64_t hash_address(const char *protocol, struct address address)
{
	return hash_part(hash_part(HASH_START, protocol, strlen(protocol)), address.text,
			 address.bytes);
}

/* --- whose an address is --- */

static uint64_t host_of(struct address address)
{
	address.bytes -= port_of(address).bytes;
	return hash_address("host", address);
}

static void owner_note(struct flow_names *names, struct address address)
{
	if (!address.scope || is_loopback(address) || is_any_host(address))
		return;
	flow_owner_note(&names->owners, host_of(address), address.scope);
}

/* The same of all spellings of one address. */
static uint64_t address_name(const struct flow_names *names, const char *protocol,
			     struct address address)
{
	bool is_local = is_loopback(address) || is_any_host(address);
	uint32_t scope = is_local ? address.scope : flow_owner_of(&names->owners, host_of(address));
	uint64_t port = scoped(hash_address(protocol, port_of(address)), scope);

	return set_has(names->wildcards, names->wildcard_count, port)
		       ? port
		       : scoped(hash_address(protocol, address), is_local ? scope : 0);
}

static bool is_nobody(struct address address)
{
	return address.bytes == 0 || (address.bytes == 1 && *address.text == '*');
}

static void wildcard_note(struct flow_names *names, const char *protocol, struct address address)
{
	if (is_any_host(address))
		set_add(&names->wildcards, &names->wildcard_count, &names->wildcard_room,
			scoped(hash_address(protocol, port_of(address)), address.scope));
}

/* The ends of "PREFIX LOCAL>PEER"; of unix datagrams an inode comes last. */
static struct address local_of(const char *ident, const char *prefix)
{
	const char *at = ident + strlen(prefix);
	const char *end = strchr(at, '>');

	end = end ? end : strrchr(at, '#');
	return (struct address){ at, end ? (size_t)(end - at) : strlen(at), 0 };
}

static struct address remote_of(const char *ident)
{
	const char *middle = strchr(ident, '>');
	const char *end = middle && is_unix(ident) ? strrchr(middle, '#') : NULL;

	if (!middle)
		return (struct address){ ident, 0, 0 };
	return (struct address){ middle + 1, end ? (size_t)(end - middle - 1) : strlen(middle + 1),
				 0 };
}

/* --- datagrams --- */

static const char udp[] = "udp ", dgram[] = "unix dgram ", dgram_pair[] = "unix dgram:[";

static uint64_t between(const struct flow_names *names, struct address from, struct address to)
{
	uint64_t name = address_name(names, udp, from);

	return hash_part(address_name(names, udp, to), (const char *)&name, sizeof(name));
}

/* `to`: the address in the call, or nobody. A socket that is connected has its own flow. */
static uint64_t udp_name(const struct flow_names *names, const char *ident, uint32_t scope,
			 bool is_write, struct address to)
{
	struct address local = within(local_of(ident, udp), scope);
	struct address peer = within(remote_of(ident), scope);
	struct address from = is_write ? local : peer;

	if (is_write)
		to = is_nobody(peer) ? to : peer;
	else
		to = local;
	if (is_nobody(to))
		return 0;
	if (!is_nobody(from)) {
		uint64_t pair = between(names, from, to);

		if (set_has(names->connected, names->connected_count, pair))
			return pair;
	}
	return address_name(names, udp, to);
}

static uint64_t dgram_name(const struct flow_names *names, const char *ident, uint32_t scope,
			   bool is_write, struct address to)
{
	struct address local = begins_with(ident, dgram) ? local_of(ident, dgram)
							 : (struct address){ ident, 0, 0 };
	uint64_t inode = socket_of(inode_of(ident), scope);

	if (!is_write)
		to = local;
	else if (is_nobody(to) && begins_with(ident, dgram))
		to = remote_of(ident);
	if (!is_nobody(to))
		return scoped(hash_address(dgram, to), scope);
	inode = is_write ? peer_of(names, inode) : inode;
	return inode ? hash_part(HASH_START, (const char *)&inode, sizeof(inode)) : 0;
}

/* --- connections --- */

static const char listening[] = "tcp listen ";

/* "unix listen PATH", "unix seqpacket listen PATH"; of who connects "unix PATH#INODE" */
static struct address meeting_place(const char *ident, bool is_write)
{
	static const char listen[] = " listen ";
	const char *at = strstr(ident, listen);

	if (!is_write)
		return at ? (struct address){ at + strlen(listen), strlen(at + strlen(listen)), 0 }
			  : (struct address){ ident, 0, 0 };
	return begins_with(ident, "unix seqpacket ") ? local_of(ident, "unix seqpacket ")
	       : begins_with(ident, "unix ")         ? local_of(ident, "unix ")
						     : (struct address){ ident, 0, 0 };
}

static uint64_t connection_name(const struct flow_names *names, const char *ident, uint32_t scope,
				bool is_write)
{
	struct address place =
		within(is_write ? remote_of(ident) : local_of(ident, listening), scope);

	if (is_unix(ident)) {
		place = meeting_place(ident, is_write);
		return is_nobody(place) ? 0 : scoped(hash_address("unix listen", place), scope);
	}
	if (!begins_with(ident, is_write ? "tcp " : listening) || is_nobody(place))
		return 0;
	return address_name(names, listening, place);
}

/* --- all --- */

static uint64_t stream_name(const struct flow_names *names, const char *ident, uint32_t scope,
			    bool is_write)
{
	if (flow_is_pipe(ident))
		return scoped(hash_part(HASH_START, ident, strlen(ident)), scope);
	if (is_unix(ident))
		return unix_name(names, ident, scope, is_write);
	if (!begins_with(ident, "tcp ") || !strchr(ident, '>') || is_nobody(remote_of(ident)))
		return 0;
	struct address local = local_of(ident, "tcp "), peer = remote_of(ident);
	struct address from = is_write ? local : peer, to = is_write ? peer : local;

	return scoped(hash_part(hash_address("tcp ", from), to.text, to.bytes),
		      is_loopback(local) ? scope : 0);
}

/* An object that both ends call the same. */
static bool is_queue(const char *ident)
{
	return (begins_with(ident, "mqueue ") && strchr(ident, '#')) ||
	       begins_with(ident, "sysv queue ");
}

static enum flow_unit unit_of(const char *ident)
{
	if (begins_with(ident, udp) || begins_with(ident, "unix dgram") ||
	    begins_with(ident, "unix seqpacket") || is_queue(ident))
		return FLOW_MESSAGES;
	return begins_with(ident, "eventfd:[") ? FLOW_SIGNALS : FLOW_BYTES;
}

static struct address destination_of(const struct recording *recording, uint32_t op)
{
	const char *text = recording->strings[recording->extras[op].other_ident];

	return (struct address){ text, strlen(text), 0 };
}

static uint64_t name_of(const struct flow_names *names, const char *ident, uint32_t scope,
			bool is_write, struct address to)
{
	if (begins_with(ident, udp))
		return udp_name(names, ident, scope, is_write, within(to, scope));
	if (begins_with(ident, dgram) || begins_with(ident, dgram_pair))
		return dgram_name(names, ident, scope, is_write, to);
	if (is_queue(ident) || unit_of(ident) == FLOW_SIGNALS)
		return scoped(hash_part(HASH_START, ident, strlen(ident)), scope);
	return stream_name(names, ident, scope, is_write);
}

struct flow_end flow_names_end(const struct flow_names *names, uint32_t op, bool is_other)
{
	const struct recording *recording = names->recording;
	const struct rec_op *call = &recording->ops[op];
	const char *word = recording->strings[call->name];
	uint32_t string = is_other ? recording->extras[op].other_ident : call->ident;
	const char *ident = recording->strings[string];
	uint32_t scope = hosts_scope_of(recording, string);
	enum flow_direction direction =
		is_other ? flow_other_direction_of(word) : flow_direction_of(word);
	bool connects = strstr(word, "connect"), accepts = strstr(word, "accept");
	struct flow_end end = { .unit = FLOW_CONNECTIONS, .is_write = connects };

	if (!*ident)
		return end;
	if (!is_other && (connects || accepts)) {
		end.name = connection_name(names, ident, scope, connects);
		return end;
	}
	if (call->kind == KIND_POLL) /* is over when something can be read */
		direction = FLOW_READ;
	if (direction == FLOW_NONE)
		return end;
	end.unit = unit_of(ident);
	end.is_write = direction == FLOW_WRITE;
	end.name = name_of(names, ident, scope, end.is_write, destination_of(recording, op));
	return end;
}

uint64_t flow_names_stream(const struct flow_names *names, uint32_t ident, bool is_write)
{
	const char *text = names->recording->strings[ident];

	return unit_of(text) == FLOW_BYTES
		       ? stream_name(names, text, hosts_scope_of(names->recording, ident), is_write)
		       : 0;
}

/* A description tells of its own end. */
static void local_note(struct flow_names *names, uint32_t string)
{
	const struct recording *recording = names->recording;
	const char *ident = recording->strings[string];
	uint32_t scope = hosts_scope_of(recording, string);

	if (is_unix(ident)) {
		peers_add(names, socket_of(inode_of(ident), scope),
			  socket_of(number_after(ident, ">["), scope));
	} else if (begins_with(ident, listening)) {
		wildcard_note(names, listening, within(local_of(ident, listening), scope));
	} else if (begins_with(ident, udp)) {
		wildcard_note(names, udp, within(local_of(ident, udp), scope));
		owner_note(names, within(local_of(ident, udp), scope));
	} else if (begins_with(ident, "tcp ") && strchr(ident, '>')) {
		owner_note(names, within(local_of(ident, "tcp "), scope));
	}
}

void flow_names_build(struct flow_names *names, const struct recording *recording)
{
	*names = (struct flow_names){ .recording = recording };
	for (size_t i = 0; i < recording->peer_count; i++) {
		const struct rec_peer *peer = &recording->peers[i];
		uint32_t scope = hosts_scope_of_process(recording, peer->process);

		peers_add(names, socket_of(peer->inode, scope), socket_of(peer->peer, scope));
	}
	for (uint32_t i = 0; i < recording->string_count; i++)
		local_note(names, i);
	flow_owners_sort(&names->owners);
	set_sort(names->wildcards, names->wildcard_count);
	if (names->peer_count)
		qsort(names->peers, names->peer_count, sizeof(*names->peers), compare_peers);
	for (uint32_t i = 0; i < recording->string_count; i++) {
		const char *ident = recording->strings[i];
		uint32_t scope = hosts_scope_of(recording, i);

		if (begins_with(ident, udp) && !is_nobody(remote_of(ident)))
			set_add(&names->connected, &names->connected_count, &names->connected_room,
				between(names, within(remote_of(ident), scope),
					within(local_of(ident, udp), scope)));
	}
	set_sort(names->connected, names->connected_count);
}

void flow_names_free(struct flow_names *names)
{
	free(names->peers);
	free(names->wildcards);
	free(names->connected);
	free(names->owners.list);
	*names = (struct flow_names){ 0 };
}

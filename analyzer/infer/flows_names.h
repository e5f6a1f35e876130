/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which flow a call gives to or takes from: a name that both ends agree on, and in which unit.
 *
 * Built once from a recording's strings, read-only afterwards.
 */
#ifndef WCPROF_FLOWS_NAMES_H
#define WCPROF_FLOWS_NAMES_H

#include "flows.h"

/* A host's part of an address, and where it is one's own. */
struct flow_owner {
	uint64_t host; /* hash */
	uint32_t scope;
};

struct flow_owners {
	struct flow_owner *list; /* in order of host, once sorted */
	size_t count;
	size_t room;
};

struct flow_names {
	const struct recording *recording;
	struct rec_peer *peers; /* in order of inode, each pair both ways */
	size_t peer_count;
	size_t peer_room;
	uint64_t *wildcards; /* hashes of ports that are bound at all addresses, in order */
	size_t wildcard_count;
	size_t wildcard_room;
	uint64_t *connected; /* hashes of pairs of addresses that datagrams go between, in order */
	size_t connected_count;
	size_t connected_room;
	struct flow_owners owners;
};

/* One end of an op in a flow. name = 0: it is in none. */
struct flow_end {
	uint64_t name;
	enum flow_unit unit;
	bool is_write;
};

void flow_names_build(struct flow_names *, const struct recording *);
void flow_names_free(struct flow_names *);
/* Of the call's own descriptor, or of the other one. */
struct flow_end flow_names_end(const struct flow_names *, uint32_t op, bool is_other);
/* Of a stream that this describes (a string), in which who has it writes or reads; 0: it is none.
 */
uint64_t flow_names_stream(const struct flow_names *, uint32_t ident, bool is_write);

/* flows_owners.c. */
void flow_owner_note(struct flow_owners *, uint64_t host, uint32_t scope);
void flow_owners_sort(struct flow_owners *);
/* 0: nobody's, or of several, as addresses behind a translation may be. */
uint32_t flow_owner_of(const struct flow_owners *, uint64_t host);

#endif

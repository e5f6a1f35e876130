/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes in a dump's header: how many calls each saw, and how many of them it left out.
 *
 * A process's list only grows, and its counts with it: the latest dump's count. One thread.
 */
#include "read_members.h"
#include "reading.h"

#include <assert.h>

struct probe_members {
	uint64_t calls;
	uint64_t brief;
	uint64_t unmet;
	uint32_t name;
	uint32_t when;
};

static bool set_probe(struct reading *reading, uint32_t place, const struct probe_members *members)
{
	struct recording *recording = reading->recording;
	uint32_t process = reading->dump.process;
	uint32_t probe = idmap_index(&reading->probe_ids, process, place);

	if (probe == NO_INDEX)
		return reading_fail_memory(reading);
	assert(probe <= recording->probe_count);
	if (probe == recording->probe_count) {
		if (!reading_reserve(reading, &recording->probes, &reading->probe_capacity,
				     recording->probe_count, sizeof(*recording->probes)))
			return false;
		recording->probe_count++;
	}
	recording->probes[probe] =
		(struct rec_probe){ process,        members->name,  members->when,
				    members->calls, members->brief, members->unmet };
	return true;
}

bool read_probes(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
#define PROBE_KEY(name, key, type, meaning) MEMBER_##type(struct probe_members, name, key)
#include "keys.def"
	};
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	for (uint32_t place = 0; walk_element(&walk); place++) {
		struct probe_members members = { 0 };

		if (!read_members(reading, json, table, sizeof(table) / sizeof(table[0]), &members))
			return false;
		if (members.brief > members.calls || members.unmet > members.calls - members.brief)
			return reading_fail_here(reading,
						 "a probe that left out more calls than it saw");
		if (!set_probe(reading, place, &members))
			return false;
	}
	return !json->error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header line of a dump: the things that its events refer to by number.
 *
 * The line is passed over twice: to find where each section is, then to read them in the order in
 * which they need each other. Drains of one process repeat most of what they say. So processes,
 * threads, modules, stacks and counters are found again by their contents. One thread.
 */
#include "read_members.h"
#include "reading.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

static bool read_schema_version(struct reading *reading, struct json *json)
{
	const char *begin = json->at;
	uint64_t version;

	if (json_take_uint(json, &version) && version == READ_SCHEMA_VERSION)
		return true;
	json->at = begin;
	json->error = NULL;
	if (!json_skip(json))
		return false;
	return reading_fail(reading, -EPROTONOSUPPORT, reading_line(reading),
			    "schema_version %.*s is unknown, this program reads version %d; use a "
			    "newer wcprof-analyze",
			    (int)(json->at - begin < 40 ? json->at - begin : 40), begin,
			    READ_SCHEMA_VERSION);
}

static bool read_process(struct reading *reading, struct json *json)
{
	static const struct member members[] = {
#define PROCESS_KEY(name, key, type, meaning) MEMBER_##type(struct dump, name, key)
#include "keys.def"
	};

	return read_members(reading, json, members, sizeof(members) / sizeof(members[0]),
			    &reading->dump);
}

enum header_key {
#define HEADER_KEY(name, key, type, meaning) HEADER_##name,
#include "keys.def"
};

/* In the order in which they are read; the dump's place in time and its process come between. */
#define SECTION_NUMBER(name, key) [HEADER_##name] = { key, NULL, offsetof(struct dump, name) },
#define SECTION_PART(name, key)   [HEADER_##name] = { key, read_##name, 0 },
#define SECTION_UNREAD(name, key)
static const struct section {
	const char *name;
	bool (*read)(struct reading *reading, struct json *json);
	size_t offset; /* without a function: of a number in struct dump */
} sections[] = {
#define HEADER_KEY(name, key, type, meaning) SECTION_##type(name, key)
#include "keys.def"
};

enum {
	SECTIONS = sizeof(sections) / sizeof(sections[0]),
	SECTIONS_ABOUT = HEADER_process + 1 /* the first ones: about the dump itself */
};
_Static_assert((int)SECTIONS == (int)HEADER_recorder, "what is not read comes last");

bool read_is_header_key(const struct json_text *key)
{
	const char *name = sections[HEADER_schema_version].name;

	return key->length == strlen(name) && memcmp(key->bytes, name, key->length) == 0;
}

bool read_is_header(const char *bytes, size_t count)
{
#define HEADER_KEY(name, key, type, meaning) [HEADER_##name] = "\"" key "\"",
	static const char *const quoted[] = {
#include "keys.def"
	};
	const char *key = quoted[HEADER_schema_version];

	return memmem(bytes, count, key, strlen(key)) != NULL;
}

/* Where each section's value is, NULL = nowhere; of two the last counts. */
static bool find_sections(struct json *json, const char *places[SECTIONS])
{
	struct walk walk = walk_begin(json);
	size_t i;

	if (!json_open_object(json))
		return false;
	while (walk_member(&walk)) {
		for (i = 0; i < SECTIONS; i++)
			if (walk_is_name(&walk, sections[i].name))
				places[i] = i > 0 && *json->at == 'n'
						    ? NULL
						    : json->at; /* null: as if absent */
		if (!json_skip(json))
			return false;
	}
	return !json->error && json_finish(json);
}

static bool read_section(struct reading *reading, struct json *json, const struct section *section)
{
	if (section->read)
		return section->read(reading, json);
	return json_take_uint(json, (uint64_t *)(void *)((char *)&reading->dump + section->offset));
}

static bool read_sections(struct reading *reading, struct json *json,
			  const char *const places[SECTIONS], size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (!places[i])
			continue;
		json->at = places[i];
		if (!read_section(reading, json, &sections[i]))
			return false;
	}
	return true;
}

static void dump_begin(struct reading *reading)
{
	struct dump *dump = &reading->dump;

	*dump = (struct dump){
		.strings = dump->strings,
		.string_capacity = dump->string_capacity,
		.modules = dump->modules,
		.module_capacity = dump->module_capacity,
		.stacks = dump->stacks,
		.stack_capacity = dump->stack_capacity,
	};
}

static bool place_process(struct reading *reading)
{
	struct recording *recording = reading->recording;
	struct dump *dump = &reading->dump;
	struct rec_process *process;

	/* A program that a process goes on with by exec counts its ops anew; its epoch is new. */
	uint64_t image = dump->pid || dump->start_unix_ns ? dump->epoch_unix_ns : 0;
	dump->process =
		idmap_index(&reading->process_ids, 0,
			    reading_hash(reading_hash(dump->pid, dump->start_unix_ns), image));
	if (dump->process == NO_INDEX)
		return reading_fail_memory(reading);
	assert(dump->process <= recording->process_count);
	if (dump->process == recording->process_count) {
		if (!reading_reserve(reading, &recording->processes, &reading->process_capacity,
				     recording->process_count, sizeof(*recording->processes)))
			return false;
		recording->processes[recording->process_count++] =
			(struct rec_process){ .op = NO_INDEX };
	}
	process = &recording->processes[dump->process];
	process->pid = (uint32_t)dump->pid;
	process->ppid = (uint32_t)dump->ppid;
	process->exe = dump->exe;
	process->host = dump->host;
	process->boot = dump->boot;
	process->client = dump->client;
	process->network = dump->network;
	process->cpus = dump->cpus < UINT32_MAX ? (uint32_t)dump->cpus : UINT32_MAX;
	process->cache_cpus = dump->cache_cpus < UINT32_MAX ? (uint32_t)dump->cache_cpus : 0;
	process->tick_ns = dump->tick_ns;
	process->start_unix_ns = dump->start_unix_ns;
	process->cpu_ns = dump->cpu_ns;
	process->voluntary_switches = dump->voluntary_switches;
	process->involuntary_switches = dump->involuntary_switches;
	process->own_ns = dump->own_ns;
	process->own_events_ns = dump->own_events_ns;
	process->own_slow_ns = dump->own_slow_ns;
	process->own_start_ns = dump->own_start_ns;
	process->own_control_ns = dump->own_control_ns;
	process->own_dumps_ns = dump->own_dumps_ns;
	process->own_window_ns = dump->own_window_ns;
	process->budget_ppm = dump->budget_ppm;
	process->budget_span_ns += dump->budget_span_ns;
	process->budget_on_ns += dump->budget_on_ns;
	process->budget_cost_ppm = dump->budget_cost_ppm;
	process->quota_milli_cpus = dump->quota_milli_cpus;
	process->stopped_ns = dump->stopped_ns;
	process->filtered_ns = dump->filtered_ns;
	process->unsampled_ns = dump->unsampled_ns;
	process->unsampled_why = dump->unsampled_why;
	process->service = dump->service;
	process->service_version = dump->service_version;
	process->environment = dump->environment;
	return true;
}

/* The monotonic clock of a boot is exact; the wall clock may have been set in between. */
static uint64_t time_offset(const struct reading *reading)
{
	const struct dump *dump = &reading->dump;
	size_t i;

	for (i = 0; i < reading->boot_count; i++)
		if (dump->epoch_mono_ns != 0 && dump->boot != 0 &&
		    reading->boots[i].id == dump->boot)
			return reading->boots[i].offset_ns + dump->epoch_mono_ns -
			       reading->boots[i].mono_ns;
	return dump->epoch_unix_ns - reading->first_epoch_unix_ns;
}

static bool note_boot(struct reading *reading)
{
	const struct dump *dump = &reading->dump;
	size_t i;

	if (dump->epoch_mono_ns == 0 || dump->boot == 0)
		return true;
	for (i = 0; i < reading->boot_count; i++)
		if (reading->boots[i].id == dump->boot)
			return true;
	if (!reading_reserve(reading, &reading->boots, &reading->boot_capacity, reading->boot_count,
			     sizeof(*reading->boots)))
		return false;
	reading->boots[reading->boot_count++] =
		(struct boot){ dump->boot, dump->epoch_mono_ns, dump->offset_ns };
	return true;
}

static bool place_in_time(struct reading *reading)
{
	struct recording *recording = reading->recording;
	struct dump *dump = &reading->dump;
	int64_t offset_ns;

	if (recording->dump_count == 0)
		reading->first_epoch_unix_ns = dump->epoch_unix_ns;
	dump->offset_ns = time_offset(reading);
	offset_ns = (int64_t)dump->offset_ns;
	if (offset_ns > (int64_t)READ_TIME_NS_MAX || offset_ns < -(int64_t)READ_TIME_NS_MAX)
		return reading_fail(reading, -EBADMSG, reading_line(reading),
				    "this dump's epoch is over 36 years from that of the first "
				    "one; analyse them apart");
	if (offset_ns < reading->offset_min_ns)
		reading->offset_min_ns = offset_ns;
	dump->end_ns = dump->dumped_unix_ns > dump->epoch_unix_ns
			       ? dump->dumped_unix_ns - dump->epoch_unix_ns
			       : 0;
	if (dump->end_ns > READ_TIME_NS_MAX)
		return reading_fail(reading, -EBADMSG, reading_line(reading),
				    "dumped_unix_nano is over 36 years after epoch_unix_nano; take "
				    "the dump again");
	if (recording->dump_count == 0 ||
	    (int64_t)(dump->end_ns + dump->offset_ns - recording->end_ns) > 0)
		recording->end_ns = dump->end_ns + dump->offset_ns;
	recording->dropped_events += dump->dropped_events;
	recording->dump_count++;
	return note_boot(reading);
}

bool reading_add_window(struct reading *reading, struct rec_window window)
{
	struct recording *recording = reading->recording;

	if (!reading_reserve(reading, &recording->windows, &reading->window_capacity,
			     recording->window_count, sizeof(*recording->windows)))
		return false;
	window.was_turned_off = window.to_ns < reading->dump.end_ns;
	window.from_ns += reading->dump.offset_ns;
	window.to_ns += reading->dump.offset_ns;
	recording->windows[recording->window_count++] = window;
	return true;
}

void read_dump_end(struct reading *reading)
{
	const struct dump *dump = &reading->dump;

	if (reading->has_header && dump->event_count > dump->events_seen)
		reading->recording->missing_events += dump->event_count - dump->events_seen;
	reading->dump.event_count = 0;
}

bool read_header(struct reading *reading, struct json *json)
{
	const char *places[SECTIONS] = { NULL };
	const char *begin = json->at;
	const char *line_end;

	assert(reading->file_count > 0);
	if (!find_sections(json, places))
		return reading_fail_json(reading, json, begin);
	line_end = json->at;
	read_dump_end(reading);
	dump_begin(reading);
	if (!read_sections(reading, json, places, 0, SECTIONS_ABOUT) || !place_in_time(reading) ||
	    !place_process(reading) ||
	    !read_sections(reading, json, places, SECTIONS_ABOUT, SECTIONS))
		return reading->status != 0 ? false : reading_fail_json(reading, json, begin);
	reading->has_header = true;
	json->at = line_end;
	return true;
}

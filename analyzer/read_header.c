/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header line of a dump: what its events refer to by number.
 *
 * The line is passed over twice: first to find where each section is, then to read the sections in
 * the order in which they need each other, whatever their order in the line. Drains of one process
 * repeat most of what they say, so processes, threads, modules, stacks and counters are found again
 * by their contents.
 */
#include "intern.h"
#include "reading.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

/* Steps over arrays and objects; false at the end or after an error, which then is in the json. */
struct walk {
	struct json *json;
	bool is_first;
	struct json_text name;
};

static struct walk walk_begin(struct json *json)
{
	return (struct walk){ .json = json, .is_first = true };
}

static bool walk_element(struct walk *walk)
{
	return json_element(walk->json, &walk->is_first);
}

static bool walk_member(struct walk *walk)
{
	return json_member(walk->json, &walk->is_first, &walk->name);
}

static bool is_name(const struct walk *walk, const char *name)
{
	return strncmp(walk->name.bytes, name, walk->name.length) == 0 &&
	       name[walk->name.length] == '\0';
}

/* A member of an object that is a number or a string; the rest of these functions go through a
 * table. */
struct member {
	const char *name;
	bool is_text;
	size_t offset; /* of a uint64_t, or of a uint32_t string id for text */
};

static bool read_member(struct reading *reading, struct json *json, const struct member *member,
			void *object)
{
	void *value = (char *)object + member->offset;
	struct json_text text;

	if (*json->at == 'n')
		return json_skip(json);
	if (!member->is_text)
		return json_take_uint(json, value);
	return json_take_string(json, &text) && reading_text(reading, &text, value);
}

/* An object by its table of `count` members; others are passed over. */
static bool read_members(struct reading *reading, struct json *json, const struct member *members,
			 size_t count, void *object)
{
	struct walk walk = walk_begin(json);
	size_t i;

	if (!json_open_object(json))
		return false;
	while (walk_member(&walk)) {
		for (i = 0; i < count && !is_name(&walk, members[i].name); i++)
			continue;
		if (i == count ? !json_skip(json)
			       : !read_member(reading, json, &members[i], object))
			return false;
	}
	return !json->error;
}

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
	return reading_fail(
		reading, -EPROTONOSUPPORT, reading_line(reading),
		"schema_version %.*s is unknown, this program reads version %d; use a newer wcprof-analyze",
		(int)(json->at - begin < 40 ? json->at - begin : 40), begin, READ_SCHEMA_VERSION);
}

static bool read_process(struct reading *reading, struct json *json)
{
	static const struct member members[] = {
		{ "pid", false, offsetof(struct dump, pid) },
		{ "ppid", false, offsetof(struct dump, ppid) },
		{ "exe", true, offsetof(struct dump, exe) },
		{ "host", true, offsetof(struct dump, host) },
		{ "boot_id", true, offsetof(struct dump, boot) },
		{ "cpus", false, offsetof(struct dump, cpus) },
		{ "start_unix_nano", false, offsetof(struct dump, start_unix_ns) },
		{ "client", true, offsetof(struct dump, client) },
	};

	return read_members(reading, json, members, sizeof(members) / sizeof(members[0]),
			    &reading->dump);
}

static bool read_strings(struct reading *reading, struct json *json)
{
	struct dump *dump = &reading->dump;
	struct walk walk = walk_begin(json);
	struct json_text text;

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!reading_reserve(reading, &dump->strings, &dump->string_capacity,
				     dump->string_count, sizeof(*dump->strings)))
			return false;
		if (!json_take_string(json, &text) ||
		    !reading_text(reading, &text, &dump->strings[dump->string_count]))
			return false;
		dump->string_count++;
	}
	return !json->error;
}

struct module_members {
	uint64_t base;
	uint64_t start;
	uint64_t size;
	uint32_t path;
	uint32_t build_id;
};

static bool add_module(struct reading *reading, const struct module_members *members,
		       uint32_t *module)
{
	struct recording *recording = reading->recording;
	uint64_t hash = reading_hash(reading_hash(members->base, members->start), members->size);

	hash = reading_hash(hash, (uint64_t)members->path << 32 | members->build_id);
	*module = idmap_index(&reading->module_ids, reading->dump.process, hash);
	if (*module == NO_INDEX)
		return reading_fail_memory(reading);
	if (*module < recording->module_count)
		return true;
	if (!reading_reserve(reading, &recording->modules, &reading->module_capacity,
			     recording->module_count, sizeof(*recording->modules)))
		return false;
	recording->modules[recording->module_count++] = (struct rec_module){
		.process = reading->dump.process,
		.path = members->path,
		.build_id = members->build_id,
		.base = members->base,
		.start = members->start,
		.size = members->size,
	};
	return true;
}

static bool read_modules(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
		{ "path", true, offsetof(struct module_members, path) },
		{ "build_id", true, offsetof(struct module_members, build_id) },
		{ "base", false, offsetof(struct module_members, base) },
		{ "start", false, offsetof(struct module_members, start) },
		{ "size", false, offsetof(struct module_members, size) },
	};
	struct dump *dump = &reading->dump;
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct module_members members = { 0 };

		if (!reading_reserve(reading, &dump->modules, &dump->module_capacity,
				     dump->module_count, sizeof(*dump->modules)))
			return false;
		if (!read_members(reading, json, table, sizeof(table) / sizeof(table[0]),
				  &members) ||
		    !add_module(reading, &members, &dump->modules[dump->module_count]))
			return false;
		dump->module_count++;
	}
	return !json->error;
}

static bool add_frame(struct reading *reading, int64_t module, uint64_t offset)
{
	struct recording *recording = reading->recording;
	uint32_t index = NO_INDEX;

	if (module != -1) {
		if (module < 0 || (uint64_t)module >= reading->dump.module_count)
			return reading_fail_here(
				reading, "a stack with module %" PRId64 ", but the header has %zu",
				module, reading->dump.module_count);
		index = reading->dump.modules[module];
	}
	if (!reading_reserve(reading, &recording->frames, &reading->frame_capacity,
			     recording->frame_count, sizeof(*recording->frames)))
		return false;
	recording->frames[recording->frame_count++] =
		(struct rec_frame){ .module = index, .offset = offset };
	return true;
}

/* Makes the frames from `first_frame` on a stack, or drops them again when there is such a stack
 * already. */
static bool add_stack(struct reading *reading, size_t first_frame, uint32_t *stack)
{
	struct recording *recording = reading->recording;
	uint64_t hash = recording->frame_count - first_frame;
	size_t i;

	for (i = first_frame; i < recording->frame_count; i++)
		hash = reading_hash(reading_hash(hash, recording->frames[i].module),
				    recording->frames[i].offset);
	*stack = idmap_index(&reading->stack_ids, 0, hash);
	if (*stack == NO_INDEX)
		return reading_fail_memory(reading);
	if (*stack < recording->stack_count) {
		recording->frame_count = first_frame;
		return true;
	}
	if (!reading_reserve(reading, &recording->stacks, &reading->stack_capacity,
			     recording->stack_count, sizeof(*recording->stacks)))
		return false;
	recording->stacks[recording->stack_count++] = (struct rec_stack){
		.first_frame = (uint32_t)first_frame,
		.frame_count = (uint32_t)(recording->frame_count - first_frame),
	};
	return true;
}

static bool read_stack(struct reading *reading, struct json *json, uint32_t *stack)
{
	size_t first_frame = reading->recording->frame_count;
	struct walk walk = walk_begin(json);
	uint64_t frame_offset;
	int64_t module;

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!json_take_int(json, &module))
			return false;
		if (!walk_element(&walk))
			return json->error ? false : json_fail(json, "a frame without an offset");
		if (!json_take_uint(json, &frame_offset) ||
		    !add_frame(reading, module, frame_offset))
			return false;
	}
	return !json->error && add_stack(reading, first_frame, stack);
}

static bool read_stacks(struct reading *reading, struct json *json)
{
	struct dump *dump = &reading->dump;
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!reading_reserve(reading, &dump->stacks, &dump->stack_capacity,
				     dump->stack_count, sizeof(*dump->stacks)))
			return false;
		if (!read_stack(reading, json, &dump->stacks[dump->stack_count]))
			return false;
		dump->stack_count++;
	}
	return !json->error;
}

struct thread_members {
	uint64_t thread;
	uint64_t tid;
	uint64_t op;
	uint32_t name;
};

static bool read_threads(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
		{ "th", false, offsetof(struct thread_members, thread) },
		{ "tid", false, offsetof(struct thread_members, tid) },
		{ "op", false, offsetof(struct thread_members, op) },
		{ "name", true, offsetof(struct thread_members, name) },
	};
	struct walk walk = walk_begin(json);
	struct rec_thread *thread;
	uint32_t index, op;

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct thread_members members = { 0 };

		if (!read_members(reading, json, table, sizeof(table) / sizeof(table[0]),
				  &members) ||
		    !event_thread(reading, members.thread, &index) ||
		    !event_id(reading, members.op, &op))
			return false;
		if (index == NO_INDEX)
			continue;
		thread = &reading->recording->threads[index];
		thread->tid = (uint32_t)members.tid;
		thread->name = members.name;
		if (op != NO_INDEX)
			thread->op = op;
	}
	return !json->error;
}

static enum event_field open_field(const struct walk *walk)
{
	static const struct {
		const char *name;
		enum event_field field;
	} fields[] = {
		{ "op_id", FIELD_ID },
		{ "parent_id", FIELD_PARENT },
		{ "kind", FIELD_KIND },
		{ "work_type", FIELD_WORK },
		{ "class_id", FIELD_CLASS },
		{ "ident_id", FIELD_IDENT },
		{ "client_id", FIELD_CLIENT },
		{ "meta_id", FIELD_META },
		{ "start_ns", FIELD_START },
		{ "th", FIELD_THREAD },
		{ "st", FIELD_STACK },
		{ "a", FIELD_ADDRESS },
		{ "fd", FIELD_FD },
		{ "rs", FIELD_REASON },
		{ "p", FIELD_PARENT },
		{ "t", FIELD_TARGET },
		{ "i", FIELD_IDENT },
		{ "s", FIELD_START },
		{ "c", FIELD_CLASS },
		{ "n", FIELD_BYTES },
		{ "rq", FIELD_REQUESTED },
		{ "abs", FIELD_ABSOLUTE },
		{ "sq", FIELD_SEQ },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (is_name(walk, fields[i].name))
			return fields[i].field;
	return FIELD_UNKNOWN;
}

static bool read_open_event(struct reading *reading, struct json *json, enum event_type type)
{
	struct walk walk = walk_begin(json);
	struct event event;

	event_begin(&event);
	event.is_open = true;
	if (!json_open_object(json))
		return false;
	while (walk_member(&walk))
		if (!event_field_read(reading, json, open_field(&walk), &event))
			return false;
	if (json->error)
		return false;
	return type == EVENT_OP ? event_add_op(reading, &event) : event_add_wait(reading, &event);
}

static bool read_open_ops(struct reading *reading, struct json *json)
{
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk))
		if (!read_open_event(reading, json, EVENT_OP))
			return false;
	return !json->error;
}

static bool read_open_waits(struct reading *reading, struct json *json)
{
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk))
		if (!read_open_event(reading, json, EVENT_WAIT))
			return false;
	return !json->error;
}

/* The latest dump's value counts: they only grow. */
static bool set_counter(struct reading *reading, uint32_t name, uint64_t value)
{
	struct recording *recording = reading->recording;
	uint32_t counter = idmap_index(&reading->counter_ids, reading->dump.process, name);

	if (counter == NO_INDEX)
		return reading_fail_memory(reading);
	if (counter == recording->counter_count) {
		if (!reading_reserve(reading, &recording->counters, &reading->counter_capacity,
				     recording->counter_count, sizeof(*recording->counters)))
			return false;
		recording->counter_count++;
	}
	recording->counters[counter] = (struct rec_counter){ reading->dump.process, name, value };
	return true;
}

static bool read_counters(struct reading *reading, struct json *json)
{
	struct walk walk = walk_begin(json);
	uint32_t name;
	uint64_t value;

	if (!json_open_object(json))
		return false;
	while (walk_member(&walk)) {
		struct json number = *json;

		if (json_take_uint(&number, &value)) {
			*json = number;
			if (!reading_text(reading, &walk.name, &name) ||
			    !set_counter(reading, name, value))
				return false;
		} else if (!json_skip(json)) {
			return false;
		}
	}
	return !json->error;
}

/* In the order in which they are read; the dump's place in time and its process come between. */
static const struct section {
	const char *name;
	bool (*read)(struct reading *reading, struct json *json);
	size_t offset; /* without a function: of a number in struct dump */
} sections[] = {
	{ "schema_version", read_schema_version, 0 },
	{ "epoch_unix_nano", NULL, offsetof(struct dump, epoch_unix_ns) },
	{ "dumped_unix_nano", NULL, offsetof(struct dump, dumped_unix_ns) },
	{ "epoch_mono_nano", NULL, offsetof(struct dump, epoch_mono_ns) },
	{ "dropped_events", NULL, offsetof(struct dump, dropped_events) },
	{ "event_count", NULL, offsetof(struct dump, event_count) },
	{ "process", read_process, 0 },
	{ "strings", read_strings, 0 },
	{ "modules", read_modules, 0 },
	{ "stacks", read_stacks, 0 },
	{ "threads", read_threads, 0 },
	{ "open_ops", read_open_ops, 0 },
	{ "open_waits", read_open_waits, 0 },
	{ "counters", read_counters, 0 },
};

enum {
	SECTIONS = sizeof(sections) / sizeof(sections[0]),
	SECTIONS_ABOUT = 7 /* the first ones: about the dump itself */
};

/* Where each section's value is, NULL = nowhere; of two the last counts. */
static bool find_sections(struct json *json, const char *places[SECTIONS])
{
	struct walk walk = walk_begin(json);
	size_t i;

	if (!json_open_object(json))
		return false;
	while (walk_member(&walk)) {
		for (i = 0; i < SECTIONS; i++)
			if (is_name(&walk, sections[i].name))
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

	dump->process =
		idmap_index(&reading->process_ids, 0, reading_hash(dump->pid, dump->start_unix_ns));
	if (dump->process == NO_INDEX)
		return reading_fail_memory(reading);
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
	process->client = dump->client;
	process->cpus = dump->cpus < UINT32_MAX ? (uint32_t)dump->cpus : UINT32_MAX;
	process->start_unix_ns = dump->start_unix_ns;
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
		return reading_fail(
			reading, -EBADMSG, reading_line(reading),
			"this dump's epoch is over 36 years from that of the first one; analyse them apart");
	if (offset_ns < reading->offset_min_ns)
		reading->offset_min_ns = offset_ns;
	dump->end_ns = dump->dumped_unix_ns > dump->epoch_unix_ns
			       ? dump->dumped_unix_ns - dump->epoch_unix_ns
			       : 0;
	if (dump->end_ns > READ_TIME_NS_MAX)
		return reading_fail(
			reading, -EBADMSG, reading_line(reading),
			"dumped_unix_nano is over 36 years after epoch_unix_nano; take the dump again");
	if (recording->dump_count == 0 ||
	    (int64_t)(dump->end_ns + dump->offset_ns - recording->end_ns) > 0)
		recording->end_ns = dump->end_ns + dump->offset_ns;
	recording->dropped_events += dump->dropped_events;
	recording->dump_count++;
	return note_boot(reading);
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

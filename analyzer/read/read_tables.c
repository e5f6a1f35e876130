/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables in a header: strings, modules, stacks, threads, what was open, counters.
 *
 * Drains of one process repeat most of what they say, so threads, modules, stacks and counters are
 * found again by their contents. Tables in struct dump lead from the dump's own numbers to those of
 * the recording. One thread.
 */
#include "read_members.h"
#include "reading.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

bool read_strings(struct reading *reading, struct json *json)
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
	uint64_t loaded_ns;
	uint64_t unloaded_ns;
	uint32_t path;
	uint32_t build_id;
	uint64_t inline_syscalls; /* UINT64_MAX: the dump does not say */
};

/* A later dump may know that it is gone, or that it is there again, or what its code does. */
static void update_module(struct reading *reading, const struct module_members *members,
			  struct rec_module *module)
{
	uint64_t offset_ns = reading->dump.offset_ns;

	module->loaded_ns = members->loaded_ns ? members->loaded_ns + offset_ns : 0;
	module->unloaded_ns = members->unloaded_ns ? members->unloaded_ns + offset_ns : 0;
	if (members->inline_syscalls == UINT64_MAX)
		return;
	module->has_syscalls = true;
	module->syscalls = members->inline_syscalls;
}

static bool add_module(struct reading *reading, const struct module_members *members,
		       uint32_t *module)
{
	struct recording *recording = reading->recording;
	uint64_t hash = reading_hash(reading_hash(members->base, members->start), members->size);

	if (members->loaded_ns > READ_TIME_NS_MAX || members->unloaded_ns > READ_TIME_NS_MAX)
		return reading_fail_here(reading, "a module was loaded over 36 years after the "
						  "recording began; take the dump again");

	hash = reading_hash(hash, (uint64_t)members->path << 32 | members->build_id);
	*module = idmap_index(&reading->module_ids, reading->dump.process, hash);
	if (*module == NO_INDEX)
		return reading_fail_memory(reading);
	assert(*module <= recording->module_count);
	if (*module < recording->module_count) {
		update_module(reading, members, &recording->modules[*module]);
		return true;
	}
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
	update_module(reading, members, &recording->modules[*module]);
	return true;
}

bool read_modules(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
#define MODULE_KEY(name, key, type, meaning) MEMBER_##type(struct module_members, name, key)
#include "keys.def"
	};
	struct dump *dump = &reading->dump;
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct module_members members = { .inline_syscalls = UINT64_MAX };

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

/* The module that stands for the code outside all files of this dump's process. */
static bool jit_module(struct reading *reading, uint32_t *module)
{
	const struct json_text path = { REC_JIT_PATH, sizeof(REC_JIT_PATH) - 1, true };
	struct module_members members = { 0 };

	return reading_text(reading, &path, &members.path) && add_module(reading, &members, module);
}

static bool add_frame(struct reading *reading, int64_t module, uint64_t offset)
{
	struct recording *recording = reading->recording;
	uint32_t index;

	if (module == -2) {
		uint32_t string;

		if (!reading_string(reading, offset, &string))
			return false;
		offset = REC_FRAME_TEXT + string;
	}
	if (module == -1 || module == -2) {
		if (!jit_module(reading, &index))
			return false;
	} else {
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

bool reading_add_stack(struct reading *reading, size_t first_frame, uint32_t *stack)
{
	struct recording *recording = reading->recording;
	uint64_t hash = recording->frame_count - first_frame;
	size_t i;

	assert(first_frame <= recording->frame_count);
	for (i = first_frame; i < recording->frame_count; i++)
		hash = reading_hash(reading_hash(hash, recording->frames[i].module),
				    recording->frames[i].offset);
	*stack = idmap_index(&reading->stack_ids, 0, hash);
	if (*stack == NO_INDEX)
		return reading_fail_memory(reading);
	assert(*stack <= recording->stack_count);
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
	return !json->error && reading_add_stack(reading, first_frame, stack);
}

bool read_stacks(struct reading *reading, struct json *json)
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

/* More than any that the kernel has: beyond, only what is in the file would be odd. */
enum { WEIGHT_MAX = 1 << 20 };

struct thread_members {
	uint64_t thread;
	uint64_t tid;
	uint64_t op;
	uint64_t weight;
	uint32_t name;
};

bool read_threads(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
#define THREAD_KEY(name, key, type, meaning) MEMBER_##type(struct thread_members, name, key)
#include "keys.def"
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
		thread->weight =
			members.weight < WEIGHT_MAX ? (uint32_t)members.weight : WEIGHT_MAX;
		if (op != NO_INDEX)
			thread->op = op;
	}
	return !json->error;
}

static enum event_field open_field(const struct reading *reading, const struct walk *walk)
{
#define OPEN_KEY(name, key, event_key, meaning) \
	if (walk_is_name(walk, key))            \
		return FIELD_##event_key;
#include "keys.def"
	return fields_find(&reading->fields, &walk->name);
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
		if (!event_field_read(reading, json, open_field(reading, &walk), &event))
			return false;
	if (json->error)
		return false;
	return type == EVENT_OP ? event_add_op(reading, &event) : event_add_wait(reading, &event);
}

bool read_open_ops(struct reading *reading, struct json *json)
{
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk))
		if (!read_open_event(reading, json, EVENT_OP))
			return false;
	return !json->error;
}

bool read_open_waits(struct reading *reading, struct json *json)
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
	assert(counter <= recording->counter_count);
	if (counter == recording->counter_count) {
		if (!reading_reserve(reading, &recording->counters, &reading->counter_capacity,
				     recording->counter_count, sizeof(*recording->counters)))
			return false;
		recording->counter_count++;
	}
	recording->counters[counter] = (struct rec_counter){ reading->dump.process, name, value };
	return true;
}

bool read_counters(struct reading *reading, struct json *json)
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

struct object_members {
	uint64_t address;
	uint64_t since_ns;
	uint64_t device;
	uint64_t inode;
	uint64_t offset;
};

static bool add_object(struct reading *reading, const struct object_members *members)
{
	const struct dump *dump = &reading->dump;
	uint64_t hash = reading_hash(reading_hash(dump->boot, members->device), members->inode);
	uint32_t object = idmap_index(&reading->object_ids, 0, reading_hash(hash, members->offset));

	if (object == NO_INDEX)
		return reading_fail_memory(reading);
	if (!reading_reserve(reading, &reading->objects, &reading->object_capacity,
			     reading->object_count, sizeof(*reading->objects)))
		return false;
	reading->objects[reading->object_count++] =
		(struct shared_object){ members->address, members->since_ns + dump->offset_ns,
					dump->process, object };
	return true;
}

bool read_objects(struct reading *reading, struct json *json)
{
	static const struct member table[] = {
#define OBJECT_KEY(name, key, type, meaning) MEMBER_##type(struct object_members, name, key)
#include "keys.def"
	};
	struct walk walk = walk_begin(json);

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct object_members members = { 0 };

		if (!read_members(reading, json, table, sizeof(table) / sizeof(table[0]), &members))
			return false;
		if (members.since_ns > READ_TIME_NS_MAX)
			return reading_fail_here(reading,
						 "a shared object from %" PRIu64 " ns on, over 36 "
						 "years after the recording began",
						 members.since_ns);
		if (!add_object(reading, &members))
			return false;
	}
	return !json->error;
}

/* Inodes by twos. */
bool read_peers(struct reading *reading, struct json *json)
{
	struct recording *recording = reading->recording;
	struct walk walk = walk_begin(json);
	struct rec_peer peer = { .process = reading->dump.process };

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!json_take_uint(json, &peer.inode))
			return false;
		if (!walk_element(&walk))
			return json->error ? false : json_fail(json, "a socket without a peer");
		if (!json_take_uint(json, &peer.peer) ||
		    !reading_reserve(reading, &recording->peers, &reading->peer_capacity,
				     recording->peer_count, sizeof(*recording->peers)))
			return false;
		recording->peers[recording->peer_count++] = peer;
	}
	return !json->error;
}

/* Pairs of times. Without any recording was off: a window without length says so. */
bool read_windows(struct reading *reading, struct json *json)
{
	const struct dump *dump = &reading->dump;
	struct walk walk = walk_begin(json);
	struct rec_window window = { dump->end_ns, dump->end_ns, dump->process, false };
	bool has_any = false;

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!json_take_uint(json, &window.from_ns))
			return false;
		if (!walk_element(&walk))
			return json->error ? false : json_fail(json, "a time without its pair");
		if (!json_take_uint(json, &window.to_ns))
			return false;
		if (window.from_ns > window.to_ns || window.to_ns > READ_TIME_NS_MAX)
			return reading_fail_here(reading,
						 "recording was on from %" PRIu64 " to %" PRIu64
						 " ns, which cannot be",
						 window.from_ns, window.to_ns);
		if (!reading_add_window(reading, window))
			return false;
		has_any = true;
	}
	return !json->error && (has_any || reading_add_window(reading, window));
}

/* Pairs of a time and the idle time until then. */
bool read_idle(struct reading *reading, struct json *json)
{
	struct recording *recording = reading->recording;
	struct walk walk = walk_begin(json);
	struct rec_idle idle = { .process = reading->dump.process };

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!json_take_uint(json, &idle.at_ns))
			return false;
		if (!walk_element(&walk))
			return json->error ? false : json_fail(json, "a time without idle time");
		if (!json_take_uint(json, &idle.idle_ns))
			return false;
		if (idle.at_ns > READ_TIME_NS_MAX)
			return reading_fail_here(reading,
						 "idle time until %" PRIu64
						 " ns, over 36 years after the recording began",
						 idle.at_ns);
		if (!reading_reserve(reading, &recording->idles, &reading->idle_capacity,
				     recording->idle_count, sizeof(*recording->idles)))
			return false;
		recording->idles[recording->idle_count] = idle;
		recording->idles[recording->idle_count++].at_ns += reading->dump.offset_ns;
	}
	return !json->error;
}

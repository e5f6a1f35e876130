/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump: an arena as JSON lines. See dump.h.
 *
 * The dump is a sequence of parts, each a function that writes one element and says whether there
 * is another one. dump_fill() calls them while a whole element still fits into the buffer. So a
 * dump can stop anywhere and go on later, and needs no more memory than the buffer. First line: the
 * header; then one event a line. Keys whose value is zero or empty are left out; keys.def has all
 * of them.
 */
#include "dump.h"

#include <assert.h>
#include <string.h>

#include "age.h"
#include "chunk.h"
#include "costtext.h"
#include "dumpkeys.h"
#include "eventtext.h"
#include "idle.h"
#include "inlined.h"
#include "modules.h"
#include "objects.h"
#include "opening.h"
#include "peers.h"
#include "probetext.h"
#include "stacks.h"
#include "strings.h"
#include "weight.h"

#include "in_target.h"

_Static_assert(DUMP_PIECE_BYTES_MAX > 6 * STRING_BYTES_MAX + 64, "a string is one piece");
_Static_assert(DUMP_PIECE_BYTES_MAX > STACK_FRAMES_MAX * 32, "a stack is one piece");
_Static_assert(DUMP_PIECE_BYTES_MAX > 6 * sizeof(((struct arena *)0)->argv) + 4096,
	       "the process is one piece");

enum { SCHEMA_VERSION = 1 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- The header ------------------------------------------------------------------------------ */

static void put_comma(struct dump *dump)
{
	if (dump->written++ > 0)
		text_put_literal(&dump->text, ",");
}

/* Begins a list before its first element, and ends it after its last one; whether element
 * dump->index is to be written. */
static bool list_goes_on(struct dump *dump, const char *key, uint32_t count)
{
	if (dump->index == 0) {
		text_put_key(&dump->text, key);
		text_put_literal(&dump->text, "[");
	}
	if (dump->index == count)
		text_put_literal(&dump->text, "]");
	return dump->index < count;
}

static void put_string_by_id(const struct dump *dump, struct text *text, uint32_t id)
{
	uint32_t bytes;
	const char *string = strings_get(dump->arena, id, &bytes);

	text_put_json(text, string, bytes);
}

static bool write_start(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;
	struct text *text = &dump->text;

	text_put_literal(text, "{");
	text_put_key_u64(text, keys.header.schema_version, SCHEMA_VERSION);
	text_put_key_u64(text, keys.header.epoch_unix_ns, snapshot->clock.base.real_ns);
	text_put_key_u64(text, keys.header.epoch_mono_ns,
			 snapshot->clock.base.mono_ns - (uint64_t)dump->arena->mono_offset_ns);
	text_put_key_u64(text, keys.header.dumped_unix_ns,
			 snapshot->clock.base.real_ns + dump_ns(dump, snapshot->now.ticks));
	text_put_key_u64(text, keys.header.dropped_events, snapshot->losses);
	text_put_key_u64(text, keys.header.event_count, snapshot->event_count);
	text_put_key(text, keys.header.recorder);
	text_put_literal(text, "{");
	text_put_key_string(text, keys.recorder.name, "wcprof");
	text_put_key_string(text, keys.recorder.version, WCPROF_VERSION);
	text_put_literal(text, "}");
	return true;
}

static void put_argv(struct text *text, const struct arena *arena)
{
	const char *at = arena->argv;
	const char *end = at + arena->argv_bytes;

	text_put_key(text, keys.process.argv);
	text_put_literal(text, "[");
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));

		if (at > arena->argv)
			text_put_literal(text, ",");
		text_put_json(text, at, length);
		at += length + 1;
	}
	text_put_literal(text, "]");
}

/* Another process may write to an arena: a reason that is none has no name. */
static void put_unsampled(struct dump *dump, struct text *text)
{
	static const char *const reasons[UNSAMPLED_REASONS] = { "taken", "go" };
	uint64_t ticks = load_acquire(&dump->arena->unsampled_ticks);
	uint32_t why = load_relaxed(&dump->arena->unsampled_why);

	if (ticks == 0)
		return;
	text_put_key_u64(text, keys.process.unsampled_ns, dump_ns(dump, ticks));
	text_put_key_string(text, keys.process.unsampled_why,
			    reasons[why < UNSAMPLED_REASONS ? why : UNSAMPLED_TAKEN]);
}

static void put_deployment(const struct deployment *deployment, struct text *text)
{
	if (deployment->name[0])
		text_put_key_string(text, keys.process.service, deployment->name);
	if (deployment->version[0])
		text_put_key_string(text, keys.process.service_version, deployment->version);
	if (deployment->environment[0])
		text_put_key_string(text, keys.process.environment, deployment->environment);
	if (deployment->instance[0])
		text_put_key_string(text, keys.process.service_instance, deployment->instance);
}

static bool write_process(struct dump *dump)
{
	const struct arena *arena = dump->arena;
	struct text *text = &dump->text;
	uint64_t quota = load_relaxed(&arena->quota_milli_cpus);

	text_put_key(text, keys.header.process);
	text_put_literal(text, "{");
	text_put_key_u64(text, keys.process.pid, arena->pid);
	text_put_key_u64(text, keys.process.ppid, arena->ppid);
	/* Before what may be long: cmd/output.c looks at the begin of the header. */
	put_deployment(&arena->deployment, text);
	text_put_key_string(text, keys.process.exe, arena->exe);
	put_argv(text, arena);
	text_put_key_string(text, keys.process.host, arena->host);
	text_put_key_string(text, keys.process.boot, arena->boot_id);
	if (arena->network_namespace)
		text_put_key_u64(text, keys.process.network, arena->network_namespace);
	text_put_key_u64(text, keys.process.cpus, arena->cpus);
	if (arena->cache_cpus)
		text_put_key_u64(text, keys.process.cache_cpus, arena->cache_cpus);
	text_put_key_u64(text, keys.process.tick_ns, arena->tick_ns);
	text_put_key_u64(text, keys.process.start_unix_ns, arena->start_unix_ns);
	text_put_key_u64(text, keys.process.cpu_ns, load_relaxed(&arena->usage.cpu_ns));
	text_put_key_u64(text, keys.process.voluntary_switches,
			 load_relaxed(&arena->usage.voluntary_switches));
	text_put_key_u64(text, keys.process.involuntary_switches,
			 load_relaxed(&arena->usage.involuntary_switches));
	costtext_put(dump, text);
	if (quota > 0) {
		text_put_key_u64(text, keys.process.quota_milli_cpus, quota);
		text_put_key_u64(text, keys.process.stopped_ns, load_relaxed(&arena->stopped_ns));
	}
	if (load_relaxed(&arena->filtered_ticks))
		text_put_key_u64(text, keys.process.filtered_ns,
				 dump_ns(dump, load_relaxed(&arena->filtered_ticks)));
	put_unsampled(dump, text);
	text_put_key(text, keys.process.client);
	put_string_by_id(dump, text, arena->client);
	text_put_literal(text, "}");
	return true;
}

static const char *const counter_names[] = {
#define COUNTER(name, is_loss, meaning) [COUNTER_##name] = #name,
#include "counters.def"
#undef COUNTER
};

static bool write_counters(struct dump *dump)
{
	struct text *text = &dump->text;

	text_put_key(text, keys.header.counters);
	text_put_literal(text, "{");
	text_put_key_u64(text, keys.counters.dropped_events_total, dump->snapshot.losses_total);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (dump->snapshot.counters[i])
			text_put_key_u64(text, counter_names[i], dump->snapshot.counters[i]);
	text_put_literal(text, "}");
	return true;
}

static void put_two(struct dump *dump, uint64_t first, uint64_t second)
{
	put_comma(dump);
	text_put_u64(&dump->text, first);
	text_put_literal(&dump->text, ",");
	text_put_u64(&dump->text, second);
}

/* An opening, as far as it is in this dump. */
static bool write_window(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;
	uint64_t begin, end;

	if (!list_goes_on(dump, keys.header.windows, snapshot->opening_count))
		return true;
	if (!opening_times(dump->arena, snapshot->opening_first + dump->index, &begin, &end))
		return false;
	if (end == 0 || end > snapshot->now.ticks)
		end = snapshot->now.ticks;
	if (begin < snapshot->since_ticks)
		begin = snapshot->since_ticks;
	if (begin < end)
		put_two(dump, dump_ns(dump, begin), dump_ns(dump, end));
	return false;
}

static bool write_thread(struct dump *dump)
{
	const struct snapshot_thread *thread = &dump->snapshot.threads[dump->index];
	struct text *text = &dump->text;

	if (!list_goes_on(dump, keys.header.threads, dump->snapshot.thread_count))
		return true;
	put_comma(dump);
	text_put_literal(text, "{");
	text_put_key_u64(text, keys.thread.thread, thread->thread);
	text_put_key_u64(text, keys.thread.tid, thread->tid);
	text_put_key(text, keys.thread.name);
	put_string_by_id(dump, text, thread->name);
	text_put_key_u64(text, keys.thread.op, thread->op);
	if (thread->weight && thread->weight != WEIGHT_PLAIN)
		text_put_key_u64(text, keys.thread.weight, thread->weight);
	text_put_literal(text, "}");
	return false;
}

static bool write_module(struct dump *dump)
{
	struct text *text = &dump->text;
	const struct module_entry *module = modules_at(dump->arena, dump->index);
	uint32_t calls, id_bytes;

	if (!list_goes_on(dump, keys.header.modules, dump->snapshot.module_count))
		return true;
	calls = load_acquire(&dump->arena->module_calls[dump->index]);
	put_comma(dump);
	text_put_literal(text, "{");
	text_put_key(text, keys.module.path);
	text_put_json(text, module->path, strnlen(module->path, sizeof(module->path)));
	text_put_key(text, keys.module.build_id);
	text_put_literal(text, "\"");
	id_bytes = load_relaxed(&module->build_id_bytes);
	text_put_hex(text, module->build_id,
		     id_bytes < sizeof(module->build_id) ? id_bytes : sizeof(module->build_id));
	text_put_literal(text, "\"");
	text_put_key_u64(text, keys.module.base, module->base);
	text_put_key_u64(text, keys.module.start, module->start);
	text_put_key_u64(text, keys.module.size, module->bytes);
	if (module->loaded)
		text_put_key_u64(text, keys.module.loaded_ns, dump_ns(dump, module->loaded));
	if (load_relaxed(&module->unloaded))
		text_put_key_u64(text, keys.module.unloaded_ns,
				 dump_ns(dump, load_relaxed(&module->unloaded)));
	if (calls >= INLINED_NONE)
		text_put_key_u64(text, keys.module.inline_syscalls, calls - INLINED_NONE);
	text_put_literal(text, "}");
	return false;
}

/* Locks that processes share: the place of each, which is the same to all of them. */
static bool write_object(struct dump *dump)
{
	const struct object_entry *object = objects_at(dump->arena, dump->index);
	struct text *text = &dump->text;

	if (!list_goes_on(dump, keys.header.objects, dump->snapshot.object_count))
		return true;
	put_comma(dump);
	text_put_literal(text, "{");
	text_put_key_u64(text, keys.object.address, object->address);
	text_put_key_u64(text, keys.object.since_ns, dump_ns(dump, object->since));
	text_put_key_u64(text, keys.object.device, object->device);
	text_put_key_u64(text, keys.object.inode, object->inode);
	text_put_key_u64(text, keys.object.offset, object->offset);
	text_put_literal(text, "}");
	return false;
}

static bool write_peer(struct dump *dump)
{
	const struct peer_entry *entry = peers_at(dump->arena, dump->index);

	if (!list_goes_on(dump, keys.header.peers, dump->snapshot.peer_count))
		return true;
	if (entry->peer != 0)
		put_two(dump, entry->inode, entry->peer);
	return false;
}

static bool write_idle(struct dump *dump)
{
	struct idle_entry *last = &dump->last_idle;

	if (!list_goes_on(dump, keys.header.idle, dump->snapshot.idle_count))
		return true;
	if (idle_next(dump->arena, dump->index, last))
		put_two(dump, dump_ns(dump, last->ticks), last->idle_ns);
	return false;
}

static void put_frame(struct dump *dump, struct text *text, uint64_t address)
{
	uint32_t module;
	bool is_text;

	/* A return address may be the first byte after its function: what called lies before it. */
	module = modules_find(dump->arena, dump->snapshot.module_count, address - 1,
			      dump->module_hint);
	if (module == UINT32_MAX) {
		is_text = (address & STACK_TEXT_MASK) == STACK_TEXT;
		text_put_bytes(text, is_text ? "-2," : "-1,", 3);
		text_put_u64(text, is_text ? address & ~STACK_TEXT_MASK : address);
		return;
	}
	dump->module_hint = module;
	text_put_u64(text, module);
	text_put_literal(text, ",");
	text_put_u64(text, address - modules_at(dump->arena, module)->base);
}

static bool write_stack(struct dump *dump)
{
	struct text *text = &dump->text;
	uint32_t count = 0;
	const uint64_t *pcs;

	if (!list_goes_on(dump, keys.header.stacks, dump->snapshot.stack_count + 1))
		return true;
	pcs = stacks_get(dump->arena, dump->index, &count);
	put_comma(dump);
	text_put_literal(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			text_put_literal(text, ",");
		put_frame(dump, text, pcs[i]);
	}
	text_put_literal(text, "]");
	return false;
}

static bool write_string(struct dump *dump)
{
	if (!list_goes_on(dump, keys.header.strings, dump->snapshot.string_count + 1))
		return true;
	put_comma(dump);
	put_string_by_id(dump, &dump->text, dump->index);
	return false;
}

/* The process's own first. */
static bool write_open_op(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;
	const struct record *record;
	uint64_t cut;

	if (!list_goes_on(dump, keys.header.open_ops, snapshot->open_count + 1))
		return true;
	record =
		dump->index == 0 ? &snapshot->process_op : &snapshot->opens[dump->index - 1].record;
	cut = dump->index == 0 ? 0 : snapshot->opens[dump->index - 1].cut;
	if (dump->index == 0 ? record->end == 0 : record->type == RECORD_OP) {
		put_comma(dump);
		eventtext_put_open_op(&dump->text, dump, record, cut);
	}
	return false;
}

static bool write_open_wait(struct dump *dump)
{
	const struct snapshot_open *open;
	const struct record *record;

	if (!list_goes_on(dump, keys.header.open_waits, dump->snapshot.open_count))
		return true;
	open = &dump->snapshot.opens[dump->index];
	record = &open->record;
	if (record->type == RECORD_WAIT) {
		put_comma(dump);
		eventtext_put_open_wait(&dump->text, dump, record, open->cut);
	}
	return false;
}

static bool write_header_end(struct dump *dump)
{
	text_put_literal(&dump->text, "}\n");
	if (dump->snapshot.has_process_end)
		eventtext_put(&dump->text, dump, &dump->snapshot.process_op);
	return true;
}

/* The CPU time that the living threads have used by now: what they did since their last mark
 * shows. */
static bool write_mark(struct dump *dump)
{
	if (dump->index == dump->snapshot.thread_count)
		return true;
	eventtext_put_mark(&dump->text, dump, &dump->snapshot.threads[dump->index]);
	return false;
}

/* --- The events' part ------------------------------------------------------------------------ */

/* Records of one chunk, as many as fit. */
static bool write_records(struct dump *dump)
{
	uint32_t count = dump->snapshot.chunk_count, index, begin, end, words;
	struct record *record = &dump->snapshot.seen;
	const struct chunk *chunk;
	bool is_mixed;

	if (dump->index == count)
		return true;
	index = (dump->snapshot.chunk_first + dump->index) % count;
	chunk = chunk_at(dump->arena, index);
	end = chunk_snapshot_end(chunk);
	words = extent_words(end);
	if (dump->word == 0) {
		begin = chunk_snapshot_begin(chunk, end);
		is_mixed = age_is_mixed(&dump->snapshot, chunk, begin, end);
		dump->word = extent_words(begin);
		dump->limit_ticks = is_mixed ? dump->snapshot.limit_ticks : 0;
	}
	while (text_room(&dump->text) > EVENT_BYTES_MAX &&
	       packed_read(chunk->words, &dump->word, words, record))
		if (record->end >= dump->limit_ticks)
			eventtext_put(&dump->text, dump, record);
	if (dump->word < words) {
		dump->index--; /* the same chunk again, when there is room */
	} else {
		dump->word = 0;
		snapshot_passed(dump->arena, index);
	}
	return false;
}

/* Each writes its element dump->index; true: that was the last one. */
static bool (*const phases[])(struct dump *) = {
	write_start,   write_window, write_process, write_counters,  write_thread,
	write_module,  write_object, write_peer,    write_idle,      probetext_put,
	write_string,  write_stack,  write_open_op, write_open_wait, write_header_end,
	write_records, write_mark,
};

int dump_begin_last(struct dump *dump, struct arena *arena, char *buffer, size_t bytes,
		    enum dump_of of, uint64_t last_ns)
{
	assert(bytes >= 2 * DUMP_PIECE_BYTES_MAX);
	*dump = (struct dump){ .arena = arena, .text = { .bytes = buffer, .size = bytes } };
	return snapshot_take_last(&dump->snapshot, arena, of, last_ns);
}

int dump_begin(struct dump *dump, struct arena *arena, char *buffer, size_t bytes, enum dump_of of)
{
	return dump_begin_last(dump, arena, buffer, bytes, of, 0);
}

bool dump_fill(struct dump *dump)
{
	dump->text.used = 0;
	while (dump->phase < COUNT_OF(phases) && text_room(&dump->text) >= DUMP_PIECE_BYTES_MAX) {
		if (phases[dump->phase](dump)) {
			dump->phase++;
			dump->index = 0;
			dump->written = 0;
		} else {
			dump->index++;
		}
	}
	assert(!dump->text.overflowed);
	return dump->text.used > 0;
}

void dump_end(struct dump *dump, bool done)
{
	snapshot_drop(&dump->snapshot, dump->arena, done);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump: an arena as JSON lines. See dump.h.
 *
 * The dump is a sequence of parts, each a function that writes one element and says whether there
 * is another one; dump_fill() calls them while a whole element still fits into the buffer. So a
 * dump can stop anywhere and go on later, and needs no more memory than the buffer. First line: the
 * header; then one event a line. Keys whose value is zero or empty are left out.
 */
#include "dump.h"

#include <assert.h>
#include <string.h>

#include "chunk.h"
#include "clock.h"
#include "inlined.h"
#include "modules.h"
#include "objects.h"
#include "peers.h"
#include "stacks.h"
#include "strings.h"
#include "weight.h"

#include "in_target.h"

enum { EVENT_BYTES_MAX = 640 };

_Static_assert(DUMP_PIECE_BYTES_MAX > 6 * STRING_BYTES_MAX + 64, "a string is one piece");
_Static_assert(DUMP_PIECE_BYTES_MAX > STACK_FRAMES_MAX * 32, "a stack is one piece");
_Static_assert(DUMP_PIECE_BYTES_MAX > 6 * sizeof(((struct arena *)0)->argv) + 4096,
	       "the process is one piece");

/* --- Words ----------------------------------------------------------------------------------- */

struct word {
	const char *bytes;
	uint32_t length;
};
#define WORD_ROW(number, word_of_row) [number] = { "" word_of_row, sizeof(word_of_row) - 1 },

static const struct word kind_words[] = {
#define KIND(number, name, word, work, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word work_words[] = {
#define WORK(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word outcome_words[] = {
#define OUTCOME(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word reason_words[] = {
#define REASON(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word link_words[] = {
#define LINK(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const uint8_t kind_works[] = {
#define KIND(number, name, word, work, meaning) [number] = WORK_##work,
#include "events.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void put_word(struct text *text, const struct word *words, size_t count, uint32_t number)
{
	if (number < count)
		text_put_bytes(text, words[number].bytes, words[number].length);
}

/* ,"KEY":NUMBER unless it is zero. */
#define PUT_NONZERO(text, key, value)                              \
	do {                                                       \
		uint64_t value_once = (value);                     \
		if (value_once) {                                  \
			text_put_literal((text), ",\"" key "\":"); \
			text_put_u64((text), value_once);          \
		}                                                  \
	} while (0)

static void put_work(struct text *text, const struct record *record)
{
	uint32_t work = record->what < COUNT_OF(kind_works) ? kind_works[record->what] : 0;

	put_word(text, work_words, COUNT_OF(work_words), work);
}

/* --- Events ---------------------------------------------------------------------------------- */

static uint64_t to_ns(const struct dump *dump, uint64_t ticks)
{
	return clock_to_ns(&dump->snapshot.clock, ticks);
}

/* An io's result, a lock's hold, what a sleep asked for: the keys that depend on the kind. */
static void put_value(const struct dump *dump, struct text *text, const struct record *record)
{
	if (record->flags & RECORD_ANNOTATED)
		PUT_NONZERO(text, "r", record->value);
	else if (record->what == KIND_IO && (int64_t)record->value < 0)
		PUT_NONZERO(text, "err", -record->value);
	else if (record->what == KIND_IO)
		PUT_NONZERO(text, "n", record->value);
	else if (record->what == KIND_SLEEP)
		PUT_NONZERO(text, "rq", record->value);
	else if (record->what == KIND_HOLD || record->what == KIND_THREAD)
		PUT_NONZERO(text, "a", record->value);
	if (record->what == KIND_HOLD)
		PUT_NONZERO(text, "sq", record->count);
	if (record->what == KIND_HOLD && record->flags & RECORD_OWNER_DIED)
		text_put_literal(text, ",\"od\":1");
	if (record->what == KIND_POLL && (int64_t)record->value > 0)
		PUT_NONZERO(text, "n", record->value);
	if (record->what == KIND_IO)
		PUT_NONZERO(text, "i2", record->count);
	if (record->what == KIND_HOLD && record->flags & RECORD_TRIED)
		text_put_literal(text, ",\"tr\":1");
	if (record->what == KIND_HOLD && record->end && record->fd > 0)
		PUT_NONZERO(text, "rl",
			    to_ns(dump, record->start + (uint64_t)record->fd * RELOCK_TICKS) -
				    to_ns(dump, record->start));
	if (record->what == KIND_SLEEP && record->flags & RECORD_ABSOLUTE)
		text_put_literal(text, ",\"abs\":1");
	if (record->flags & RECORD_ACCEPTED)
		text_put_literal(text, ",\"ac\":1");
	if (record->fd >= 0 && record->what != KIND_HOLD && record->what != KIND_THREAD) {
		text_put_literal(text, ",\"fd\":");
		text_put_u64(text, (uint64_t)record->fd);
	}
}

static void put_times(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, ",\"s\":");
	text_put_u64(text, to_ns(dump, record->start));
	text_put_literal(text, ",\"d\":");
	text_put_u64(text, to_ns(dump, record->end));
}

static void put_op(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"op\",\"k\":\"");
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	text_put_literal(text, "\",\"w\":\"");
	put_work(text, record);
	if (record->outcome != OUTCOME_NONE) {
		text_put_literal(text, "\",\"o\":\"");
		put_word(text, outcome_words, COUNT_OF(outcome_words), record->outcome);
	}
	text_put_literal(text, "\",\"id\":");
	text_put_u64(text, record->id);
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "c", record->name);
	PUT_NONZERO(text, "i", record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, "cl", dump->arena->client);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->id >> 32);
	PUT_NONZERO(text, "st", record->stack);
	put_value(dump, text, record);
	text_put_literal(text, "}\n");
}

static void put_wait(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"wait\",\"rs\":\"");
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "c", record->name);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->count);
	PUT_NONZERO(text, "st", record->stack);
	if (record->fd > 0)
		PUT_NONZERO(text, "h", (uint32_t)record->fd);
	if (record->flags & RECORD_OWNER_DIED)
		text_put_literal(text, ",\"od\":1");
	if (record->flags & RECORD_TIMED_OUT)
		text_put_literal(text, ",\"to\":1");
	text_put_literal(text, "}\n");
}

static void put_link(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"link\",\"lk\":\"");
	put_word(text, link_words, COUNT_OF(link_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	PUT_NONZERO(text, "n", record->count);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->name);
	PUT_NONZERO(text, "st", record->stack);
	if (record->flags & RECORD_ALL)
		text_put_literal(text, ",\"all\":1");
	text_put_literal(text, "}\n");
}

static void put_sample(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"sample\",\"th\":");
	text_put_u64(text, record->name);
	text_put_literal(text, ",\"p\":");
	text_put_u64(text, record->parent);
	text_put_literal(text, ",\"s\":");
	text_put_u64(text, to_ns(dump, record->start));
	PUT_NONZERO(text, "cpu", record->value);
	PUT_NONZERO(text, "q", record->id);
	PUT_NONZERO(text, "n", record->count);
	PUT_NONZERO(text, "st", record->stack);
	text_put_literal(text, "}\n");
}

static void put_event(const struct dump *dump, struct text *text, const struct record *record)
{
	if (record->type == RECORD_OP)
		put_op(dump, text, record);
	else if (record->type == RECORD_WAIT)
		put_wait(dump, text, record);
	else if (record->type == RECORD_SAMPLE)
		put_sample(dump, text, record);
	else
		put_link(dump, text, record);
}

/* --- The header ------------------------------------------------------------------------------ */

static void put_comma(struct dump *dump)
{
	if (dump->written++ > 0)
		text_put_literal(&dump->text, ",");
}

static void put_key_u64(struct text *text, const char *key, uint64_t value)
{
	text_put_literal(text, ",\"");
	text_put(text, key);
	text_put_literal(text, "\":");
	text_put_u64(text, value);
}

static void put_key_string(struct text *text, const char *key, const char *value)
{
	text_put_literal(text, ",\"");
	text_put(text, key);
	text_put_literal(text, "\":");
	text_put_json(text, value, strlen(value));
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

	text_put_literal(text, "{\"schema_version\":1");
	put_key_u64(text, "epoch_unix_nano", snapshot->clock.base.real_ns);
	put_key_u64(text, "epoch_mono_nano", snapshot->clock.base.mono_ns);
	put_key_u64(text, "dumped_unix_nano",
		    snapshot->clock.base.real_ns + to_ns(dump, snapshot->now.ticks));
	put_key_u64(text, "dropped_events", snapshot->losses);
	put_key_u64(text, "event_count", snapshot->event_count);
	text_put_literal(text, ",\"recorder\":{\"name\":\"wcprof\",\"version\":\"" RECORDER_VERSION
			       "\"}");
	return true;
}

static void put_argv(struct text *text, const struct arena *arena)
{
	const char *at = arena->argv;
	const char *end = at + arena->argv_bytes;

	text_put_literal(text, ",\"argv\":[");
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));

		if (at > arena->argv)
			text_put_literal(text, ",");
		text_put_json(text, at, length);
		at += length + 1;
	}
	text_put_literal(text, "]");
}

static bool write_process(struct dump *dump)
{
	const struct arena *arena = dump->arena;
	struct text *text = &dump->text;

	text_put_literal(text, ",\"process\":{\"pid\":");
	text_put_u64(text, arena->pid);
	put_key_u64(text, "ppid", arena->ppid);
	put_key_string(text, "exe", arena->exe);
	put_argv(text, arena);
	put_key_string(text, "host", arena->host);
	put_key_string(text, "boot_id", arena->boot_id);
	put_key_u64(text, "cpus", arena->cpus);
	put_key_u64(text, "start_unix_nano", arena->start_unix_ns);
	put_key_u64(text, "cpu_ns", load_relaxed(&arena->usage.cpu_ns));
	put_key_u64(text, "voluntary_switches", load_relaxed(&arena->usage.voluntary_switches));
	put_key_u64(text, "involuntary_switches", load_relaxed(&arena->usage.involuntary_switches));
	if (load_relaxed(&arena->filtered_ticks))
		put_key_u64(text, "filtered_ns", to_ns(dump, load_relaxed(&arena->filtered_ticks)));
	text_put_literal(text, ",\"client\":");
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

	text_put_literal(text, ",\"counters\":{\"dropped_events_total\":");
	text_put_u64(text, dump->snapshot.losses_total);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (dump->snapshot.counters[i])
			put_key_u64(text, counter_names[i], dump->snapshot.counters[i]);
	text_put_literal(text, "}");
	return true;
}

static bool write_thread(struct dump *dump)
{
	const struct snapshot_thread *thread = &dump->snapshot.threads[dump->index];
	struct text *text = &dump->text;

	if (dump->index == 0)
		text_put_literal(text, ",\"threads\":[");
	if (dump->index == dump->snapshot.thread_count) {
		text_put_literal(text, "]");
		return true;
	}
	put_comma(dump);
	text_put_literal(text, "{\"th\":");
	text_put_u64(text, thread->thread);
	put_key_u64(text, "tid", thread->tid);
	text_put_literal(text, ",\"name\":");
	put_string_by_id(dump, text, thread->name);
	put_key_u64(text, "op", thread->op);
	if (thread->weight && thread->weight != WEIGHT_PLAIN)
		put_key_u64(text, "weight", thread->weight);
	text_put_literal(text, "}");
	return false;
}

static bool write_module(struct dump *dump)
{
	struct text *text = &dump->text;
	const struct module_entry *module = modules_at(dump->arena, dump->index);
	uint32_t calls;

	if (dump->index == 0)
		text_put_literal(text, ",\"modules\":[");
	if (dump->index == dump->snapshot.module_count) {
		text_put_literal(text, "]");
		return true;
	}
	calls = load_acquire(&dump->arena->module_calls[dump->index]);
	put_comma(dump);
	text_put_literal(text, "{\"path\":");
	text_put_json(text, module->path, strlen(module->path));
	text_put_literal(text, ",\"build_id\":\"");
	text_put_hex(text, module->build_id, module->build_id_bytes);
	text_put_literal(text, "\"");
	put_key_u64(text, "base", module->base);
	put_key_u64(text, "start", module->start);
	put_key_u64(text, "size", module->bytes);
	if (module->loaded)
		put_key_u64(text, "loaded_ns", to_ns(dump, module->loaded));
	if (load_relaxed(&module->unloaded))
		put_key_u64(text, "unloaded_ns", to_ns(dump, load_relaxed(&module->unloaded)));
	if (calls >= INLINED_NONE)
		put_key_u64(text, "inline_syscalls", calls - INLINED_NONE);
	text_put_literal(text, "}");
	return false;
}

/* What the addresses of locks that processes share are to all of them. */
static bool write_object(struct dump *dump)
{
	const struct object_entry *object = objects_at(dump->arena, dump->index);
	struct text *text = &dump->text;

	if (dump->index == 0)
		text_put_literal(text, ",\"objects\":[");
	if (dump->index == dump->snapshot.object_count) {
		text_put_literal(text, "]");
		return true;
	}
	put_comma(dump);
	text_put_literal(text, "{\"a\":");
	text_put_u64(text, object->address);
	put_key_u64(text, "s", to_ns(dump, object->since));
	put_key_u64(text, "dev", object->device);
	put_key_u64(text, "ino", object->inode);
	put_key_u64(text, "off", object->offset);
	text_put_literal(text, "}");
	return false;
}

/* Inodes by twos. */
static bool write_peer(struct dump *dump)
{
	const struct peer_entry *entry = peers_at(dump->arena, dump->index);
	struct text *text = &dump->text;

	if (dump->index == 0)
		text_put_literal(text, ",\"peers\":[");
	if (dump->index == dump->snapshot.peer_count) {
		text_put_literal(text, "]");
		return true;
	}
	if (entry->peer == 0)
		return false;
	put_comma(dump);
	text_put_u64(text, entry->inode);
	text_put_literal(text, ",");
	text_put_u64(text, entry->peer);
	return false;
}

static void put_frame(struct dump *dump, struct text *text, uint64_t address)
{
	/* A return address may be the first byte after its function: what called lies before it. */
	uint32_t module = modules_find(dump->arena, dump->snapshot.module_count, address - 1,
				       dump->module_hint);

	if (module == UINT32_MAX) {
		text_put_literal(text, "-1,");
		text_put_u64(text, address);
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
	const uint64_t *pcs = stacks_get(dump->arena, dump->index, &count);

	if (dump->index == 0)
		text_put_literal(text, ",\"stacks\":[");
	put_comma(dump);
	text_put_literal(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			text_put_literal(text, ",");
		put_frame(dump, text, pcs[i]);
	}
	text_put_literal(text, "]");
	if (dump->index < dump->snapshot.stack_count)
		return false;
	text_put_literal(text, "]");
	return true;
}

static bool write_string(struct dump *dump)
{
	if (dump->index == 0)
		text_put_literal(&dump->text, ",\"strings\":[");
	put_comma(dump);
	put_string_by_id(dump, &dump->text, dump->index);
	if (dump->index < dump->snapshot.string_count)
		return false;
	text_put_literal(&dump->text, "]");
	return true;
}

static void put_open_op(struct dump *dump, const struct record *record)
{
	struct text *text = &dump->text;

	put_comma(dump);
	text_put_literal(text, "{\"op_id\":");
	text_put_u64(text, record->id);
	PUT_NONZERO(text, "parent_id", record->parent);
	text_put_literal(text, ",\"kind\":\"");
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	text_put_literal(text, "\",\"work_type\":\"");
	put_work(text, record);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "class_id", record->name);
	PUT_NONZERO(text, "ident_id", record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, "client_id", dump->arena->client);
	put_key_u64(text, "start_ns", to_ns(dump, record->start));
	PUT_NONZERO(text, "th", record->id >> 32);
	PUT_NONZERO(text, "st", record->stack);
	put_value(dump, text, record);
	text_put_literal(text, "}");
}

static bool write_open_op(struct dump *dump)
{
	const struct snapshot_open *open = &dump->snapshot.opens[dump->index];

	if (dump->index == 0) {
		text_put_literal(&dump->text, ",\"open_ops\":[");
		if (dump->snapshot.process_op.end == 0)
			put_open_op(dump, &dump->snapshot.process_op);
	}
	if (dump->index == dump->snapshot.open_count) {
		text_put_literal(&dump->text, "]");
		return true;
	}
	if (open->record.type == RECORD_OP)
		put_open_op(dump, &open->record);
	return false;
}

static void put_open_wait(struct dump *dump, const struct record *record)
{
	struct text *text = &dump->text;

	put_comma(dump);
	text_put_literal(text, "{\"rs\":\"");
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	put_key_u64(text, "s", to_ns(dump, record->start));
	PUT_NONZERO(text, "th", record->count);
	PUT_NONZERO(text, "st", record->stack);
	PUT_NONZERO(text, "c", record->name);
	if (record->fd > 0)
		PUT_NONZERO(text, "h", (uint32_t)record->fd);
	text_put_literal(text, "}");
}

static bool write_open_wait(struct dump *dump)
{
	const struct snapshot_open *open = &dump->snapshot.opens[dump->index];

	if (dump->index == 0)
		text_put_literal(&dump->text, ",\"open_waits\":[");
	if (dump->index == dump->snapshot.open_count) {
		text_put_literal(&dump->text, "]");
		return true;
	}
	if (open->record.type == RECORD_WAIT)
		put_open_wait(dump, &open->record);
	return false;
}

static bool write_header_end(struct dump *dump)
{
	text_put_literal(&dump->text, "}\n");
	if (dump->snapshot.has_process_end)
		put_event(dump, &dump->text, &dump->snapshot.process_op);
	return true;
}

/* The CPU time that the living threads have used by now: what they did since their last mark
 * shows. */
static bool write_mark(struct dump *dump)
{
	const struct snapshot_thread *thread = &dump->snapshot.threads[dump->index];
	const struct record record = {
		.start = thread->marked_ticks,
		.id = thread->delay_ns,
		.parent = thread->op,
		.value = thread->cpu_ns,
		.name = thread->thread,
		.type = RECORD_SAMPLE,
	};

	if (dump->index == dump->snapshot.thread_count)
		return true;
	if (thread->is_marked)
		put_event(dump, &dump->text, &record);
	return false;
}

/* --- The events' part ------------------------------------------------------------------------ */

/* Records of one chunk, as many as fit. */
static bool write_records(struct dump *dump)
{
	uint32_t count = dump->snapshot.chunk_count, index;
	const struct chunk *chunk;

	if (dump->index == count)
		return true;
	index = (dump->snapshot.chunk_first + dump->index) % count;
	chunk = chunk_at(dump->arena, index);
	if (dump->record == 0)
		dump->record = chunk->snapshot_from;
	while (dump->record < chunk->snapshot && text_room(&dump->text) > EVENT_BYTES_MAX)
		put_event(dump, &dump->text, &chunk->records[dump->record++]);
	if (dump->record < chunk->snapshot) {
		dump->index--; /* the same chunk again, when there is room */
	} else {
		dump->record = 0;
		snapshot_passed(dump->arena, index);
	}
	return false;
}

/* Each writes its element dump->index; true: that was the last one. */
static bool (*const phases[])(struct dump *) = {
	write_start,     write_process,    write_counters, write_thread, write_module,
	write_object,    write_peer,       write_string,   write_stack,  write_open_op,
	write_open_wait, write_header_end, write_records,  write_mark,
};

int dump_begin(struct dump *dump, struct arena *arena, char *buffer, size_t bytes, enum dump_of of)
{
	assert(bytes >= 2 * DUMP_PIECE_BYTES_MAX);
	*dump = (struct dump){ .arena = arena, .text = { .bytes = buffer, .size = bytes } };
	return snapshot_take(&dump->snapshot, arena, of);
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

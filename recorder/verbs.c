/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol without the socket. See verbs.h and verbs.def.
 */
#include "verbs.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "attached.h"
#include "budget.h"
#include "chunk.h"
#include "condition.h"
#include "gate.h"
#include "handout.h"
#include "inlined.h"
#include "lease.h"
#include "leftovers.h"
#include "owncost.h"
#include "requests.h"
#include "room.h"
#include "roster.h"
#include "sampler.h"
#include "settings.h"
#include "snapshot.h"
#include "stacks.h"
#include "strings.h"
#include "switch.h"
#include "trial.h"
#include "usage.h"

#include "in_target.h"

/* --- Handlers -------------------------------------------------------------------------------- */

struct verb {
	const char *name;
	const char *keys; /* separated by |, or SETTINGS */
	const char *help;
	void (*run)(struct request *, struct text *);
};

static const struct verb verbs[] = {
#define VERB(name, keys, help) { #name, keys, help, verb_##name },
#include "verbs.def"
#undef VERB
};

enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]), KEY_BYTES_SHOWN = 32 };
enum { LAST_MS_MAX = 86400000 /* a day */, MS_NS = 1000000 };

void verbs_refuse(struct text *answer, const char *code, const char *message)
{
	answer->used = 0;
	text_put_literal(answer, "ERR ");
	text_put(answer, code);
	text_put_literal(answer, " ");
	text_put(answer, message);
	text_put_literal(answer, "\n");
}

void verbs_begin_answer(struct text *answer)
{
	text_put_literal(answer, "OK {\"pid\":");
	text_put_u64(answer, gate_pid());
}

void verb_PING(struct request *request, struct text *answer)
{
	(void)request;
	verbs_begin_answer(answer);
	text_put_key_string(answer, "version", WCPROF_VERSION);
	text_put_literal(answer, "}\n");
}

static void put_usage(struct text *answer, struct arena *arena)
{
	usage_save(arena);
	text_put_key_u64(answer, "cpu_ns", load_relaxed(&arena->usage.cpu_ns));
	text_put_key_u64(answer, "voluntary_switches",
			 load_relaxed(&arena->usage.voluntary_switches));
	text_put_key_u64(answer, "involuntary_switches",
			 load_relaxed(&arena->usage.involuntary_switches));
}

static void put_own_cost(struct text *answer, const struct arena *arena)
{
	struct owncost_reading cost;

	owncost_note_control();
	owncost_read(arena, clock_own_rate(CLOCK_APART_LEAST_NS), &cost);
	text_put_key_u64(answer, "own_ns", owncost_sum(&cost.all));
	text_put_key_u64(answer, "own_events_ns", cost.all.events_ns);
	text_put_key_u64(answer, "own_slow_ns", cost.all.slow_ns);
	text_put_key_u64(answer, "own_control_ns", cost.all.control_ns);
	text_put_key_u64(answer, "own_dumps_ns", cost.all.dumps_ns);
	text_put_key_u64(answer, "own_window_ns", owncost_sum(&cost.window) - cost.window.dumps_ns);
}

/* Modules that make system calls of their own, and how many. */
static void put_inlined(struct text *answer, const struct arena *arena)
{
	uint64_t modules = 0, calls = 0;

	for (uint32_t i = 0; i < load_acquire(&arena->module_count); i++) {
		uint32_t seen = load_acquire(&arena->module_calls[i]);

		modules += seen > INLINED_NONE;
		calls += seen > INLINED_NONE ? seen - INLINED_NONE : 0;
	}
	text_put_key_u64(answer, "inline_syscalls", calls);
	text_put_key_u64(answer, "inline_syscall_modules", modules);
}

static void put_arena_status(struct text *answer, struct arena *arena)
{
	struct room_state room = room_state();

	text_put_key_string(answer, "arena",
			    arena->anonymous ? "private memory: lost if the process is killed"
					     : arena->path);
	text_put_key_u64(answer, "events", snapshot_pending(arena));
	text_put_key_u64(answer, "event_bytes", snapshot_pending_bytes(arena));
	text_put_key_u64(answer, "events_max", (uint64_t)arena->chunks.max * CHUNK_RECORDS);
	text_put_key_u64(answer, "dropped_events", snapshot_losses(arena));
	text_put_key_u64(answer, "threads", roster_living(arena));
	text_put_key_u64(answer, "threads_seen", load_relaxed(&arena->thread_count));
	text_put_key_u64(answer, "strings", strings_count(arena));
	text_put_key_u64(answer, "stacks", stacks_count(arena));
	text_put_key_u64(answer, "modules", load_relaxed(&arena->module_count));
	text_put_key_u64(answer, "dumps", load_relaxed(&arena->dump_count));
	text_put_key_string(answer, "full", arena->is_ring ? "ring" : "drop");
	text_put_key_u64(answer, "arena_bytes", arena_memory(arena));
	text_put_key_string(answer, "bound", room_name(room.rule));
	if (room.rule != ROOM_FREE)
		text_put_key_u64(answer, "bound_bytes", room.more_bytes);
	put_usage(answer, arena);
	put_own_cost(answer, arena);
	put_inlined(answer, arena);
#define COUNTER(name, is_loss, meaning) \
	text_put_key_u64(answer, #name, roster_counter(arena, COUNTER_##name));
#include "counters.def"
#undef COUNTER
}

void verb_STATUS(struct request *request, struct text *answer)
{
	struct arena *arena = load_acquire(&recorder_arena);
	bool is_on = gate_is_on() || budget_is_running();

	(void)request;
	verbs_begin_answer(answer);
	text_put_key_string(answer, "version", WCPROF_VERSION);
	text_put_key_string(answer, "recording", is_on ? "on" : "off");
	attached_put_status(answer);
	budget_put_status(answer);
	lease_put_status(answer, clock_mono_ns());
	sampler_put_status(answer);
	requests_put_status(answer);
	text_put_key(answer, "settings");
	text_put_literal(answer, "{");
	settings_put(answer);
	text_put_literal(answer, "}");
	if (arena)
		put_arena_status(answer, arena);
	text_put_literal(answer, "}\n");
}

/* False: one of them is wrong, and the answer says so. */
static bool change_settings(const struct request *request, struct text *answer)
{
	char message[CONDITION_WHY_BYTES + 64];
	struct text wrong = { .bytes = message, .size = sizeof(message) };

	if (settings_change(request->arguments, request->argument_count, &wrong))
		return true;
	(void)text_end(&wrong);
	verbs_refuse(answer, "argument", message);
	return false;
}

/* True: it would spoil another client's trial, and be undone at its end. */
static bool is_in_the_way(const struct request *request, struct text *answer)
{
	if (!trial_is_on() || trial_is_of(request->client))
		return false;
	verbs_refuse(answer, "trial", "a trial is under way: try again when it has ended");
	return true;
}

void verb_SET(struct request *request, struct text *answer)
{
	if (is_in_the_way(request, answer) || !change_settings(request, answer))
		return;
	verbs_begin_answer(answer);
	text_put_key(answer, "settings");
	text_put_literal(answer, "{");
	settings_put(answer);
	text_put_literal(answer, "}}\n");
}

/* Under a budget that comes with one of the next slots; a trial has none. */
static bool turn_on(void)
{
	if (!trial_is_on() && budget_begin())
		return true;
	return budget_turn_on() == 0 || (leftovers_make_room() && budget_turn_on() == 0);
}

void verb_ENABLE(struct request *request, struct text *answer)
{
	if (is_in_the_way(request, answer) || !change_settings(request, answer))
		return;
	trial_recording_begins();
	if (!turn_on()) {
		verbs_refuse(answer, "memory", room_reason());
		return;
	}
	verbs_begin_answer(answer);
	text_put_key_string(answer, "recording", "on");
	budget_put_status(answer);
	text_put_literal(answer, "}\n");
}

void verb_DISABLE(struct request *request, struct text *answer)
{
	if (is_in_the_way(request, answer))
		return;
	budget_end();
	budget_turn_off();
	lease_give_up();
	verbs_begin_answer(answer);
	text_put_literal(answer, ",\"recording\":\"off\"}\n");
}

const struct setting_value *verbs_find(const struct request *request, const char *key)
{
	for (uint32_t i = 0; i < request->argument_count; i++)
		if (request->arguments[i].key_bytes == strlen(key) &&
		    memcmp(request->arguments[i].key, key, strlen(key)) == 0)
			return &request->arguments[i];
	return NULL;
}

/* Value of a key that is 0 or 1; false when it is anything else. */
static bool read_flag(const struct request *request, const char *key, bool usual, bool *value)
{
	const struct setting_value *argument = verbs_find(request, key);

	*value = usual;
	if (!argument)
		return true;
	if (argument->value_bytes != 1 || (argument->value[0] | 1) != '1')
		return false;
	*value = argument->value[0] == '1';
	return true;
}

/* 0: all is asked for. */
static bool read_last(const struct request *request, bool flush, uint64_t *ms)
{
	const struct setting_value *argument = verbs_find(request, "last_ms");

	*ms = 0;
	return !argument || (text_parse_u64(argument->value, argument->value_bytes, ms) &&
			     *ms >= 1 && *ms <= LAST_MS_MAX && !flush);
}

void verb_DUMP(struct request *request, struct text *answer)
{
	bool flush, wants_ack;
	uint64_t last_ms;
	int result;

	if (!read_flag(request, "flush", true, &flush)) {
		verbs_refuse(answer, "argument", "flush is 0 or 1");
		return;
	}
	if (!read_flag(request, "ack", false, &wants_ack)) {
		verbs_refuse(answer, "argument", "ack is 0 or 1");
		return;
	}
	/* Older events would have to be thrown away, or to be in the next dump's window. */
	if (!read_last(request, flush, &last_ms)) {
		verbs_refuse(answer, "argument",
			     "last_ms is from 1 to 86400000, and goes with flush=0");
		return;
	}
	if (!load_acquire(&recorder_arena)) {
		verbs_refuse(answer, "nothing", "recording was never on");
		return;
	}
	result = handout_dump(request->client, flush, wants_ack, last_ms * MS_NS);
	if (result != 0)
		verbs_refuse(answer, result == -EBUSY ? "busy" : "memory",
			     "no dump now: try again");
}

void verb_STACKS(struct request *request, struct text *answer)
{
	int result = handout_stacks(request->client);

	if (result == -EBUSY)
		verbs_refuse(answer, "busy", "another client asks just now: try again");
	else if (result == -ESRCH)
		verbs_refuse(answer, "proc", "/proc cannot be read");
	else if (result != 0)
		verbs_refuse(answer, "memory", "no memory for the threads");
}

void verb_RESET(struct request *request, struct text *answer)
{
	if (is_in_the_way(request, answer))
		return;
	if (snapshot_reset(load_acquire(&recorder_arena)) != 0) {
		verbs_refuse(answer, "busy", "a dump is being written");
		return;
	}
	verbs_begin_answer(answer);
	text_put_literal(answer, "}\n");
}

void verb_HELP(struct request *request, struct text *answer)
{
	(void)request;
	text_put_literal(answer, "OK {");
	for (int i = 0; i < VERB_COUNT; i++) {
		text_put(answer, i ? ",\"" : "\"");
		text_put(answer, verbs[i].name);
		text_put_literal(answer, "\":");
		text_put_json(answer, verbs[i].help, strlen(verbs[i].help));
	}
	settings_put_help(answer);
	text_put_literal(answer, "}\n");
}

/* --- Lines ----------------------------------------------------------------------------------- */

static const struct verb *find_verb(const char *name, size_t bytes)
{
	for (int i = 0; i < VERB_COUNT; i++)
		if (strlen(verbs[i].name) == bytes && memcmp(verbs[i].name, name, bytes) == 0)
			return &verbs[i];
	return NULL;
}

/* Whether `key` is one of the words in `keys`. */
static bool takes_key(const char *keys, const char *key, size_t bytes)
{
	if (keys == SETTINGS)
		return settings_have(key, bytes);
	for (const char *word = keys; *word;) {
		size_t length = strcspn(word, "|");

		if (length == bytes && memcmp(word, key, bytes) == 0)
			return true;
		word += length + (word[length] == '|');
	}
	return false;
}

/* Length of the word at `from`. */
static size_t word_length(const char *from, const char *end)
{
	const char *at = from;

	while (at < end && *at != ' ')
		at++;
	return (size_t)(at - from);
}

static void refuse_key(const struct verb *verb, const char *key, size_t bytes, struct text *answer)
{
	char message[256];
	struct text text = { .bytes = message, .size = sizeof(message) };

	text_put_json(&text, key, bytes < KEY_BYTES_SHOWN ? bytes : KEY_BYTES_SHOWN);
	text_put_literal(&text, " is no key of ");
	text_put(&text, verb->name);
	text_put_literal(&text, ", which takes ");
	if (verb->keys == SETTINGS)
		settings_put_keys(&text);
	else
		text_put(&text, verb->keys[0] ? verb->keys : "none");
	(void)text_end(&text);
	verbs_refuse(answer, "argument", message);
}

/* Takes one "key=value"; false when something is wrong with it, and the answer says what. */
static bool read_argument(const struct verb *verb, const char *at, size_t bytes,
			  struct request *request, struct text *answer)
{
	const char *equals = memchr(at, '=', bytes);
	size_t key_bytes = equals ? (size_t)(equals - at) : 0;

	if (key_bytes == 0)
		verbs_refuse(answer, "argument", "arguments are key=value");
	else if (!takes_key(verb->keys, at, key_bytes))
		refuse_key(verb, at, key_bytes, answer);
	else if (request->argument_count == VERB_ARGUMENTS_MAX)
		verbs_refuse(answer, "argument", "too many arguments");
	else
		request->arguments[request->argument_count++] =
			(struct setting_value){ at, key_bytes, equals + 1, bytes - key_bytes - 1 };
	return answer->used == 0;
}

static bool read_arguments(const struct verb *verb, const char *at, const char *end,
			   struct request *request, struct text *answer)
{
	while (at < end) {
		size_t length = word_length(at, end);

		if (length > 0 && !read_argument(verb, at, length, request, answer))
			return false;
		at += length + 1;
	}
	return true;
}

void verbs_run(const char *line, size_t bytes, struct client *client)
{
	struct request request = { .client = client };
	struct text *answer = &client->answer;
	const char *end = line + bytes;
	size_t length = word_length(line, end);
	const struct verb *verb = find_verb(line, length);

	assert(answer->size == CLIENT_ANSWER_BYTES_MAX && answer->used == 0);
	if (!verb) {
		verbs_refuse(answer, "unknown", "no such verb: HELP lists them");
		return;
	}
	if (read_arguments(verb, line + length, end, &request, answer))
		verb->run(&request, answer);
}

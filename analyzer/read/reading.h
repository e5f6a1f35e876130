/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the parts of the reader share: only read.c and read_*.c include this.
 *
 * Until read_resolve() has run, references to ops are indexes into `ids`, as an id may be mentioned
 * long before its op comes. These are an op's parent, a wait's waiter and target, a link's ends,
 * and the ops of threads and processes. Times count from the first dump's epoch, modulo 2^64.
 * read_resolve() turns all of them into what recording.h says.
 *
 * A function that returns bool returns false after reading_fail(), and only then. One thread.
 */
#ifndef WCPROF_READING_H
#define WCPROF_READING_H

#include "base/json.h"
#include "fields.h"
#include "idmap.h"
#include "read.h"
#include "recording/recording.h"
#include "recording/words.h"

#include <stdint.h>

/* 36 years: sums of three such times fit into 63 bits. */
#define READ_TIME_NS_MAX (UINT64_C(1) << 60)

enum {
	READ_THREADS_MAX =
		1 << 21, /* an op's id, below 2^53, has its thread's index above bit 31 */
	READ_SCHEMA_VERSION = 1
};

/* In `op_of`, of an op that was open in every dump so far. */
#define READ_OPEN_OP (UINT32_C(1) << 31)

/* The dump that is being read; its numbers for things become the recording's by these tables. */
struct dump {
	uint64_t epoch_unix_ns;
	uint64_t dumped_unix_ns;
	uint64_t epoch_mono_ns; /* 0 = not said */
	uint64_t dropped_events;
	uint64_t event_count;
	uint64_t events_seen;
	uint64_t start_unix_ns; /* of its process, as pid and so on */
	uint64_t cpu_ns;
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
	uint64_t own_ns;
	uint64_t own_events_ns;
	uint64_t own_slow_ns;
	uint64_t own_start_ns;
	uint64_t own_control_ns;
	uint64_t own_dumps_ns;
	uint64_t own_window_ns;
	uint64_t budget_ppm;
	uint64_t budget_span_ns;
	uint64_t budget_on_ns;
	uint64_t budget_cost_ppm;
	uint64_t quota_milli_cpus;
	uint64_t stopped_ns;
	uint64_t filtered_ns; /* since its epoch */
	uint64_t unsampled_ns;
	uint64_t pid;
	uint64_t ppid;
	uint64_t cpus;
	uint64_t cache_cpus;
	uint64_t tick_ns;
	uint64_t network;
	uint32_t exe; /* string ids */
	uint32_t host;
	uint32_t client;
	uint32_t boot;
	uint32_t unsampled_why;
	uint32_t service;
	uint32_t service_version;
	uint32_t environment;
	uint32_t process;   /* index */
	uint64_t offset_ns; /* to be added to its times, modulo 2^64 */
	uint64_t end_ns;    /* when it was taken, since its own epoch */
	uint32_t *strings;
	size_t string_count;
	size_t string_capacity;
	uint32_t *modules;
	size_t module_count;
	size_t module_capacity;
	uint32_t *stacks;
	size_t stack_count;
	size_t stack_capacity;
};

/* A boot that dumps with a monotonic epoch came from. */
struct boot {
	uint32_t id; /* string id */
	uint64_t mono_ns;
	uint64_t offset_ns;
};

/* An address that stands for an object which other processes know by others. */
struct shared_object {
	uint64_t address;
	uint64_t since_ns;
	uint32_t process;
	uint32_t object; /* its number */
};

struct read_file {
	const char *path;
	uint64_t first_line; /* of all lines read, from 0 */
};

struct reading {
	struct recording *recording;
	struct read_error *error;
	int status;      /* 0 or -errno */
	bool is_cut_off; /* the error is that a line ended too early */

	struct read_file *files; /* the last one is being read */
	size_t file_count;
	uint64_t line;   /* lines before the one being read, in all files */
	bool has_header; /* in this file */
	bool wants_head; /* nothing is read behind the first header */

	struct dump dump;
	struct boot *boots;
	size_t boot_count;
	size_t boot_capacity;
	uint64_t first_epoch_unix_ns;
	int64_t offset_min_ns;

	struct field_table fields;
	struct vocabulary kinds;
	struct vocabulary outcomes;
	struct vocabulary reasons;
	struct vocabulary link_kinds;

	struct idmap ids; /* op ids; a space for each process */
	uint32_t *op_of;  /* by index of ids: the op, READ_OPEN_OP added; NO_INDEX = none yet */
	size_t op_of_count;
	size_t op_of_capacity;
	uint32_t *op_lines; /* where each op stands, counted as `line` */
	size_t op_capacity; /* also of extras and op_lines */
	size_t wait_capacity;
	size_t open_wait_count;
	size_t link_capacity;
	size_t sample_capacity;
	size_t context_capacity;

	struct idmap thread_ids;  /* thread indexes; a space for each process */
	struct idmap process_ids; /* these four: hashes of the thing's contents */
	struct idmap module_ids;
	struct idmap stack_ids;
	struct idmap counter_ids;
	struct idmap probe_ids; /* by their places in the list; a space for each process */
	size_t thread_capacity;
	size_t process_capacity;
	size_t module_capacity;
	size_t stack_capacity;
	size_t frame_capacity;
	size_t naming_capacity;
	size_t named_frame_capacity;
	size_t named_code_capacity;
	size_t named_data_capacity;
	size_t counter_capacity;
	size_t probe_capacity;

	struct idmap object_ids;
	struct shared_object *objects;
	size_t object_count;
	size_t object_capacity;
	size_t peer_capacity;
	size_t idle_capacity;
	size_t window_capacity;

	char *scratch; /* for decoded strings */
	size_t scratch_capacity;
};

/* The line that is being read, within its file, from 1. */
uint64_t reading_line(const struct reading *reading);

/* Fills the error, for this line; `line` 0 = for the file as a whole. Returns false. */
bool reading_fail(struct reading *reading, int status, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for damage in this line: tells how what precedes it can still be used. */
bool reading_fail_here(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool reading_fail_json(struct reading *reading, const struct json *json, const char *line_begin);
bool reading_fail_memory(struct reading *reading);

/* Room for more than `count` items in the array whose address is at `array`; what is there is kept.
 */
bool reading_grow(struct reading *reading, void *array, size_t *capacity, size_t item_bytes);

static inline bool reading_reserve(struct reading *reading, void *array, size_t *capacity,
				   size_t count, size_t item_bytes)
{
	return count < *capacity || reading_grow(reading, array, capacity, item_bytes);
}

/* The text as a string of the recording; of the dump's string `id`. */
bool reading_text(struct reading *reading, const struct json_text *text, uint32_t *string);
bool reading_string(struct reading *reading, uint64_t id, uint32_t *string);

/* The word's number in a vocabulary. */
bool reading_word(struct reading *reading, struct vocabulary *vocabulary,
		  const struct json_text *text, uint32_t *word);

static inline uint64_t reading_hash(uint64_t hash, uint64_t value)
{
	/* The value is spread first: a pid and a start time that differ in few bits would cancel
	 * out. */
	hash = (hash ^ value * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 32;
}

enum event_type {
	EVENT_NONE,
#define LINE(name, word, meaning) EVENT_##name,
#include "keys.def"
	EVENT_OTHER
};
_Static_assert(EVENT_NAMES == EVENT_OTHER - 1, "from EVENT_NAMES on, keys are not those of events");

/* An event line or an open op, read but not checked; what is absent is 0. */
struct event {
	uint64_t number[FIELD_UNKNOWN]; /* by field; FIELD_FD: -1 = none; words have theirs below */
	enum event_type type;
	uint32_t kind;
	int work; /* -1 = not said */
	uint32_t outcome;
	uint32_t reason;
	uint32_t link;
	struct rec_ids ids; /* of a context */
	bool is_open;       /* it has no end yet */
};

void event_begin(struct event *event);

/* Takes the value of a field; false with json->error or after reading_fail(). */
bool event_field_read(struct reading *reading, struct json *json, enum event_field field,
		      struct event *event);

bool event_add_op(struct reading *reading, const struct event *event);
bool event_add_wait(struct reading *reading, const struct event *event);
bool event_add_link(struct reading *reading, const struct event *event);
bool event_add_sample(struct reading *reading, const struct event *event);
bool event_add_context(struct reading *reading, const struct event *event);

/* The index of a thread of the dump's process, which is added when it is new; NO_INDEX for 0. */
bool event_thread(struct reading *reading, uint64_t number, uint32_t *thread);

/* The index in `ids` of this op id; NO_INDEX for 0. */
bool event_id(struct reading *reading, uint64_t id, uint32_t *index);

/* One line of either sort, from `json->at` to the newline or end, which is left for the caller. */
bool read_event(struct reading *reading, struct json *json);
bool read_header(struct reading *reading, struct json *json);
/* Whether this key tells a header from events; whether a line that begins so has that key. */
bool read_is_header_key(const struct json_text *key);
bool read_is_header(const char *bytes, size_t count);
bool read_names(struct reading *reading, struct json *json);

/* The sections of a header that are tables. */
bool read_strings(struct reading *reading, struct json *json);
bool read_modules(struct reading *reading, struct json *json);
bool read_stacks(struct reading *reading, struct json *json);
bool read_threads(struct reading *reading, struct json *json);
bool read_open_ops(struct reading *reading, struct json *json);
bool read_open_waits(struct reading *reading, struct json *json);
bool read_counters(struct reading *reading, struct json *json);
bool read_objects(struct reading *reading, struct json *json);
bool read_peers(struct reading *reading, struct json *json);
bool read_windows(struct reading *reading, struct json *json);
bool read_idle(struct reading *reading, struct json *json);
bool read_probes(struct reading *reading, struct json *json);

/* Of a time by the dump's clock. */
bool reading_add_window(struct reading *reading, struct rec_window window);

/*
 * Makes the frames from `first_frame` on a stack, or drops them again when there is such a stack
 * already.
 */
bool reading_add_stack(struct reading *reading, size_t first_frame, uint32_t *stack);

/* At the end of all: stacks of which the time decides what they mean. */
bool read_place_modules(struct reading *reading, uint64_t shift_ns);

/* At the end of a dump: what it announced and did not have. At the end of all: ids become indexes.
 */
void read_dump_end(struct reading *reading);
bool read_resolve(struct reading *reading);

/* Once events' times are on the common axis: shared objects get one address for all processes. */
void read_share(struct reading *reading, uint64_t shift_ns);

#endif

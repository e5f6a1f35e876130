/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the exporter for Perfetto: packets of track events, and their texts.
 *
 * A text, frame or stack is written once, when it is first used, and has a number from then on.
 * Whatever needs such a number asks for it before it begins a packet. One thread.
 */
#ifndef WCPROF_PERFETTO_PARTS_H
#define WCPROF_PERFETTO_PARTS_H

#include "exporters.h"
#include "idlabels.h"
#include "lanenames.h"
#include "protobuf.h"
#include "recording/addresses.h"
#include "walk.h"

/* Tables of interned texts, by their fields of InternedData. */
enum trace_table {
	TABLE_CATEGORIES = 1,
	TABLE_NAMES = 2,
	TABLE_KEYS = 3,
	TABLE_FUNCTIONS = 5,
	TABLE_BUILDS = 16,
	TABLE_PATHS = 17,
	TABLE_SOURCES = 18,
	TABLE_VALUES = 29
};

/* By TrackEvent.Type. */
enum trace_type { TRACE_BEGIN = 1, TRACE_END = 2, TRACE_INSTANT = 3, TRACE_COUNTER = 4 };

enum trace_key {
	KEY_REASON,
	KEY_HOLDER,
	KEY_ENDED_BY,
	KEY_THREAD,
	KEY_OPEN,
	KEY_TRACE,
	KEY_SPAN,
	TRACE_KEYS
};

struct trace_note {
	enum trace_key key;
	uint64_t text;     /* number in TABLE_VALUES */
	const char *plain; /* or a text that is written as often as it is used; NULL = none */
};

enum { TRACE_NOTES_MAX = TRACE_KEYS };

/* Numbers of texts and stacks: 0 = none. */
struct trace_event {
	enum trace_type type;
	uint64_t at_ns;
	uint64_t track;
	uint64_t name;
	uint64_t category;
	uint64_t stack;
	uint64_t flow_from; /* the flow begins here */
	uint64_t flow_to;   /* or ends */
	struct trace_note notes[TRACE_NOTES_MAX];
	size_t note_count;
};

struct trace {
	struct export *export;
	FILE *file;
	struct protobuf packet;
	struct walk walk;
	struct lane_names lanes;
	struct id_labels ids;
	struct addresses texts;    /* (table, key) to the number, less one */
	uint64_t keys[TRACE_KEYS]; /* numbers of their words, 0 = not written yet */
	bool *has_stack;
	bool *has_frame; /* by name of a frame */
	bool *has_module;
	uint64_t last_track;
	uint64_t last_flow;
	uint64_t first_thread; /* its track; those of the others follow */
};

void trace_begin_packet(struct trace *, size_t *mark);
void trace_end_packet(struct trace *, size_t mark);
void trace_put_event(struct trace *, const struct trace_event *);
void trace_put_level(struct trace *, uint64_t track, uint64_t at_ns, double value);
/* Adds a note to an event; no packet may be open. */
void trace_note(struct trace *, struct trace_event *, enum trace_key, uint64_t text);
void trace_note_plain(struct trace *, struct trace_event *, enum trace_key, const char *text);

/* The number of a string of the recording, or of a text of this program's own (number below 2^32).
 */
uint64_t trace_string(struct trace *, enum trace_table, uint32_t string);
uint64_t trace_word(struct trace *, enum trace_table, uint32_t number, const char *text);
/* Of a thread's label; of what a slice is called. */
uint64_t trace_thread(struct trace *, enum trace_table, uint32_t thread);
uint64_t trace_slice_name(struct trace *, const struct walk_slice *);
/* As a value: the sort of call that a slice is blocked in, else its state. */
uint64_t trace_reason(struct trace *, const struct walk_slice *);
uint64_t trace_stack(struct trace *, uint32_t stack);

/* A track that is no thread; `parent` 0 = none. */
uint64_t trace_new_track(struct trace *, uint64_t parent, const char *name);
uint64_t trace_new_counter(struct trace *, const char *name);

/* Each of these writes tracks with all that is on them. */
void trace_put_locks(struct trace *);
void trace_put_critical_path(struct trace *);

/* How many threads were in a state, on average, in each part of the recording's time. */
struct trace_levels {
	const char *name;
	uint64_t *ns; /* by part */
	uint64_t start_ns;
	uint64_t part_ns;
	size_t part_count;
};

void trace_levels_begin(struct trace_levels *, const char *name, uint64_t start_ns,
			uint64_t end_ns);
void trace_levels_add(struct trace_levels *, uint64_t from_ns, uint64_t to_ns);
/* Writes the counter, and frees. */
void trace_levels_put(struct trace *, struct trace_levels *);
void trace_put_request_rate(struct trace *, uint64_t start_ns, uint64_t end_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings, functions, frames, stacks and categories of a profile.
 *
 * Each table is a set of keys with several numbers in one: its columns are read back from the keys.
 * A stack is a node below another one, and an outer frame's node comes before the inner one's.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "firefox_parts.h"
#include "format.h"
#include "names/framenames.h"
#include "recording/intern.h"
#include "measure/locks.h"
#include "stacksums.h"

/* Keys, from their lowest bit: the widths of what is in them. */
enum {
	SUBCATEGORY_BITS = 8,
	CATEGORY_BITS = 4,
	LINE_BITS = 24,
	FUNCTION_SHIFT = SUBCATEGORY_BITS + CATEGORY_BITS + LINE_BITS,
	NAME_SHIFT = 31,   /* of a function: above its source */
	PREFIX_SHIFT = 32, /* of a stack: above its frame; 0 = it is outermost */
	LINE_MAX = (1 << LINE_BITS) - 1
};

static const struct category {
	const char *name;
	const char *color;
} categories[CATEGORIES] = {
	[CATEGORY_UNEXPLAINED] = { "Unexplained", "grey" },
	[CATEGORY_RUNNING] = { "Running", "yellow" },
	[CATEGORY_QUEUED] = { "Waiting for a CPU", "orange" },
	[CATEGORY_LOCK] = { "Blocked by a lock", "red" },
	[CATEGORY_OTHERS] = { "Blocked by another thread or process", "purple" },
	[CATEGORY_IO] = { "Blocked in I/O", "blue" },
	[CATEGORY_POLL] = { "Blocked in a poll", "lightblue" },
	[CATEGORY_SLEEP] = { "Asleep", "brown" },
	[CATEGORY_IDLE] = { "Idle", "transparent" },
};

static uint32_t low_bits(uint64_t key, unsigned bits)
{
	return (uint32_t)(key & ((UINT64_C(1) << bits) - 1));
}

/* --- Texts --- */

uint32_t firefox_text(struct firefox *firefox, const char *text)
{
	char *printable = utf8_printable(text);
	uint32_t number = recording_intern(&firefox->texts, printable);
	free(printable);
	return number;
}

uint32_t firefox_string(struct firefox *firefox, uint32_t string)
{
	const char *text = firefox->walk.recording->strings[string];
	if (!firefox->text_of[string])
		firefox->text_of[string] = firefox_text(firefox, *text ? text : "?") + 1;
	return firefox->text_of[string] - 1;
}

uint32_t firefox_thread_text(struct firefox *firefox, uint32_t thread)
{
	return firefox_text(firefox, firefox->lanes.threads[thread]);
}

/* --- Categories --- */

enum firefox_category firefox_category_of(const struct recording *recording, uint32_t cause)
{
	if (cause < recording->reasons.count)
		return lock_is_contention((uint16_t)cause) ? CATEGORY_LOCK : CATEGORY_OTHERS;
	switch (cause - recording->reasons.count) {
	case KIND_POLL:
		return CATEGORY_POLL;
	case KIND_SLEEP:
		return CATEGORY_SLEEP;
	default:
		return CATEGORY_IO;
	}
}

static enum firefox_category category_of_slice(const struct firefox *firefox,
					       const struct walk_slice *slice)
{
	switch (slice->state) {
	case WALK_RUNNING:
		return CATEGORY_RUNNING;
	case WALK_QUEUED:
		return CATEGORY_QUEUED;
	case WALK_BLOCKED:
		return firefox_category_of(firefox->walk.recording, slice->cause);
	case WALK_IDLE:
		return CATEGORY_IDLE;
	case WALK_UNEXPLAINED:
		break;
	}
	return CATEGORY_UNEXPLAINED;
}

/* 0 is what each category has to begin with: none. */
static uint32_t subcategory_of(struct firefox *firefox, enum firefox_category category,
			       const struct walk_slice *slice)
{
	if (slice->state != WALK_BLOCKED && slice->state != WALK_IDLE)
		return 0;
	size_t known = firefox->subcategories.count;
	uint32_t index = addresses_add(&firefox->subcategories, category, slice->cause);
	if (index == known) {
		firefox->subcategory = memory_grow(firefox->subcategory, &firefox->subcategory_room,
						   known + 1, sizeof(*firefox->subcategory));
		firefox->subcategory[index] = ++firefox->subcategory_of[category];
	}
	return firefox->subcategory[index];
}

void firefox_put_categories(struct firefox *firefox)
{
	struct jsongz *json = firefox->json;
	jsongz_raw(json, "\"categories\":[");
	for (uint32_t i = 0; i < CATEGORIES; i++) {
		jsongz_raw(json, i ? ",\n{\"name\":" : "\n{\"name\":");
		jsongz_text(json, categories[i].name);
		jsongz_raw(json, ",\"color\":");
		jsongz_text(json, categories[i].color);
		jsongz_raw(json, ",\"subcategories\":[\"Other\"");
		for (size_t k = 0; k < firefox->subcategories.count; k++) {
			const struct address_key *key = &firefox->subcategories.keys[k];
			if (key->process != i)
				continue;
			jsongz_raw(json, ",");
			jsongz_text(json, thread_cause_word(firefox->walk.recording,
							    (uint32_t)key->address));
		}
		jsongz_raw(json, "]}");
	}
	jsongz_raw(json, "]");
}

/* --- Frames and stacks --- */

static const char *lib_path(const struct firefox *firefox, size_t lib)
{
	return firefox->walk.recording->strings[firefox->libs.keys[lib].address];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* One for each file, though several processes have it. 0 = none. */
static uint32_t lib_of(struct firefox *firefox, uint32_t index)
{
	const struct recording *recording = firefox->walk.recording;
	if (index == NO_INDEX || rec_module_is_jit(recording, &recording->modules[index]))
		return 0;
	size_t known = firefox->libs.count;
	uint32_t lib = addresses_add(&firefox->libs, recording->modules[index].build_id,
				     recording->modules[index].path);
	if (lib == known) {
		firefox->lib_texts = memory_grow(firefox->lib_texts, &firefox->lib_room, known + 1,
						 sizeof(*firefox->lib_texts));
		firefox->lib_texts[lib] = firefox_text(firefox, base_name(lib_path(firefox, lib)));
	}
	return lib + 1;
}

static uint32_t frame_of(struct firefox *firefox, uint32_t lib, uint32_t name,
			 const struct frame_place *place, uint32_t category, uint32_t subcategory)
{
	uint64_t source = 0, line = place->line < LINE_MAX ? place->line : LINE_MAX;
	if (place->file)
		source = addresses_add(&firefox->sources, 0, firefox_string(firefox, place->file)) +
			 1;
	uint64_t function =
		addresses_add(&firefox->functions, lib, (uint64_t)name << NAME_SHIFT | source);
	assert(subcategory < 1 << SUBCATEGORY_BITS);
	return addresses_add(&firefox->frames, 0,
			     function << FUNCTION_SHIFT |
				     line << (SUBCATEGORY_BITS + CATEGORY_BITS) |
				     category << SUBCATEGORY_BITS | subcategory);
}

static uint32_t stack_below(struct firefox *firefox, uint32_t prefix, uint32_t frame)
{
	uint64_t above = prefix == NO_INDEX ? 0 : (uint64_t)prefix + 1;
	return addresses_add(&firefox->stacks, 0, above << PREFIX_SHIFT | frame);
}

static uint32_t make_stack(struct firefox *firefox, const struct rec_stack *stack)
{
	const struct recording *recording = firefox->walk.recording;
	const struct frame_names *names = &firefox->walk.labels->frames;
	uint32_t node = NO_INDEX;
	for (uint32_t i = stack->first_frame + stack->frame_count; i-- > stack->first_frame;) {
		uint32_t lib = lib_of(firefox, recording->frames[i].module);
		for (uint32_t k = names->first[i + 1]; k-- > names->first[i];) {
			const struct frame_place place =
				names->places ? names->places[k] : (struct frame_place){ 0 };
			node = stack_below(firefox, node,
					   frame_of(firefox, lib,
						    firefox_string(firefox, names->names[k]),
						    &place, CATEGORY_RUNNING, 0));
		}
	}
	return node;
}

uint32_t firefox_stack(struct firefox *firefox, uint32_t stack)
{
	enum { NOT_YET, NO_FRAMES, FIRST_NODE };
	const struct labels *labels = firefox->walk.labels;
	if (!labels || !labels->frames.first || stack == 0)
		return NO_INDEX;
	if (firefox->stack_of[stack] == NOT_YET) {
		uint32_t node = make_stack(firefox, &firefox->walk.recording->stacks[stack]);
		firefox->stack_of[stack] = node == NO_INDEX ? NO_FRAMES : node + FIRST_NODE;
	}
	return firefox->stack_of[stack] == NO_FRAMES ? NO_INDEX
						     : firefox->stack_of[stack] - FIRST_NODE;
}

/* The innermost frame of a slice that is in no function of its own. */
static uint32_t leaf_frame(struct firefox *firefox, const struct walk_slice *slice)
{
	static const struct frame_place nowhere = { 0 };
	bool is_running = slice->state == WALK_RUNNING;
	uint32_t name = is_running ? 0 : slice->name;
	uint32_t number = stack_leaf_number(slice->state, is_running ? NO_INDEX : slice->cause);
	size_t known = firefox->leaves.count;
	uint32_t index = addresses_add(&firefox->leaves, 0, (uint64_t)number << 32 | name);
	if (index < known)
		return firefox->leaf_frames[index];
	enum firefox_category category = category_of_slice(firefox, slice);
	char *leaf = stack_leaf(&firefox->walk, number, name, 0);
	uint32_t frame = frame_of(firefox, 0, firefox_text(firefox, leaf), &nowhere, category,
				  subcategory_of(firefox, category, slice));
	free(leaf);
	firefox->leaf_frames = memory_grow(firefox->leaf_frames, &firefox->leaf_room, known + 1,
					   sizeof(*firefox->leaf_frames));
	return firefox->leaf_frames[index] = frame;
}

uint32_t firefox_slice_stack(struct firefox *firefox, const struct walk_slice *slice)
{
	uint32_t node = firefox_stack(firefox, slice->stack);
	if (slice->state == WALK_RUNNING && node != NO_INDEX)
		return node;
	return stack_below(firefox, node, leaf_frame(firefox, slice));
}

/* --- Columns --- */

void firefox_put_column(struct firefox *firefox, const char *name, size_t count,
			void (*put)(struct firefox *, const void *context, size_t index),
			const void *context)
{
	jsongz_raw(firefox->json, "\"");
	jsongz_raw(firefox->json, name);
	jsongz_raw(firefox->json, "\":[");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			jsongz_raw(firefox->json, ",");
		put(firefox, context, i);
	}
	jsongz_raw(firefox->json, "],\n");
}

static void put_value(struct firefox *firefox, const void *context, size_t index)
{
	(void)index;
	jsongz_raw(firefox->json, context);
}

void firefox_put_same(struct firefox *firefox, const char *name, size_t count, const char *value)
{
	firefox_put_column(firefox, name, count, put_value, value);
}

/* A table's last member. */
static void put_length(struct firefox *firefox, size_t count, const char *end)
{
	jsongz_raw(firefox->json, "\"length\":");
	jsongz_number(firefox->json, count);
	jsongz_raw(firefox->json, end);
}

static void put_number_or_null(struct firefox *firefox, uint64_t number, bool is_null)
{
	if (is_null)
		jsongz_raw(firefox->json, "null");
	else
		jsongz_number(firefox->json, number);
}

/* Bits of a key that are a column. */
struct part {
	const struct addresses *table;
	unsigned shift, bits;
	bool is_less_one; /* 0 = null */
};

static void put_part(struct firefox *firefox, const void *context, size_t index)
{
	const struct part *part = context;
	uint64_t number = low_bits(part->table->keys[index].address >> part->shift, part->bits);
	put_number_or_null(firefox, number - part->is_less_one, part->is_less_one && number == 0);
}

static void put_line(struct firefox *firefox, const void *context, size_t index)
{
	uint32_t line =
		low_bits(firefox->frames.keys[index].address >> (SUBCATEGORY_BITS + CATEGORY_BITS),
			 LINE_BITS);
	(void)context;
	put_number_or_null(firefox, line, line == 0);
}

/* The number of a lib is that of its resource; -1 = none. */
static void put_resource(struct firefox *firefox, const void *context, size_t index)
{
	uint32_t lib = firefox->functions.keys[index].process;
	(void)context;
	if (lib == 0)
		jsongz_raw(firefox->json, "-1");
	else
		jsongz_number(firefox->json, lib - 1);
}

static void put_part_column(struct firefox *firefox, const char *name, struct part part)
{
	firefox_put_column(firefox, name, part.table->count, put_part, &part);
}

/* --- Tables --- */

static void put_number(struct firefox *firefox, const void *context, size_t index)
{
	(void)context;
	jsongz_number(firefox->json, index);
}

static void put_lib_name(struct firefox *firefox, const void *context, size_t index)
{
	(void)context;
	jsongz_number(firefox->json, firefox->lib_texts[index]);
}

static void put_text(struct firefox *firefox, const void *context, size_t index)
{
	(void)context;
	jsongz_text(firefox->json, firefox->texts.strings[index]);
}

static void put_frames(struct firefox *firefox)
{
	size_t count = firefox->frames.count;
	const struct addresses *frames = &firefox->frames;
	jsongz_raw(firefox->json, "\"frameTable\":{");
	put_part_column(firefox, "func",
			(struct part){ frames, FUNCTION_SHIFT, 63 - FUNCTION_SHIFT, false });
	put_part_column(firefox, "category",
			(struct part){ frames, SUBCATEGORY_BITS, CATEGORY_BITS, false });
	put_part_column(firefox, "subcategory",
			(struct part){ frames, 0, SUBCATEGORY_BITS, false });
	firefox_put_column(firefox, "line", count, put_line, NULL);
	firefox_put_same(firefox, "address", count, "-1");
	firefox_put_same(firefox, "inlineDepth", count, "0");
	firefox_put_same(firefox, "nativeSymbol", count, "null");
	firefox_put_same(firefox, "innerWindowID", count, "0");
	firefox_put_same(firefox, "column", count, "null");
	put_length(firefox, count, "},\n");
}

static void put_functions(struct firefox *firefox)
{
	size_t count = firefox->functions.count;
	const struct addresses *functions = &firefox->functions;
	jsongz_raw(firefox->json, "\"funcTable\":{");
	put_part_column(firefox, "name", (struct part){ functions, NAME_SHIFT, 31, false });
	put_part_column(firefox, "source", (struct part){ functions, 0, NAME_SHIFT, true });
	firefox_put_column(firefox, "resource", count, put_resource, NULL);
	firefox_put_same(firefox, "isJS", count, "false");
	firefox_put_same(firefox, "relevantForJS", count, "false");
	firefox_put_same(firefox, "lineNumber", count, "null");
	firefox_put_same(firefox, "columnNumber", count, "null");
	put_length(firefox, count, "},\n");
}

void firefox_put_tables(struct firefox *firefox)
{
	const struct addresses *stacks = &firefox->stacks;
	jsongz_raw(firefox->json, "\"shared\":{");
	firefox_put_column(firefox, "stringArray", firefox->texts.string_count, put_text, NULL);
	jsongz_raw(firefox->json, "\"stackTable\":{");
	put_part_column(firefox, "frame", (struct part){ stacks, 0, PREFIX_SHIFT, false });
	put_part_column(firefox, "prefix", (struct part){ stacks, PREFIX_SHIFT, 31, true });
	put_length(firefox, stacks->count, "},\n");
	put_frames(firefox);
	put_functions(firefox);
	jsongz_raw(firefox->json, "\"resourceTable\":{");
	firefox_put_column(firefox, "lib", firefox->libs.count, put_number, NULL);
	firefox_put_column(firefox, "name", firefox->libs.count, put_lib_name, NULL);
	firefox_put_same(firefox, "host", firefox->libs.count, "null");
	firefox_put_same(firefox, "type", firefox->libs.count, "1");
	put_length(firefox, firefox->libs.count, "},\n\"sources\":{");
	put_part_column(firefox, "filename", (struct part){ &firefox->sources, 0, 32, false });
	firefox_put_same(firefox, "uuid", firefox->sources.count, "null");
	put_length(firefox, firefox->sources.count, "},\n\"nativeSymbols\":{");
	jsongz_raw(firefox->json,
		   "\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],");
	put_length(firefox, 0, "}}");
}

void firefox_put_libs(struct firefox *firefox)
{
	const struct recording *recording = firefox->walk.recording;
	struct jsongz *json = firefox->json;
	jsongz_raw(json, "\"libs\":[");
	for (size_t i = 0; i < firefox->libs.count; i++) {
		const char *path = lib_path(firefox, i);
		const char *build = recording->strings[firefox->libs.keys[i].process];
		jsongz_raw(json, i ? ",\n{\"arch\":\"x86_64\",\"name\":"
				   : "{\"arch\":\"x86_64\",\"name\":");
		jsongz_text(json, base_name(path));
		jsongz_raw(json, ",\"debugName\":");
		jsongz_text(json, base_name(path));
		jsongz_raw(json, ",\"path\":");
		jsongz_text(json, path);
		jsongz_raw(json, ",\"debugPath\":");
		jsongz_text(json, path);
		jsongz_raw(json, ",\"breakpadId\":");
		jsongz_text(json, build);
		jsongz_raw(json, ",\"codeId\":");
		jsongz_text(json, build);
		jsongz_raw(json, "}");
	}
	jsongz_raw(json, "]");
}

void firefox_tables_free(struct firefox *firefox)
{
	intern_free(firefox->texts.intern);
	free(firefox->texts.strings);
	free(firefox->text_of);
	free(firefox->stack_of);
	free(firefox->lib_texts);
	free(firefox->leaf_frames);
	free(firefox->subcategory);
	addresses_free(&firefox->sources);
	addresses_free(&firefox->libs);
	addresses_free(&firefox->functions);
	addresses_free(&firefox->frames);
	addresses_free(&firefox->stacks);
	addresses_free(&firefox->leaves);
	addresses_free(&firefox->subcategories);
}

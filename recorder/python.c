/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a Python interpreter. See python.h.
 *
 * The interpreter is found by its exported data, if the program has it or a library that was loaded
 * with it. Its version and the sizes that its types say of themselves must be those of `layout`.
 *
 * A thread has a state, which leads to a chain of entries to the interpreter. Each lies on the
 * thread's own stack, in the native frame that runs it. An entry leads to the innermost Python
 * frame that it runs, and from there outwards to the one with which it began.
 *
 * The frames of a thread in a call stay as they are until the call returns. A frame keeps its code,
 * and the code its names. While a frame is given up, the interpreter has noted where its operands
 * end; a frame that is running has no such note. So a frame that has one is passed over if it is
 * the innermost of an entry.
 *
 * The interpreter unmaps the memory of a frame some instructions before it forgets the frame. A
 * handler of a signal may come between. The frame then lies outside the memory in use, as a
 * generator's does. Such a frame is looked at only if it can be read.
 *
 * All this is so of the thread that started the interpreter. The frames of other threads are read
 * from copies (python_copied.c).
 *
 * Never here: a call to the interpreter; a frame of an entry that is not on the thread's own stack.
 */
#include "python.h"

#include <pthread.h>
#include <string.h>

#include "atomics.h"
#include "format.h"
#include "options.h"
#include "own_stack.h"
#include "python_copied.h"
#include "python_layout.h"
#include "python_words.h"
#include "spare.h"
#include "stack_walk.h"
#include "strings.h"
#include "text.h"

#include "in_target.h"

enum { NAME_BYTES_MAX = 480, ENTRIES_MAX = 64, TABLE_BYTES_MAX = 1 << 20 };

/* Of the interpreter. Not there in other programs. */
extern const uint32_t Py_Version __attribute__((weak));
extern const char _PyRuntime[] __attribute__((weak));
extern const char PyCode_Type[] __attribute__((weak));
extern const char PyType_Type[] __attribute__((weak));

bool python_is_read;

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

static uint32_t half_at(uint64_t address)
{
	return *(const uint32_t *)(uintptr_t)address;
}

static uint64_t runtime_word(uint32_t offset)
{
	return load_relaxed((const uint64_t *)(const void *)(_PyRuntime + offset));
}

static bool is_known(void)
{
	uint64_t type = (uint64_t)(uintptr_t)PyCode_Type;

	if (!&Py_Version || !_PyRuntime || !PyCode_Type || !PyType_Type ||
	    (Py_Version & PYTHON_VERSION_MASK) != PYTHON_VERSION)
		return false;
	return word_at(type + PYTHON_OBJECT_TYPE) == (uint64_t)(uintptr_t)PyType_Type &&
	       word_at(type + PYTHON_TYPE_SIZE) == PYTHON_CODE_INSTRUCTIONS;
}

void python_start(void)
{
	store_relaxed(&python_is_read, recorder_options.python && is_known());
}

/* The state of the calling thread; 0: it has none. */
static uint64_t own_state(void)
{
	uint64_t key = runtime_word(PYTHON_RUNTIME_KEY);

	if (!(uint32_t)key || runtime_word(PYTHON_RUNTIME_ENDS))
		return 0;
	return (uint64_t)(uintptr_t)pthread_getspecific((pthread_key_t)(key >> 32));
}

/* Only the thread that started the interpreter keeps its state for as long as it is in a call. */
static bool is_starter(void)
{
	return runtime_word(PYTHON_RUNTIME_THREAD) == (uint64_t)pthread_self();
}

/* --- One frame --- */

/* Differs where texts do: the interpreter's own hash, or the place of a text that has none. */
static uint64_t text_digest(uint64_t text)
{
	uint64_t hash = word_at(text + PYTHON_TEXT_HASH);

	return hash != UINT64_MAX ? hash : text;
}

static uint64_t code_digest(uint64_t code, uint64_t at, uint64_t index)
{
	uint64_t names = text_digest(word_at(code + PYTHON_CODE_NAME)) +
			 3 * text_digest(word_at(code + PYTHON_CODE_FILE));
	uint64_t place = at << 32 | half_at(code + PYTHON_CODE_LINE);

	return stack_digest_word(names, 2 * index + 1) + stack_digest_word(place, 2 * index + 2) +
	       word_at(code + PYTHON_CODE_LINES);
}

static bool is_code(uint64_t code)
{
	return code && code % sizeof(uint64_t) == 0 && (int64_t)word_at(code) > 0 &&
	       word_at(code + PYTHON_OBJECT_TYPE) == (uint64_t)(uintptr_t)PyCode_Type;
}

/* A walk through the frames. */
struct visit {
	struct python_frames *frames;
	uint64_t digest;
	uint32_t count;
	uint32_t depth;
};

static void add_frame(struct visit *visit, uint64_t frame, uint64_t entry)
{
	uint64_t code = word_at(frame + PYTHON_FRAME_CODE);
	uint64_t at;

	if (!is_code(code))
		return;
	at = word_at(frame + PYTHON_FRAME_INSTRUCTION) - code - PYTHON_CODE_INSTRUCTIONS;
	visit->digest += code_digest(code, at, visit->count) + entry;
	if (visit->frames) {
		visit->frames->code[visit->count] = code;
		visit->frames->at[visit->count] = at;
		visit->frames->native_at[visit->count] = entry;
	}
	visit->count++;
}

/* The frames that one entry runs. False: its chain does not end where it began. */
static bool visit_entry(struct visit *visit, uint64_t entry)
{
	uint64_t frame = word_at(entry + PYTHON_ENTRY_FRAME);
	bool is_innermost = true;

	while (frame && frame % sizeof(uint64_t) == 0 && visit->count < visit->depth) {
		bool is_left = (int32_t)half_at(frame + PYTHON_FRAME_OPERANDS) >= 0;

		if (!is_innermost || !is_left)
			add_frame(visit, frame, entry);
		if (*(const char *)(uintptr_t)(frame + PYTHON_FRAME_IS_FIRST))
			return true;
		frame = word_at(frame + PYTHON_FRAME_CALLER);
		is_innermost = false;
	}
	return false;
}

/* Whether the innermost frame of all is still there. */
static bool has_innermost(uint64_t state, uint64_t entry)
{
	uint64_t frame = word_at(entry + PYTHON_ENTRY_FRAME);
	uint64_t chunk = word_at(state + PYTHON_STATE_CHUNK);

	if (chunk && frame - chunk < word_at(chunk + PYTHON_CHUNK_BYTES))
		return true;
	return stack_is_readable(frame) && stack_is_readable(frame + PYTHON_FRAME_IS_FIRST);
}

static uint64_t frames_of_other(uint64_t state, uint64_t hook, uint32_t depth,
				struct python_frames *frames)
{
	struct python_copy *copy = frames ? frames->copy : spare_borrow();
	uint64_t digest = copy ? python_copied_frames(copy, state, hook, depth, frames) : 0;

	if (copy && !frames)
		spare_return(copy);
	return digest;
}

READS_STACKS uint64_t python_frames(uint64_t hook, uint32_t depth, struct python_frames *frames)
{
	struct visit visit = { .frames = frames,
			       .depth = depth < PYTHON_FRAMES_MAX ? depth : PYTHON_FRAMES_MAX };
	uint64_t state = own_state();
	uint64_t entry;

	if (frames)
		frames->is_copied = !is_starter();
	if (!state)
		return 0;
	if (!is_starter())
		return frames_of_other(state, hook, depth, frames);
	if (word_at(state + PYTHON_STATE_THREAD) != (uint64_t)pthread_self())
		return 0;
	entry = word_at(state + PYTHON_STATE_ENTRY);
	for (uint64_t above = hook; entry > above; entry = word_at(entry + PYTHON_ENTRY_OUTER)) {
		if (stack_words_above(entry) * sizeof(uint64_t) < PYTHON_ENTRY_BYTES ||
		    (above == hook && !has_innermost(state, entry)) || !visit_entry(&visit, entry))
			break;
		above = entry;
	}
	if (frames)
		frames->count = visit.count;
	return visit.count ? visit.digest | 1 : 0;
}

/* --- Names --- */

static void put_character(struct text *text, uint32_t character)
{
	char bytes[4];
	uint32_t count = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	for (uint32_t i = count - 1; i > 0; i--, character >>= 6)
		bytes[i] = (char)(0x80 | (character & 0x3f));
	bytes[0] = (char)(count == 1 ? character : (0xf00u >> count & 0xf0) | character);
	text_put_bytes(text, bytes, count);
}

/* At most so many characters, the last ones. */
static void put_text(struct text *text, uint64_t from, uint64_t most)
{
	uint32_t state = half_at(from + PYTHON_TEXT_STATE);
	uint32_t unit = state >> PYTHON_TEXT_UNIT_SHIFT & 7;
	uint64_t length = word_at(from + PYTHON_TEXT_LENGTH);
	const char *data = (const char *)(uintptr_t)from +
			   (state & PYTHON_TEXT_IS_ASCII ? PYTHON_TEXT_ASCII : PYTHON_TEXT_OTHER);

	if (!(state & PYTHON_TEXT_IS_COMPACT) || unit == 0)
		return;
	if (state & PYTHON_TEXT_IS_ASCII) {
		most = length < most ? length : most;
		text_put_bytes(text, data + (length - most), most);
		return;
	}
	for (uint64_t i = length > most ? length - most : 0; i < length; i++) {
		uint32_t character = 0;

		memcpy(&character, data + i * unit, unit);
		put_character(text, character);
	}
}

/* A reader of the table of lines: a byte for each stretch, with what follows it. */
struct line_table {
	uint64_t at;
	uint64_t end;
};

static uint32_t next_byte(struct line_table *table)
{
	return table->at < table->end ? *(const unsigned char *)(uintptr_t)table->at++ : 0;
}

static uint32_t next_number(struct line_table *table)
{
	uint32_t number = 0, shift = 0, byte;

	do {
		byte = next_byte(table);
		number |= (byte & 63) << shift;
		shift += 6;
	} while (byte & 64 && shift < 30);
	return number;
}

static int32_t next_step(struct line_table *table)
{
	uint32_t number = next_number(table);

	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

/* The line of the instruction; 0: none is known. */
static uint32_t line_of(uint64_t code, uint64_t at)
{
	uint64_t bytes = word_at(code + PYTHON_CODE_LINES);
	uint64_t size = word_at(bytes + PYTHON_BYTES_SIZE);
	struct line_table table = { bytes + PYTHON_BYTES_DATA, bytes + PYTHON_BYTES_DATA };
	int64_t line = half_at(code + PYTHON_CODE_LINE);
	uint64_t reached = 0;

	table.end += size < TABLE_BYTES_MAX ? size : 0;
	while (table.at < table.end) {
		uint32_t byte = next_byte(&table);
		uint32_t form = byte >> 3 & 15;

		reached += ((byte & 7) + 1) * (uint64_t)PYTHON_INSTRUCTION_BYTES;
		if (form == PYTHON_LINES_LONG || form == PYTHON_LINES_NO_COLUMNS)
			line += next_step(&table);
		if (form == PYTHON_LINES_LONG)
			for (int i = 0; i < 3; i++)
				next_number(&table);
		if (form >= PYTHON_LINES_STEPS && form < PYTHON_LINES_NO_COLUMNS)
			line += form - PYTHON_LINES_STEPS;
		if (form < PYTHON_LINES_NO_COLUMNS)
			table.at += form < PYTHON_LINES_STEPS ? 1 : 2;
		if (at < reached)
			return form == PYTHON_LINES_NONE ? 0 : (uint32_t)line;
	}
	return 0;
}

static uint64_t make_word(uint64_t code, uint64_t at, char *room)
{
	struct text text = { .bytes = room, .size = STRING_BYTES_MAX };
	uint32_t id;

	put_text(&text, word_at(code + PYTHON_CODE_NAME), NAME_BYTES_MAX / 4);
	text_put_literal(&text, " ");
	put_text(&text, word_at(code + PYTHON_CODE_FILE), NAME_BYTES_MAX / 4);
	text_put_literal(&text, ":");
	text_put_u64(&text, line_of(code, at));
	id = string_intern(text.bytes, text.used);
	return id ? STACK_TEXT | id : 0;
}

uint64_t python_word(const struct python_frames *frames, uint32_t index, uint64_t generation,
		     char *room)
{
	uint64_t code = frames->code[index];
	/* Before its first instruction a function is where that is. */
	uint64_t at = (int64_t)frames->at[index] < 0 ? 0 : frames->at[index];
	uint64_t digest = frames->is_copied ? stack_digest_word(at, 1) + frames->copy->names[index]
					    : code_digest(code, at, 0);
	uint64_t word;

	digest += stack_digest_word(generation, 3);
	word = python_words_find(digest);
	if (word)
		return word;
	if (frames->is_copied)
		code = python_copied_code(frames->copy, code);
	word = code ? make_word(code, at, room) : 0;
	if (word)
		python_words_note(digest, word);
	return word;
}

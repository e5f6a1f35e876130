/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies what frames of a Python thread say. See python_copied.h.
 *
 * Two calls of the kernel get the thread's state and the newest of its frames. A third one gets the
 * heads of the functions, for a stack that is new. Entries to the interpreter are on the thread's
 * own stack. A generator's frame lies elsewhere, and takes a call of its own.
 */
#include "python_copied.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include "arena.h"
#include "own_stack.h"
#include "record.h"
#include "stack_walk.h"
#include "syscalls.h"

#include "in_target.h"

enum { WORD = sizeof(uint64_t), FRAME_WORDS = PYTHON_FRAME_BYTES / WORD };

extern const char PyCode_Type[] __attribute__((weak));

_Static_assert(COPIED_TEXT_BYTES % WORD == 0 && PYTHON_CODE_INSTRUCTIONS % WORD == 0, "in words");

static bool copy(uint64_t address, void *to, size_t bytes)
{
	return sys_read_memory(recorder_arena->pid, address, to, bytes);
}

static uint64_t state_word(const struct python_copied_walk *walk, size_t offset)
{
	return walk->state[(offset - PYTHON_STATE_ENTRY) / WORD];
}

static bool copy_state(struct python_copied_walk *walk, uint64_t state)
{
	return copy(state + PYTHON_STATE_ENTRY, walk->state, sizeof(walk->state)) &&
	       state_word(walk, PYTHON_STATE_THREAD) == (uint64_t)pthread_self();
}

/* The innermost frames are at its end. */
static void copy_window(struct python_copied_walk *walk)
{
	uint64_t chunk = state_word(walk, PYTHON_STATE_CHUNK);
	uint64_t top = state_word(walk, PYTHON_STATE_TOP);
	uint64_t bytes = top - chunk;

	walk->window_bytes = 0;
	if (!chunk || top <= chunk || chunk % WORD || top % WORD)
		return;
	bytes = bytes < sizeof(walk->window) ? bytes : sizeof(walk->window);
	walk->window_at = top - bytes;
	if (copy(walk->window_at, walk->window, bytes))
		walk->window_bytes = bytes;
}

static bool copy_frame(const struct python_copied_walk *walk, uint64_t frame,
		       uint64_t words[FRAME_WORDS])
{
	uint64_t offset = frame - walk->window_at;

	if (frame % WORD)
		return false;
	if (walk->window_bytes < PYTHON_FRAME_BYTES ||
	    offset > walk->window_bytes - PYTHON_FRAME_BYTES)
		return copy(frame, words, PYTHON_FRAME_BYTES);
	for (size_t i = 0; i < FRAME_WORDS; i++)
		words[i] = walk->window[offset / WORD + i];
	return true;
}

/* As visit_entry() of python.c. */
static bool walk_entry(struct python_copied_walk *walk, uint64_t entry, uint32_t depth)
{
	uint64_t frame = *(const uint64_t *)(uintptr_t)(entry + PYTHON_ENTRY_FRAME);
	uint64_t words[FRAME_WORDS];
	bool is_innermost = true;

	while (frame && walk->count < depth && copy_frame(walk, frame, words)) {
		const char *bytes = (const char *)words;
		int32_t operands;

		memcpy(&operands, bytes + PYTHON_FRAME_OPERANDS, sizeof(operands));
		if (!is_innermost || operands < 0) {
			uint64_t code = words[PYTHON_FRAME_CODE / WORD];

			walk->code[walk->count] = code;
			walk->at[walk->count] = words[PYTHON_FRAME_INSTRUCTION / WORD] - code -
						PYTHON_CODE_INSTRUCTIONS;
			walk->entry[walk->count++] = entry;
		}
		if (bytes[PYTHON_FRAME_IS_FIRST])
			return true;
		frame = words[PYTHON_FRAME_CALLER / WORD];
		is_innermost = false;
	}
	return false;
}

/* Those behind the first that cannot be read are left out. */
static void copy_heads(struct python_copied_walk *walk)
{
	struct iovec local = { walk->heads, walk->count * sizeof(walk->heads[0]) };
	struct iovec remote[COPIED_FRAMES_MAX];
	long got;

	for (uint32_t i = 0; i < walk->count; i++)
		remote[i] =
			(struct iovec){ (void *)(uintptr_t)walk->code[i], sizeof(walk->heads[0]) };
	got = walk->count ? sys_call(SYS_process_vm_readv, recorder_arena->pid, (long)&local, 1,
				     (long)remote, walk->count, 0)
			  : 0;
	walk->count = got > 0 ? (uint32_t)((size_t)got / sizeof(walk->heads[0])) : 0;
}

static bool is_code(const uint64_t *code)
{
	return (int64_t)code[0] > 0 &&
	       code[PYTHON_OBJECT_TYPE / WORD] == (uint64_t)(uintptr_t)PyCode_Type;
}

/* Where the functions are, and where in them. */
static uint64_t digest_of(const struct python_copied_walk *walk)
{
	uint64_t digest = 0;

	for (uint32_t i = 0; i < walk->count; i++)
		digest += stack_digest_word(walk->code[i], 2 * (uint64_t)i + 1) +
			  stack_digest_word(walk->at[i], 2 * (uint64_t)i + 2) + walk->entry[i];
	return walk->count ? digest | 1 : 0;
}

static uint64_t names_digest(const uint64_t *code)
{
	return stack_digest_word(code[PYTHON_CODE_NAME / WORD], 5) +
	       stack_digest_word(code[PYTHON_CODE_FILE / WORD], 7) +
	       stack_digest_word(code[PYTHON_CODE_LINES / WORD], 9) + code[PYTHON_CODE_LINE / WORD];
}

/* False: none of them is there any more. */
static bool take_frames(struct python_copy *room, struct python_frames *frames)
{
	struct python_copied_walk *walk = &room->walk;

	frames->count = 0;
	copy_heads(walk);
	for (uint32_t i = 0; i < walk->count; i++) {
		if (!is_code(walk->heads[i]))
			continue;
		room->names[frames->count] = names_digest(walk->heads[i]);
		frames->code[frames->count] = walk->code[i];
		frames->at[frames->count] = walk->at[i];
		frames->native_at[frames->count++] = walk->entry[i];
	}
	return frames->count > 0;
}

READS_STACKS uint64_t python_copied_frames(struct python_copy *room, uint64_t state, uint64_t hook,
					   uint32_t depth, struct python_frames *frames)
{
	struct python_copied_walk *walk = &room->walk;
	uint64_t entry, digest;

	walk->count = 0;
	if (!copy_state(walk, state))
		return 0;
	copy_window(walk);
	depth = depth < COPIED_FRAMES_MAX ? depth : COPIED_FRAMES_MAX;
	entry = state_word(walk, PYTHON_STATE_ENTRY);
	for (uint64_t above = hook; entry > above;
	     entry = *(const uint64_t *)(uintptr_t)(entry + PYTHON_ENTRY_OUTER)) {
		if (stack_words_above(entry) * WORD < PYTHON_ENTRY_BYTES ||
		    !walk_entry(walk, entry, depth))
			break;
		above = entry;
	}
	digest = digest_of(walk);
	return !frames || take_frames(room, frames) ? digest : 0;
}

/* --- Names --- */

/* The last characters of it. */
static bool copy_text(uint64_t text, uint64_t *to)
{
	char *bytes = (char *)to;
	uint32_t state, unit;
	uint64_t length, most = COPIED_TEXT_CHARACTERS, data;

	if (!copy(text, to, PYTHON_TEXT_ASCII))
		return false;
	memcpy(&state, bytes + PYTHON_TEXT_STATE, sizeof(state));
	unit = state >> PYTHON_TEXT_UNIT_SHIFT & 7;
	length = to[PYTHON_TEXT_LENGTH / WORD];
	data = state & PYTHON_TEXT_IS_ASCII ? PYTHON_TEXT_ASCII : PYTHON_TEXT_OTHER;
	most = length < most ? length : most;
	to[PYTHON_TEXT_LENGTH / WORD] = most;
	return unit <= 4 &&
	       (most == 0 || copy(text + data + (length - most) * unit, bytes + data, most * unit));
}

/* More of them than there is room for are none. */
static bool copy_lines(uint64_t lines, uint64_t *to)
{
	uint64_t *size = &to[PYTHON_BYTES_SIZE / WORD];

	if (!copy(lines, to, PYTHON_BYTES_DATA))
		return false;
	if (*size > COPIED_LINES_BYTES)
		*size = 0;
	return *size == 0 || copy(lines + PYTHON_BYTES_DATA, (char *)to + PYTHON_BYTES_DATA, *size);
}

uint64_t python_copied_code(struct python_copy *room, uint64_t code)
{
	struct python_copied_code *of = &room->of;
	uint64_t *words = of->code;

	if (!copy(code, words, sizeof(of->code)) || !is_code(words) ||
	    !copy_text(words[PYTHON_CODE_NAME / WORD], of->name) ||
	    !copy_text(words[PYTHON_CODE_FILE / WORD], of->file) ||
	    !copy_lines(words[PYTHON_CODE_LINES / WORD], of->lines))
		return 0;
	words[PYTHON_CODE_NAME / WORD] = (uint64_t)(uintptr_t)of->name;
	words[PYTHON_CODE_FILE / WORD] = (uint64_t)(uintptr_t)of->file;
	words[PYTHON_CODE_LINES / WORD] = (uint64_t)(uintptr_t)of->lines;
	return (uint64_t)(uintptr_t)words;
}

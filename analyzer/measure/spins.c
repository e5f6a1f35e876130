/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the samples that fell into waiting loops, by thread and function.
 *
 * Of each sampled stack the innermost frame's code is looked at once. A loop inside a recorded call
 * (a spinlock of libc's) is a wait already, and does not count. Code that is not here, or was made
 * at run time, is taken to work.
 *
 * One thread.
 */
#include "spins.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "functions.h"
#include "names/spinloop.h"
#include "recording/intern.h"

static const char recorder_library[] = "libwcprof.so";

/* A recorded call is under way: the recorder's library made it. */
static bool is_in_recorded_call(const struct recording *recording, struct symbols *symbols,
				const struct rec_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		uint32_t module = recording->frames[stack->first_frame + i].module;

		if (strcmp(symbols_module_name(symbols, module), recorder_library) == 0)
			return true;
	}
	return false;
}

/* The function's start is known, and sets up a frame. */
static bool has_frame_at(struct symbols *symbols, struct rec_frame frame, const uint8_t *code,
			 size_t before)
{
	uint64_t offset = symbols_place(symbols, frame, true)->function_offset;

	return offset && offset <= before && spinloop_has_frame(code - offset, (size_t)offset);
}

enum stack_state { STACK_NEW, STACK_UNKNOWN, STACK_WORKS, STACK_SPINS };

static enum stack_state look_at(const struct recording *recording, struct symbols *symbols,
				const struct rec_stack *stack)
{
	size_t before, after;

	if (!stack->frame_count)
		return STACK_UNKNOWN;
	const uint8_t *code =
		symbols_code(symbols, recording->frames[stack->first_frame], true, &before, &after);
	if (!code)
		return STACK_UNKNOWN;
	bool has_frame = has_frame_at(symbols, recording->frames[stack->first_frame], code, before);
	before = before < SPINLOOP_BYTES_MAX ? before : SPINLOOP_BYTES_MAX;
	after = after < SPINLOOP_BYTES_MAX ? after : SPINLOOP_BYTES_MAX;
	bool spins = spinloop_is_at(code - before, before + after, before, has_frame) &&
		     !is_in_recorded_call(recording, symbols, stack);
	return spins ? STACK_SPINS : STACK_WORKS;
}

/* The function that the loop is in; one that was inlined is what the program's author knows. */
static uint32_t function_of(struct recording *recording, struct symbols *symbols,
			    const struct rec_stack *stack)
{
	const char *name = symbols_place(symbols, recording->frames[stack->first_frame], true)
				   ->frames[0]
				   .function;

	return name ? recording_intern(recording, name) : 0;
}

/* Of one function and one thread. */
struct item {
	uint32_t function;
	uint32_t thread;
	uint64_t ns;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static void add_up(struct spins *spins, const struct item *items, size_t count)
{
	uint64_t thread_ns = 0;

	for (size_t from = 0, to; from < count; from = to) {
		uint64_t ns = 0;

		for (to = from; to < count && compare_items(&items[from], &items[to]) == 0; to++)
			ns += items[to].ns;
		if (from && items[from].thread != items[from - 1].thread)
			thread_ns = 0;
		thread_ns += ns;
		spins->total_ns += ns;
		spins->thread_ns = thread_ns > spins->thread_ns ? thread_ns : spins->thread_ns;
		if (ns <= spins->most_ns)
			continue;
		spins->most_ns = ns;
		spins->function = items[from].function;
		spins->thread = items[from].thread;
	}
}

void spins_build(struct spins *spins, struct recording *recording, struct symbols *symbols)
{
	struct sample_weights weights = { .recording = recording };
	uint8_t *states = memory_new(recording->stack_count, sizeof(*states));
	struct item *items = NULL;
	size_t count = 0, room = 0;

	*spins = (struct spins){ .thread = NO_INDEX };
	for (size_t i = 0; i < recording->sample_count; i++) {
		uint32_t index = recording->samples[i].stack;
		const struct rec_stack *stack = &recording->stacks[index];
		uint64_t weight_ns = sample_weight_next(&weights);

		if (states[index] == STACK_NEW)
			states[index] = (uint8_t)look_at(recording, symbols, stack);
		spins->looked_ns += states[index] == STACK_UNKNOWN ? 0 : weight_ns;
		if (states[index] != STACK_SPINS)
			continue;
		items = memory_grow(items, &room, count + 1, sizeof(*items));
		items[count++] = (struct item){ function_of(recording, symbols, stack),
						recording->samples[i].thread, weight_ns };
	}
	if (count)
		qsort(items, count, sizeof(*items), compare_items);
	add_up(spins, items, count);
	free(items);
	free(states);
}

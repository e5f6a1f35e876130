/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up the functions and lines of every frame of the recorded stacks.
 *
 * Stacks share frames only by value. Each distinct address is looked up once by symbols.c; its
 * names are interned here as often as it occurs.
 */
#include "framenames.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/intern.h"

enum { NAME_BYTES = 512 };

static const char recorder_library[] = "libwcprof.so";

/* The function's name alone; where it is not known, module and where it starts. */
static uint32_t name_of(struct recording *recording, const struct symbol_place *place, size_t frame)
{
	char text[NAME_BYTES];
	return recording_intern(recording, symbols_function_text(place, frame, text, sizeof(text)));
}

/* Room for `count` names. */
struct rooms {
	size_t names, places, flags;
};

static void names_grow(struct frame_names *names, struct rooms *rooms, size_t count)
{
	names->names = memory_grow(names->names, &rooms->names, count, sizeof(*names->names));
	names->places = memory_grow(names->places, &rooms->places, count, sizeof(*names->places));
	names->are_runtime =
		memory_grow(names->are_runtime, &rooms->flags, count, sizeof(*names->are_runtime));
}

static struct frame_place place_of(struct recording *recording, const struct symbol_frame *frame)
{
	return (struct frame_place){
		.file = frame->file ? recording_intern(recording, frame->file) : 0,
		.line = frame->line,
		.is_named = frame->function != NULL,
	};
}

/* By frame: it is in a stack that is wanted. */
static bool *find_used(const struct recording *recording, const bool *is_wanted)
{
	bool *is_used = memory_new(recording->frame_count, sizeof(*is_used));
	for (size_t i = 0; i < recording->stack_count; i++)
		if (is_wanted[i] && recording->stacks[i].frame_count > 0)
			memset(is_used + recording->stacks[i].first_frame, true,
			       recording->stacks[i].frame_count);
	return is_used;
}

void frame_names_build(struct frame_names *names, struct recording *recording,
		       struct symbols *symbols, struct callers *callers, const bool *is_wanted)
{
	struct rooms rooms = { 0 };
	uint32_t used = 0;
	bool *is_used = find_used(recording, is_wanted);
	*names = (struct frame_names){
		.first = memory_new(recording->frame_count + 1, sizeof(*names->first)),
	};
	for (size_t i = 0; i < recording->frame_count; i++) {
		names->first[i] = used;
		if (!is_used[i])
			continue;
		const struct symbol_place *place =
			symbols_place(symbols, recording->frames[i], true);
		if (strcmp(place->module, recorder_library) == 0)
			continue;
		names_grow(names, &rooms, used + place->frame_count);
		for (size_t k = 0; k < place->frame_count; k++) {
			names->are_runtime[used] = callers_is_runtime(callers, recording->frames[i],
								      &place->frames[k]);
			names->places[used] = place_of(recording, &place->frames[k]);
			names->names[used++] = name_of(recording, place, k);
		}
	}
	names->first[recording->frame_count] = used;
	free(is_used);
}

void frame_names_free(struct frame_names *names)
{
	free(names->first);
	free(names->names);
	free(names->places);
	free(names->are_runtime);
	*names = (struct frame_names){ 0 };
}

size_t frame_names_of_stack(const struct frame_names *names, const struct recording *recording,
			    uint32_t stack, uint32_t *functions, size_t room)
{
	const struct rec_stack *frames = &recording->stacks[stack];
	size_t count = 0;
	assert(stack < recording->stack_count);
	if (!names || !names->first || frames->frame_count == 0)
		return 0;
	uint32_t end = names->first[frames->first_frame + frames->frame_count];
	for (uint32_t i = names->first[frames->first_frame]; i < end && count < room; i++)
		functions[count++] = names->names[i];
	return count;
}

bool frame_names_is_runtime(const struct frame_names *names, const struct recording *recording,
			    uint32_t stack, size_t index)
{
	uint32_t first_frame = recording->stacks[stack].first_frame;

	return names && names->are_runtime && names->are_runtime[names->first[first_frame] + index];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the frames of stacks: the functions that each is in, and where in their sources, as
 * strings of the recording.
 *
 * Built once, while symbols are there; read-only afterwards. Frames of the recorder's own library
 * have no names: they are no part of the program.
 */
#ifndef WCPROF_FRAMENAMES_H
#define WCPROF_FRAMENAMES_H

#include "callers.h"
#include "recording/recording.h"
#include "symbols.h"

/* Frame i is in the functions names[first[i]] to names[first[i + 1] - 1], inlined ones first. */
struct frame_names {
	uint32_t *first;            /* one more than there are frames */
	uint32_t *names;            /* string ids */
	struct frame_place *places; /* by name; NULL = not known of any */
	bool *are_runtime;          /* by name; NULL = none is */
};

struct frame_place {
	uint32_t file; /* string id, 0 = not known */
	uint32_t line; /* 0 = not known */
	bool is_named; /* else its name is made of module and address */
};

/* Of all frames of the stacks that are wanted, by index; the others have no names. */
void frame_names_build(struct frame_names *names, struct recording *recording,
		       struct symbols *symbols, struct callers *callers, const bool *is_wanted);
void frame_names_free(struct frame_names *names);

/*
 * The functions of a stack, innermost first, at most `room` of them; returns how many. 0 when
 * `names` is NULL.
 */
size_t frame_names_of_stack(const struct frame_names *names, const struct recording *recording,
			    uint32_t stack, uint32_t *functions, size_t room);

/* Whether the function at `index` of those of a stack is a runtime's (callers_is_runtime()). */
bool frame_names_is_runtime(const struct frame_names *names, const struct recording *recording,
			    uint32_t stack, size_t index);

#endif

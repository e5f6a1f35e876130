/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stretch of code each run is: part of the compilation of a script.
 *
 * A zeroed struct is empty. One thread.
 */
#ifndef WCPROF_SCRIPT_PLACES_H
#define WCPROF_SCRIPT_PLACES_H

#include "infer/contexts.h"
#include "recording/samples.h"
#include "recording/timeline.h"
#include "script.h"
#include "script_runs.h"

/* Several runs that are one stretch of code: samples were taken in it. */
struct cut_gap {
	uint32_t first_step;
	uint32_t end_step;
};

/* Since the last moment of the thread that is being compiled. */
struct place_since {
	uint32_t key;     /* of that moment */
	uint32_t stack;   /* of the last one that has any, 0 = none had */
	uint32_t program; /* that the thread runs, as contexts.h numbers them; 0 = the only one */
	uint32_t hold;    /* op that it was the end of, NO_INDEX = it was something else */
	size_t first_step;
	size_t first_sample; /* in the recording */
	size_t first_run;
};

struct script_places {
	uint32_t *step_of_sample; /* run that it was taken in, NO_INDEX = none; NULL: no stacks */
	struct cut_gap *gaps;
	size_t gap_count;
	size_t gap_capacity;
	struct place_since since;
	struct contexts contexts;
};

/* Samples are told apart if any has a stack whose functions are known. `functions` may be NULL. */
void script_places_begin(struct script_places *, const struct recording *,
			 const struct stack_functions *functions);

/* `program` is a number of contexts.h, 0 = there is only one. */
void script_places_begin_thread(struct script_places *, uint32_t program, size_t step_count,
				size_t run_count, size_t first_sample);

/* The run since the last moment was the code between that and this one; NULL = the thread's end.
 * Samples up to `end_sample` have been passed. */
void script_places_end(struct script_places *, struct script *, struct script_runs *,
		       const struct moment *, size_t end_sample);

/* The thread's script ends before this step after all; its samples end there. */
void script_places_drop(struct script_places *, size_t step_count, size_t end_sample);

/* Tells runs of one place apart by what they took; all of them must have been cut to that. */
void script_places_split(struct script_places *, struct script *);

/* The scope of each sample, in place of its step. */
uint32_t *script_places_scopes(struct script_places *, const struct script *);

void script_places_free(struct script_places *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each slice of a thread its part; timeparts.h has the contract. */
#include "timeparts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "measure/threadtime.h"
#include "recording/samples.h"

enum { FRAMES_LOOKED_AT = 64 };

struct dividing {
	const struct request_paths_of *of;
	struct path_parts *parts;
	uint32_t *function_of; /* by stack: string id, 0 = none, NO_INDEX = not looked up yet */
	uint32_t thread;
	const struct rec_sample *samples; /* the thread's */
	size_t sample_count, sample;
};

/* String id: the class of a call. */
static uint32_t call_name(const struct request_paths_of *of, uint32_t op)
{
	return of->classes->classes[of->classes->of_op[op]].name;
}

/* String id: the class of a thread. */
static uint32_t thread_name(const struct request_paths_of *of, uint32_t thread)
{
	uint32_t op = of->recording->threads[thread].op;
	return op == NO_INDEX ? of->recording->threads[thread].name : call_name(of, op);
}

/* The innermost function of a stack that is no runtime's, else the innermost one. */
static uint32_t function_of(struct dividing *dividing, uint32_t stack)
{
	const struct request_paths_of *of = dividing->of;
	uint32_t functions[FRAMES_LOOKED_AT];
	uint32_t *found = &dividing->function_of[stack];
	if (*found != NO_INDEX)
		return *found;
	size_t count =
		frame_names_of_stack(of->frames, of->recording, stack, functions, FRAMES_LOOKED_AT);
	*found = count > 0 ? functions[0] : 0;
	for (size_t i = 0; i < count; i++)
		if (!frame_names_is_runtime(of->frames, of->recording, stack, i)) {
			*found = functions[i];
			break;
		}
	return *found;
}

/* A sample with a stack stands for all that its thread ran since the last one. */
static uint32_t sampled_function(struct dividing *dividing, uint64_t at_ns)
{
	while (dividing->sample < dividing->sample_count &&
	       (dividing->samples[dividing->sample].at_ns < at_ns ||
		dividing->samples[dividing->sample].stack == 0))
		dividing->sample++;
	return dividing->sample < dividing->sample_count
		       ? function_of(dividing, dividing->samples[dividing->sample].stack)
		       : 0;
}

static uint32_t part_of(struct dividing *dividing, const struct thread_slice *slice)
{
	const struct request_paths_of *of = dividing->of;
	struct path_parts *parts = dividing->parts;
	uint32_t name;
	switch (slice->state) {
	case SLICE_RUNNING:
		name = sampled_function(dividing, slice->end_ns);
		if (name == 0)
			name = slice->op != NO_INDEX ? call_name(of, slice->op)
						     : thread_name(of, dividing->thread);
		return path_parts_add(parts, PATH_CPU, name, 0);
	case SLICE_QUEUED:
		return path_parts_add(parts, PATH_CPU_WAIT, 0, 0);
	case SLICE_BLOCKED:
		if (slice->op != NO_INDEX)
			return path_parts_add(parts, PATH_IO, call_name(of, slice->op), 0);
		name = of->waits ? of->waits[slice->wait] : of->recording->waits[slice->wait].ident;
		return path_parts_add(parts, PATH_WAIT, name, 0);
	case SLICE_UNEXPLAINED:
		break;
	}
	return path_parts_add(parts, PATH_UNEXPLAINED, 0, 0);
}

static void divide(struct dividing *dividing, struct lanes *lanes, struct thread_slices *slices)
{
	struct thread_slice slice;
	uint64_t start_ns, end_ns;
	uint32_t last = NO_INDEX;
	thread_slices_begin(slices, dividing->thread, &start_ns, &end_ns);
	end_ns = start_ns;
	while (thread_slices_next(slices, &slice)) {
		uint32_t part = part_of(dividing, &slice);
		if (part != last && last != NO_INDEX) {
			lanes_add(lanes, start_ns, slice.start_ns, last);
			start_ns = slice.start_ns;
		}
		last = part;
		end_ns = slice.end_ns;
	}
	if (last != NO_INDEX)
		lanes_add(lanes, start_ns, end_ns, last);
}

void time_parts_build(struct lanes *lanes, struct path_parts *parts,
		      const struct request_paths_of *of)
{
	struct thread_slices *slices = thread_slices_new(of->recording, of->timeline);
	struct dividing dividing = { .of = of, .parts = parts };
	size_t stacks = of->recording->stack_count;
	dividing.function_of = memory_new(stacks, sizeof(*dividing.function_of));
	memset(dividing.function_of, 0xff, stacks * sizeof(*dividing.function_of));
	lanes_begin(lanes);
	for (uint32_t thread = 0; thread < of->recording->thread_count; thread++) {
		lanes_next(lanes);
		dividing.thread = thread;
		dividing.sample = 0;
		dividing.samples = samples_of_thread(of->recording, thread, &dividing.sample_count);
		divide(&dividing, lanes, slices);
	}
	lanes_end(lanes, parts->tuples.count);
	free(dividing.function_of);
	thread_slices_free(slices);
}

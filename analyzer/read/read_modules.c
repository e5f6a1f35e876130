/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules over time, when all dumps are read: stacks whose addresses more than one module had in
 * turn.
 *
 * The recorder keeps addresses, and equal stacks once; where a library was unloaded and another
 * took its place, it leaves the address as it is. Which of them is meant the time of the event
 * says: such a stack becomes one for each module that was there. One thread.
 */
#include "reading.h"
#include "recording/modulemap.h"

#include <assert.h>
#include <stdlib.h>

struct placing {
	struct reading *reading;
	struct modulemap map;
	bool *is_open; /* by stack: it has such an address */
	size_t stack_count;
};

static bool is_jit_frame(const struct recording *recording, struct rec_frame frame)
{
	return frame.module != NO_INDEX &&
	       rec_module_is_jit(recording, &recording->modules[frame.module]);
}

/* The module that had a return address: what called lies before it. */
static uint32_t module_at(const struct placing *placing, struct rec_frame frame, uint64_t at_ns)
{
	const struct rec_module *jit = &placing->reading->recording->modules[frame.module];

	return modulemap_find(&placing->map, jit->process, frame.offset - 1, at_ns);
}

static bool mark_open_stacks(struct placing *placing)
{
	const struct recording *recording = placing->reading->recording;
	bool has_any = false;

	for (size_t i = 0; i < placing->stack_count; i++) {
		const struct rec_stack *stack = &recording->stacks[i];

		for (uint32_t f = 0; f < stack->frame_count && !placing->is_open[i]; f++) {
			struct rec_frame frame = recording->frames[stack->first_frame + f];

			placing->is_open[i] = is_jit_frame(recording, frame) &&
					      module_at(placing, frame, 0) != NO_INDEX;
		}
		has_any |= placing->is_open[i];
	}
	return has_any;
}

static bool place_stack(struct placing *placing, uint64_t at_ns, uint32_t *stack)
{
	struct reading *reading = placing->reading;
	struct recording *recording = reading->recording;
	size_t first_frame = recording->frame_count;
	struct rec_stack from = recording->stacks[*stack];

	assert(*stack < recording->stack_count);
	if (*stack >= placing->stack_count || !placing->is_open[*stack])
		return true;
	for (uint32_t i = 0; i < from.frame_count; i++) {
		struct rec_frame frame = recording->frames[from.first_frame + i];
		uint32_t module = is_jit_frame(recording, frame) ? module_at(placing, frame, at_ns)
								 : NO_INDEX;

		if (module != NO_INDEX)
			frame = (struct rec_frame){
				module, frame.offset - recording->modules[module].base
			};
		if (!reading_reserve(reading, &recording->frames, &reading->frame_capacity,
				     recording->frame_count, sizeof(*recording->frames)))
			return false;
		recording->frames[recording->frame_count++] = frame;
	}
	return reading_add_stack(reading, first_frame, stack);
}

static bool place_events(struct placing *placing)
{
	struct recording *recording = placing->reading->recording;
	bool is_good = true;

	for (size_t i = 0; is_good && recording->extras && i < recording->op_count; i++)
		is_good = place_stack(placing, recording->ops[i].start_ns,
				      &recording->extras[i].stack);
	for (size_t i = 0; is_good && i < recording->wait_count; i++)
		is_good = place_stack(placing, recording->waits[i].start_ns,
				      &recording->waits[i].stack);
	for (size_t i = 0; is_good && i < recording->link_count; i++)
		is_good =
			place_stack(placing, recording->links[i].at_ns, &recording->links[i].stack);
	for (size_t i = 0; is_good && i < recording->sample_count; i++)
		is_good = place_stack(placing, recording->samples[i].at_ns,
				      &recording->samples[i].stack);
	return is_good;
}

bool read_place_modules(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;
	struct placing placing = { .reading = reading, .stack_count = recording->stack_count };
	bool is_good = true;

	for (size_t i = 0; i < recording->module_count; i++) {
		struct rec_module *module = &recording->modules[i];

		module->loaded_ns += module->loaded_ns ? shift_ns : 0;
		module->unloaded_ns += module->unloaded_ns ? shift_ns : 0;
	}
	placing.is_open = calloc(placing.stack_count, sizeof(*placing.is_open));
	if (!placing.is_open)
		return reading_fail_memory(reading);
	modulemap_build(&placing.map, recording);
	if (mark_open_stacks(&placing))
		is_good = place_events(&placing);
	modulemap_free(&placing.map);
	free(placing.is_open);
	return is_good;
}

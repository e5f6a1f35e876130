/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under hypotheses; program.h says how a program works.
 *
 * LANES hypotheses about one class go side by side through the code: every slot is a vector of
 * clocks. The class's run instructions are listed in order, so whether an instruction is one of
 * them, or a region has none of them, is a comparison with the next on the list. A scaled run is
 * cut to whole nanoseconds, each by itself.
 */
#include "replay.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"

enum { LANES = 4 };

struct lanes {
	double at[LANES];
};

static inline void lanes_add(struct lanes *lanes, double add_ns)
{
	for (int i = 0; i < LANES; i++)
		lanes->at[i] += add_ns;
}

static inline void lanes_max(struct lanes *lanes, const struct lanes *other)
{
	for (int i = 0; i < LANES; i++)
		lanes->at[i] = lanes->at[i] > other->at[i] ? lanes->at[i] : other->at[i];
}

static inline void lanes_first(struct lanes *lanes, const struct lanes *other)
{
	for (int i = 0; i < LANES; i++)
		if (lanes->at[i] < 0 || other->at[i] < lanes->at[i])
			lanes->at[i] = other->at[i];
}

static inline void lanes_add_scaled(struct lanes *lanes, double run_ns, const struct lanes *factors)
{
	for (int i = 0; i < LANES; i++)
		lanes->at[i] += (double)(int64_t)(run_ns * factors->at[i]);
}

static inline void lanes_add_to(struct lanes *lanes, const struct lanes *from, double offset_ns)
{
	for (int i = 0; i < LANES; i++)
		lanes->at[i] = from->at[i] + offset_ns;
}

static inline void region_skip(const struct program *program, const struct region *region,
			       struct lanes *slots, uint32_t slot)
{
	const struct region_export *export = &program->exports[region->first_export];
	for (; export->slot != NO_INDEX; export ++)
		lanes_add_to(&slots[export->slot], &slots[slot], export->offset_ns);
	lanes_add(&slots[slot], region->duration_ns);
}

/* `next_run` points at the list of the runs to scale. */
static void replay_lanes(const struct program *program, const uint32_t *next_run,
			 const struct lanes *factors, struct lanes *slots)
{
	const struct instr *code = program->code;
	const uint32_t count = program->instr_count;
	for (uint32_t at = 0; at < count; at++) {
		const struct instr instr = code[at];
		struct lanes *slot = &slots[instr.slot];
		switch ((enum instr_what)instr.what) {
		case INSTR_COPY:
			*slot = slots[instr.operand];
			break;
		case INSTR_ADD:
			lanes_add(slot, instr.operand);
			break;
		case INSTR_RUN:
			if (at == *next_run) {
				next_run++;
				lanes_add_scaled(slot, instr.operand, factors);
			} else {
				lanes_add(slot, instr.operand);
			}
			break;
		case INSTR_MAX:
			lanes_max(slot, &slots[instr.operand]);
			break;
		case INSTR_FIRST:
			lanes_first(slot, &slots[instr.operand]);
			break;
		case INSTR_WIDE:
			if (at == *next_run) {
				next_run++;
				lanes_add_scaled(slot, program->constants[instr.operand], factors);
			} else {
				lanes_add(slot, program->constants[instr.operand]);
			}
			break;
		case INSTR_SET:
			lanes_add_to(slot, &(const struct lanes){ { 0 } },
				     program->constants[instr.operand]);
			break;
		case INSTR_ENTER:
			if (*next_run >= program->regions[instr.operand].end) {
				region_skip(program, &program->regions[instr.operand], slots,
					    instr.slot);
				at = program->regions[instr.operand].end - 1;
			}
			break;
		}
	}
}

static void *replay_scratch_new(const struct replayer *replayer)
{
	const struct program *program = replayer->state;
	return memory_new(program->slot_count, sizeof(struct lanes));
}

static void replay_run(const struct replayer *replayer, uint32_t class_index, const double *factors,
		       size_t factor_count, void *scratch, struct replay_answer *answers)
{
	const struct program *program = replayer->state;
	static const uint32_t no_runs = RUNS_END;
	struct lanes *slots = scratch;
	assert(class_index == NO_INDEX || class_index < program->class_count);
	const uint32_t *runs = class_index == NO_INDEX
				       ? &no_runs
				       : &program->runs[program->first_run[class_index]];
	for (size_t from = 0; from < factor_count; from += LANES) {
		struct lanes lane_factors = { { 1, 1, 1, 1 } };
		size_t count = factor_count - from < LANES ? factor_count - from : LANES;
		for (size_t i = 0; i < count; i++)
			lane_factors.at[i] = factors[from + i];
		replay_lanes(program, runs, &lane_factors, slots);
		for (size_t i = 0; i < count; i++)
			answers[from + i] = (struct replay_answer){
				.makespan_ns = slots[program->end_slot].at[i] -
					       slots[program->start_slot].at[i],
				.broken_cycles = program->broken_cycles,
				.fallback_anchors = program->fallback_anchors,
			};
	}
}

struct replayer replay_of_ops(const struct program *program)
{
	return (struct replayer){
		.name = "ops",
		.state = program,
		.scratch_new = replay_scratch_new,
		.scratch_free = free,
		.run = replay_run,
	};
}

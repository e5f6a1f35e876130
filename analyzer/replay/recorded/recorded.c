/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under hypotheses; program.h says how a program works.
 *
 * LANES hypotheses about one class go side by side through the code: every slot is a vector of
 * clocks. The class's run instructions are listed in order. So a comparison with the next on the
 * list tells whether an instruction is one of them, or a region has none of them. A scaled run is
 * cut to whole nanoseconds, each by itself.
 *
 * Any number of threads, each with a scratch of its own.
 */
#include "recorded.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum {
	LANES = 4,
	BATCH_MAX = 64,              /* lane runs that go through the code together */
	CHUNK_INSTRS = 1 << 12,      /* as much as stays in a core's first cache */
	SCRATCH_BYTES_MAX = 64 << 20 /* for the slots of a batch */
};

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

/* Whether a slot is, in all lanes, as far from the region's own as it was recorded. */
static inline bool edge_is_as_recorded(const struct lanes *slots, const struct lanes *own,
				       const struct region_edge *edge)
{
	bool is_same = true;
	for (int i = 0; i < LANES; i++)
		is_same &= slots[edge->slot].at[i] - own->at[i] == edge->offset_ns;
	return is_same;
}

/* Whether the region's FIRST instructions would all leave the start as it is. */
static inline bool first_is_settled(const struct program *program, const struct region *region,
				    const struct lanes *slots, const struct lanes *own)
{
	const struct lanes *start = &slots[program->start_slot];
	bool is_settled = true;
	for (int i = 0; i < LANES; i++)
		is_settled &= start->at[i] >= 0 && own->at[i] + region->first_ns >= start->at[i];
	return is_settled;
}

static inline bool region_may_be_skipped(const struct program *program, const struct region *region,
					 const struct lanes *slots, const struct lanes *own)
{
	for (uint32_t i = region->first_import; i < region->first_export; i++)
		if (!edge_is_as_recorded(slots, own, &program->edges[i]))
			return false;
	return region->first_ns == INFINITY || first_is_settled(program, region, slots, own);
}

static inline void region_skip(const struct program *program, const struct region *region,
			       struct lanes *slots, struct lanes *own)
{
	for (uint32_t i = region->first_export; i < region->end_export; i++)
		lanes_add_to(&slots[program->edges[i].slot], own, program->edges[i].offset_ns);
	lanes_add(own, region->duration_ns);
}

static inline double run_length_ns(const struct program *program, uint32_t at)
{
	const struct instr *instr = &program->code[at];
	return instr->what == INSTR_WIDE ? program->constants[instr->operand] : instr->operand;
}

/* A plain region: as recorded, but for the runs of the class. Returns the first run after it. */
static inline const uint32_t *plain_run(const struct program *program, const struct region *region,
					const uint32_t *next_run, const struct lanes *factors,
					struct lanes *own)
{
	lanes_add(own, region->duration_ns);
	for (; *next_run < region->end; next_run++) {
		double length_ns = run_length_ns(program, *next_run);
		lanes_add(own, -length_ns);
		lanes_add_scaled(own, length_ns, factors);
	}
	return next_run;
}

/* Up to LANES trials of one class on their way through the code. */
struct lane_run {
	uint32_t at;              /* next instruction */
	const uint32_t *next_run; /* in the list of the runs to scale */
	struct lanes factors;
	struct lanes *slots;
	size_t trial_count;
};

/* Goes on until `until`, or past it where a region that reaches beyond is skipped. */
static void lanes_run(const struct program *program, struct lane_run *run, uint32_t until)
{
	const struct instr *code = program->code;
	const struct lanes *factors = &run->factors;
	const uint32_t *next_run = run->next_run;
	struct lanes *slots = run->slots;
	uint32_t at = run->at;
	for (; at < until; at++) {
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
		case INSTR_ENTER: {
			const struct region *region = &program->regions[instr.operand];
			if (region->is_plain && region->end != REGION_NEVER) {
				next_run = plain_run(program, region, next_run, factors, slot);
				at = region->end - 1;
			} else if (*next_run >= region->end &&
				   region_may_be_skipped(program, region, slots, slot)) {
				region_skip(program, region, slots, slot);
				at = region->end - 1;
			}
			break;
		}
		}
	}
	run->at = at;
	run->next_run = next_run;
}

static struct replay_answer lane_answer(const struct program *program, const struct lane_run *run,
					size_t lane)
{
	return (struct replay_answer){
		.makespan_ns = run->slots[program->end_slot].at[lane] -
			       run->slots[program->start_slot].at[lane],
		.broken_cycles = program->broken_cycles,
		.fallback_anchors = program->fallback_anchors,
	};
}

struct batch {
	struct lane_run runs[BATCH_MAX];
	size_t count;
};

static uint32_t trial_class(const struct trial *trial)
{
	return trial->count ? trial->scalings[0].class : NO_INDEX;
}

/* The first of `count` trials and those after it of the same class, as many as there are lanes. */
static struct lane_run lane_run_begin(const struct program *program, const struct trial *trials,
				      size_t count, struct lanes *slots)
{
	static const uint32_t no_runs = RUNS_END;
	uint32_t class = trial_class(&trials[0]);
	assert(class == NO_INDEX || class < program->class_count);
	struct lane_run run = {
		.next_run =
			class == NO_INDEX ? &no_runs : &program->runs[program->first_run[class]],
		.factors = { { 1, 1, 1, 1 } },
		.slots = slots,
	};
	while (run.trial_count < count && run.trial_count < LANES) {
		const struct trial *trial = &trials[run.trial_count];
		if (trial->count > 1 || trial_class(trial) != class)
			break;
		run.factors.at[run.trial_count++] = trial->count ? trial->scalings[0].factor : 1;
	}
	return run;
}

/* Chunk by chunk, so that the code is in the cache for all lane runs but the first. */
static void batch_run(struct batch *batch, const struct program *program)
{
	for (uint32_t from = 0; from < program->instr_count; from += CHUNK_INSTRS) {
		uint32_t left = program->instr_count - from;
		uint32_t until = from + (left < CHUNK_INSTRS ? left : CHUNK_INSTRS);
		for (size_t i = 0; i < batch->count; i++)
			lanes_run(program, &batch->runs[i], until);
	}
}

static size_t batch_max(const struct program *program)
{
	size_t run_bytes = ((size_t)program->slot_count + 1) * sizeof(struct lanes);
	size_t fitting = SCRATCH_BYTES_MAX / run_bytes;
	return fitting > BATCH_MAX ? BATCH_MAX : fitting > 1 ? fitting : 1;
}

static void *scratch_new(const struct replayer *replayer)
{
	const struct program *program = replayer->state;
	return memory_new(batch_max(program) * program->slot_count, sizeof(struct lanes));
}

/* Trials from the first one on that scale at most one class each; returns how many those were. */
static size_t run_together(const struct program *program, const struct trial *trials, size_t count,
			   struct lanes *slots, struct replay_answer *answers)
{
	size_t runs_max = batch_max(program), done = 0;
	struct batch batch;
	for (batch.count = 0; batch.count < runs_max && done < count && trials[done].count <= 1;
	     batch.count++) {
		batch.runs[batch.count] = lane_run_begin(program, &trials[done], count - done,
							 slots + batch.count * program->slot_count);
		done += batch.runs[batch.count].trial_count;
	}
	batch_run(&batch, program);
	for (size_t i = 0; i < batch.count; i++)
		for (size_t lane = 0; lane < batch.runs[i].trial_count; lane++)
			*answers++ = lane_answer(program, &batch.runs[i], lane);
	return done;
}

/* --- several classes in one trial: instruction by instruction, as such questions are few --- */

/* The factor of a run, as all lists are in order of the instructions. */
static double trial_factor(const struct trial *trial, const uint32_t **next_run, uint32_t at)
{
	double factor = 1;
	for (size_t i = 0; i < trial->count; i++) {
		if (*next_run[i] != at)
			continue;
		next_run[i]++;
		factor *= trial->scalings[i].factor;
	}
	return factor;
}

static double trial_run_ns(double run_ns, double factor)
{
	return factor == 1 ? run_ns : (double)(int64_t)(run_ns * factor);
}

static void trial_run(const struct program *program, const struct trial *trial,
		      const uint32_t **next_run, double *slots)
{
	for (uint32_t at = 0; at < program->instr_count; at++) {
		const struct instr instr = program->code[at];
		double *slot = &slots[instr.slot];
		switch ((enum instr_what)instr.what) {
		case INSTR_COPY:
			*slot = slots[instr.operand];
			break;
		case INSTR_ADD:
			*slot += instr.operand;
			break;
		case INSTR_RUN:
		case INSTR_WIDE:
			*slot += trial_run_ns(run_length_ns(program, at),
					      trial_factor(trial, next_run, at));
			break;
		case INSTR_MAX:
			*slot = *slot > slots[instr.operand] ? *slot : slots[instr.operand];
			break;
		case INSTR_FIRST:
			if (*slot < 0 || slots[instr.operand] < *slot)
				*slot = slots[instr.operand];
			break;
		case INSTR_SET:
			*slot = program->constants[instr.operand];
			break;
		case INSTR_ENTER:
			break;
		}
	}
}

static void run_alone(const struct program *program, const struct trial *trial, double *slots,
		      struct replay_answer *answer)
{
	const uint32_t **next_run = memory_new(trial->count, sizeof(*next_run));
	for (size_t i = 0; i < trial->count; i++) {
		assert(trial->scalings[i].class < program->class_count);
		next_run[i] = &program->runs[program->first_run[trial->scalings[i].class]];
	}
	trial_run(program, trial, next_run, slots);
	free(next_run);
	*answer = (struct replay_answer){
		.makespan_ns = slots[program->end_slot] - slots[program->start_slot],
		.broken_cycles = program->broken_cycles,
		.fallback_anchors = program->fallback_anchors,
	};
}

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	const struct program *program = replayer->state;
	size_t done = 0;
	while (done < count) {
		if (trials[done].count > 1) {
			run_alone(program, &trials[done], scratch, &answers[done]);
			done++;
		} else {
			done += run_together(program, &trials[done], count - done, scratch,
					     &answers[done]);
		}
	}
}

struct replayer recorded_replayer(const struct program *program)
{
	return (struct replayer){
		.state = program,
		.cost = LANES * (size_t)program->instr_count, /* alone it leaves lanes empty */
		.classes_at_once = batch_max(program),
		.scratch_new = scratch_new,
		.scratch_free = free,
		.run = run,
	};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots, regions and the baseline of a program; layout.h has the contract.
 *
 * A pass backwards finds where each value is named last. A pass forwards then does the rest at
 * once:
 * - Slots: a value gets one where it is defined and gives it back where it is named last.
 * - Baseline: the code is run as recorded, so that every region learns its duration and offsets.
 * - Regions, with a stack of those that are open. A region may be skipped when no value is named in
 * it that was defined before it, but for the one that it advances (its own). `oldest` is the
 * earliest definition of all values named in a region so far. What is defined in a region and named
 * after it is an export; more than EXPORTS_MAX of them, and neither the region nor those around it
 * are skipped.
 */
#include "layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { EXPORTS_MAX = 16 };

struct open_region {
	uint32_t region;
	uint32_t begin;  /* its ENTER */
	uint32_t own;    /* the value that it advances */
	uint32_t oldest; /* earliest definition of the other values that it names */
	size_t first_candidate;
	double start_ns; /* of `own`, at its begin */
};

struct layout {
	struct program *program;
	uint32_t *last_named; /* per value: instruction */
	uint32_t *defined;    /* per value: instruction */
	uint32_t *slot_of;    /* per value */
	double *clock_ns;     /* per slot: the baseline */
	size_t slot_room;
	uint32_t *free_slots;
	size_t free_count, free_room;
	struct open_region *open;
	size_t open_count, open_room;
	uint32_t *candidates; /* values defined in open regions: exports, should they be named after
				 them */
	size_t candidate_count, candidate_room;
	size_t export_count, export_room;
};

static bool instr_names_operand(const struct instr *instr)
{
	return instr->what == INSTR_COPY || instr->what == INSTR_MAX || instr->what == INSTR_FIRST;
}

static bool instr_defines(const struct instr *instr)
{
	return instr->what == INSTR_COPY || instr->what == INSTR_SET;
}

static void layout_find_last_named(struct layout *layout)
{
	const struct program *program = layout->program;
	for (uint32_t at = 0; at < program->instr_count; at++) {
		const struct instr *instr = &program->code[at];
		layout->last_named[instr->slot] = at;
		if (instr_names_operand(instr))
			layout->last_named[instr->operand] = at;
	}
}

static uint32_t slot_take(struct layout *layout)
{
	if (layout->free_count > 0)
		return layout->free_slots[--layout->free_count];
	uint32_t slot = layout->program->slot_count++;
	layout->clock_ns = memory_grow(layout->clock_ns, &layout->slot_room, (size_t)slot + 1,
				       sizeof(*layout->clock_ns));
	layout->clock_ns[slot] = 0;
	return slot;
}

static void slot_give(struct layout *layout, uint32_t slot)
{
	layout->free_slots = memory_grow(layout->free_slots, &layout->free_room,
					 layout->free_count + 1, sizeof(*layout->free_slots));
	layout->free_slots[layout->free_count++] = slot;
}

/* Notes that the innermost region names a value. */
static void region_names(struct layout *layout, uint32_t value)
{
	if (layout->open_count == 0)
		return;
	struct open_region *open = &layout->open[layout->open_count - 1];
	if (value != open->own && layout->defined[value] < open->oldest)
		open->oldest = layout->defined[value];
}

static void value_define(struct layout *layout, uint32_t value, uint32_t at)
{
	if (layout->slot_of[value] == NO_INDEX) {
		layout->slot_of[value] = slot_take(layout);
		layout->defined[value] = at;
	}
	if (layout->open_count == 0)
		return;
	layout->candidates = memory_grow(layout->candidates, &layout->candidate_room,
					 layout->candidate_count + 1, sizeof(*layout->candidates));
	layout->candidates[layout->candidate_count++] = value;
}

static void region_open(struct layout *layout, uint32_t region, uint32_t value, uint32_t at)
{
	layout->open = memory_grow(layout->open, &layout->open_room, layout->open_count + 1,
				   sizeof(*layout->open));
	layout->open[layout->open_count++] = (struct open_region){
		.region = region,
		.begin = at,
		.own = value,
		.oldest = UINT32_MAX,
		.first_candidate = layout->candidate_count,
		.start_ns = layout->clock_ns[layout->slot_of[value]],
	};
}

/* Keeps, of the candidates of a region that ends at `end`, those named from there on. */
static size_t region_keep_exports(struct layout *layout, const struct open_region *open,
				  uint32_t end)
{
	size_t kept = open->first_candidate;
	for (size_t i = open->first_candidate; i < layout->candidate_count; i++) {
		uint32_t value = layout->candidates[i];
		if (value != open->own && layout->last_named[value] >= end)
			layout->candidates[kept++] = value;
	}
	layout->candidate_count = kept;
	return kept - open->first_candidate;
}

static void export_add(struct layout *layout, uint32_t slot, double offset_ns)
{
	struct program *program = layout->program;
	program->exports = memory_grow(program->exports, &layout->export_room,
				       layout->export_count + 1, sizeof(*program->exports));
	program->exports[layout->export_count++] = (struct region_export){ slot, offset_ns };
}

static void region_make_skippable(struct layout *layout, const struct open_region *open)
{
	struct region *region = &layout->program->regions[open->region];
	region->duration_ns = layout->clock_ns[layout->slot_of[open->own]] - open->start_ns;
	region->first_export = 0;
	if (open->first_candidate == layout->candidate_count)
		return;
	region->first_export = (uint32_t)layout->export_count;
	for (size_t i = open->first_candidate; i < layout->candidate_count; i++) {
		uint32_t slot = layout->slot_of[layout->candidates[i]];
		export_add(layout, slot, layout->clock_ns[slot] - open->start_ns);
	}
	export_add(layout, NO_INDEX, 0);
}

static void region_end(struct layout *layout)
{
	struct open_region *open = &layout->open[layout->open_count - 1];
	struct region *region = &layout->program->regions[open->region];
	uint32_t oldest = open->oldest;
	size_t export_count = region_keep_exports(layout, open, region->end);
	if (export_count > EXPORTS_MAX) {
		layout->candidate_count = open->first_candidate;
		oldest = 0;
	}
	if (oldest >= open->begin)
		region_make_skippable(layout, open);
	else
		region->end = REGION_NEVER;
	uint32_t own = open->own;
	layout->open_count--;
	if (layout->open_count > 0 && oldest < layout->open[layout->open_count - 1].oldest)
		layout->open[layout->open_count - 1].oldest = oldest;
	region_names(layout, own);
}

static void instr_run_baseline(struct layout *layout, const struct instr *instr)
{
	double *clock_ns = layout->clock_ns;
	const double *constants = layout->program->constants;
	switch ((enum instr_what)instr->what) {
	case INSTR_COPY:
		clock_ns[instr->slot] = clock_ns[instr->operand];
		break;
	case INSTR_ADD:
	case INSTR_RUN:
		clock_ns[instr->slot] += instr->operand;
		break;
	case INSTR_MAX:
		if (clock_ns[instr->operand] > clock_ns[instr->slot])
			clock_ns[instr->slot] = clock_ns[instr->operand];
		break;
	case INSTR_FIRST:
		if (clock_ns[instr->slot] < 0 || clock_ns[instr->operand] < clock_ns[instr->slot])
			clock_ns[instr->slot] = clock_ns[instr->operand];
		break;
	case INSTR_WIDE:
		clock_ns[instr->slot] += constants[instr->operand];
		break;
	case INSTR_SET:
		clock_ns[instr->slot] = constants[instr->operand];
		break;
	case INSTR_ENTER:
		break;
	}
}

/* Slots instead of values, one instruction further. */
static void layout_instr(struct layout *layout, uint32_t at)
{
	struct instr *instr = &layout->program->code[at];
	uint32_t value = instr->slot,
		 other = instr_names_operand(instr) ? instr->operand : NO_INDEX;
	while (layout->open_count > 0 &&
	       layout->program->regions[layout->open[layout->open_count - 1].region].end == at)
		region_end(layout);
	if (other != NO_INDEX) {
		assert(layout->slot_of[other] != NO_INDEX);
		region_names(layout, other);
		instr->operand = layout->slot_of[other];
	}
	if (instr_defines(instr))
		value_define(layout, value, at);
	assert(layout->slot_of[value] != NO_INDEX);
	if (instr->what == INSTR_ENTER)
		region_open(layout, instr->operand, value, at);
	else
		region_names(layout, value);
	/* A point in time taken from the recording does not move with any region. */
	if (instr->what == INSTR_SET && layout->open_count > 0)
		layout->open[layout->open_count - 1].oldest = 0;
	instr->slot = layout->slot_of[value];
	instr_run_baseline(layout, instr);
	if (layout->last_named[value] == at)
		slot_give(layout, layout->slot_of[value]);
	if (other != NO_INDEX && other != value && layout->last_named[other] == at)
		slot_give(layout, layout->slot_of[other]);
}

void layout_program(struct program *program, uint32_t value_count)
{
	struct layout layout = {
		.program = program,
		.last_named = memory_new(value_count, sizeof(*layout.last_named)),
		.defined = memory_new(value_count, sizeof(*layout.defined)),
		.slot_of = memory_new(value_count, sizeof(*layout.slot_of)),
	};
	memset(layout.slot_of, 0xff, value_count * sizeof(*layout.slot_of));
	export_add(&layout, NO_INDEX, 0);
	layout_find_last_named(&layout);
	for (uint32_t at = 0; at < program->instr_count; at++)
		layout_instr(&layout, at);
	assert(layout.open_count == 0);
	program->start_slot = layout.slot_of[program->start_slot];
	program->end_slot = layout.slot_of[program->end_slot];
	program->baseline_ns =
		layout.clock_ns[program->end_slot] - layout.clock_ns[program->start_slot];
	free(layout.last_named);
	free(layout.defined);
	free(layout.slot_of);
	free(layout.clock_ns);
	free(layout.free_slots);
	free(layout.open);
	free(layout.candidates);
}

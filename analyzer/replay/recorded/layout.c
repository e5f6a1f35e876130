/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots, regions and the baseline of a program; layout.h has the contract.
 *
 * A pass forwards finds where each value is named last. A second one does the rest at once:
 * - Slots: a value gets one where it is defined and gives it back where it is named last.
 * - Baseline: the code is run as recorded, so that every region learns its duration and offsets.
 * - Edges of regions, with a stack of those that are open. A value that a region names, and that
 *   was defined before it, is an import. One that was defined in it, or imported and changed, and
 *   is named after it is an export. Its own value is neither. When a region ends, the values at its
 *   edges become its parent's if they lie at the parent's edges, too.
 *
 * Of one value, the imports of all open regions are chained, the innermost first: that is how an
 * import is found again without a search.
 */
#include "layout.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
	EDGES_FREE = 4,       /* any region may have this many edges */
	EDGE_INSTRS = 4,      /* a larger one may have one more for each so many instructions */
	EDGES_KEPT_MAX = 4096 /* with more, neither a region nor those around it are skipped */
};

struct open_region {
	uint32_t region;
	uint32_t begin; /* its ENTER */
	uint32_t own;   /* the value that it advances */
	bool is_mixed;  /* it does more than add to its own value */
	bool is_fixed;  /* takes a point in time from the recording: it does not move */
	size_t first_import;
	size_t first_candidate;
	double start_ns; /* of `own`, at its begin */
	double first_ns; /* earliest of what FIRST instructions read */
};

struct import {
	uint32_t value;
	bool is_changed;
	size_t outer; /* the same value's import by a region further out, NO_IMPORT = none */
	double at_ns; /* when the region began */
};

#define NO_IMPORT SIZE_MAX

struct layout {
	struct program *program;
	uint32_t *last_named; /* per value: instruction */
	uint32_t *defined;    /* per value: instruction */
	uint32_t *slot_of;    /* per value */
	size_t *import_of;    /* per value: its innermost import, NO_IMPORT = none */
	double *clock_ns;     /* per slot: the baseline */
	uint32_t *free_slots;
	struct open_region *open;
	struct import *imports; /* of all open regions, the outermost's first */
	uint32_t *candidates;   /* defined in open regions: exports, if named after them */
	size_t free_count, open_count, import_count, candidate_count, edge_count;
	size_t slot_room, free_room, open_room, import_room, candidate_room, edge_room;
};

static double earlier(double a, double b)
{
	return a < b ? a : b;
}

static bool instr_names_operand(const struct instr *instr)
{
	return instr->what == INSTR_COPY || instr->what == INSTR_MAX || instr->what == INSTR_FIRST;
}

static bool instr_defines(const struct instr *instr)
{
	return instr->what == INSTR_COPY || instr->what == INSTR_SET;
}

static bool instr_adds(const struct instr *instr)
{
	return instr->what == INSTR_RUN || instr->what == INSTR_ADD || instr->what == INSTR_WIDE;
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

static void import_add(struct layout *layout, uint32_t value, double at_ns, bool is_changed)
{
	layout->imports = memory_grow(layout->imports, &layout->import_room,
				      layout->import_count + 1, sizeof(*layout->imports));
	layout->imports[layout->import_count] =
		(struct import){ value, is_changed, layout->import_of[value], at_ns };
	layout->import_of[value] = layout->import_count++;
}

/* Notes that the innermost region names a value, before what the instruction does to it. */
static void region_names(struct layout *layout, uint32_t value, double at_ns, bool is_changed)
{
	if (layout->open_count == 0)
		return;
	const struct open_region *open = &layout->open[layout->open_count - 1];
	if (value == open->own || layout->defined[value] >= open->begin)
		return;
	size_t import = layout->import_of[value];
	if (import != NO_IMPORT && import >= open->first_import)
		layout->imports[import].is_changed |= is_changed;
	else
		import_add(layout, value, at_ns, is_changed);
}

static void candidate_add(struct layout *layout, uint32_t value)
{
	layout->candidates = memory_grow(layout->candidates, &layout->candidate_room,
					 layout->candidate_count + 1, sizeof(*layout->candidates));
	layout->candidates[layout->candidate_count++] = value;
}

static void value_define(struct layout *layout, uint32_t value, uint32_t at)
{
	if (layout->slot_of[value] != NO_INDEX)
		return;
	layout->slot_of[value] = slot_take(layout);
	layout->defined[value] = at;
	if (layout->open_count > 0)
		candidate_add(layout, value);
}

static void region_open(struct layout *layout, uint32_t region, uint32_t value, uint32_t at)
{
	layout->open = memory_grow(layout->open, &layout->open_room, layout->open_count + 1,
				   sizeof(*layout->open));
	layout->open[layout->open_count++] = (struct open_region){
		.region = region,
		.begin = at,
		.own = value,
		.first_import = layout->import_count,
		.first_candidate = layout->candidate_count,
		.start_ns = layout->clock_ns[layout->slot_of[value]],
		.first_ns = INFINITY,
	};
}

static void edge_add(struct layout *layout, uint32_t value, double offset_ns)
{
	struct program *program = layout->program;
	program->edges = memory_grow(program->edges, &layout->edge_room, layout->edge_count + 1,
				     sizeof(*program->edges));
	program->edges[layout->edge_count++] =
		(struct region_edge){ layout->slot_of[value], offset_ns };
}

/* Of the candidates, keeps those named from `end` on. */
static void region_keep_candidates(struct layout *layout, const struct open_region *open,
				   uint32_t end)
{
	size_t kept = open->first_candidate;
	for (size_t i = open->first_candidate; i < layout->candidate_count; i++)
		if (layout->last_named[layout->candidates[i]] >= end)
			layout->candidates[kept++] = layout->candidates[i];
	layout->candidate_count = kept;
}

static double value_offset(const struct layout *layout, const struct open_region *open,
			   uint32_t value)
{
	return layout->clock_ns[layout->slot_of[value]] - open->start_ns;
}

static void region_write(struct layout *layout, const struct open_region *open)
{
	struct region *region = &layout->program->regions[open->region];
	region->duration_ns = value_offset(layout, open, open->own);
	region->first_ns = open->first_ns - open->start_ns;
	region->is_plain = !open->is_mixed;
	region->first_import = (uint32_t)layout->edge_count;
	for (size_t i = open->first_import; i < layout->import_count; i++)
		edge_add(layout, layout->imports[i].value,
			 layout->imports[i].at_ns - open->start_ns);
	region->first_export = (uint32_t)layout->edge_count;
	for (size_t i = open->first_candidate; i < layout->candidate_count; i++)
		if (layout->candidates[i] != open->own)
			edge_add(layout, layout->candidates[i],
				 value_offset(layout, open, layout->candidates[i]));
	for (size_t i = open->first_import; i < layout->import_count; i++)
		if (layout->imports[i].is_changed &&
		    layout->last_named[layout->imports[i].value] >= region->end)
			edge_add(layout, layout->imports[i].value,
				 value_offset(layout, open, layout->imports[i].value));
	region->end_export = (uint32_t)layout->edge_count;
}

/* The imports of the region that just ended become those of the one around it, where they are. */
static void region_hand_out_imports(struct layout *layout, const struct open_region *ended)
{
	const struct open_region *outer =
		layout->open_count ? &layout->open[layout->open_count - 1] : NULL;
	size_t end = layout->import_count;
	layout->import_count = ended->first_import;
	for (size_t i = ended->first_import; i < end; i++) {
		struct import import = layout->imports[i];
		layout->import_of[import.value] = import.outer;
		if (outer)
			region_names(layout, import.value, import.at_ns, import.is_changed);
	}
}

static void region_end(struct layout *layout)
{
	struct open_region ended = layout->open[layout->open_count - 1];
	struct region *region = &layout->program->regions[ended.region];
	region_keep_candidates(layout, &ended, region->end);
	size_t import_count = layout->import_count - ended.first_import;
	size_t candidate_count = layout->candidate_count - ended.first_candidate;
	size_t edges_max = EDGES_FREE + (region->end - ended.begin) / EDGE_INSTRS;
	if (import_count > EDGES_KEPT_MAX || candidate_count > EDGES_KEPT_MAX)
		ended.is_fixed = true;
	if (!ended.is_fixed && import_count + candidate_count <= edges_max)
		region_write(layout, &ended);
	else
		region->end = REGION_NEVER;
	layout->open_count--;
	if (ended.is_fixed)
		layout->candidate_count = ended.first_candidate;
	region_hand_out_imports(layout, &ended);
	region_names(layout, ended.own, ended.start_ns, true);
	if (layout->open_count > 0) {
		struct open_region *outer = &layout->open[layout->open_count - 1];
		outer->is_mixed |= ended.is_mixed || ended.own != outer->own;
		outer->is_fixed |= ended.is_fixed;
		outer->first_ns = earlier(outer->first_ns, ended.first_ns);
	}
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

/* An instruction's meaning to the regions that it is in. */
static void layout_note(struct layout *layout, uint32_t at, const struct instr *instr)
{
	uint32_t value = instr->slot;
	if (instr_names_operand(instr))
		region_names(layout, instr->operand,
			     layout->clock_ns[layout->slot_of[instr->operand]], false);
	if (instr_defines(instr))
		value_define(layout, value, at);
	double before_ns = layout->clock_ns[layout->slot_of[value]];
	if (instr->what == INSTR_ENTER)
		region_open(layout, instr->operand, value, at);
	else if (instr->what != INSTR_FIRST)
		region_names(layout, value, before_ns, true);
	if (layout->open_count == 0)
		return;
	struct open_region *open = &layout->open[layout->open_count - 1];
	if (instr->what != INSTR_ENTER && (value != open->own || !instr_adds(instr)))
		open->is_mixed = true;
	/* A point in time taken from the recording does not move with any region. */
	if (instr->what == INSTR_SET)
		open->is_fixed = true;
	if (instr->what == INSTR_FIRST)
		open->first_ns =
			earlier(open->first_ns, layout->clock_ns[layout->slot_of[instr->operand]]);
}

/* Slots instead of values, one instruction further. */
static void layout_instr(struct layout *layout, uint32_t at)
{
	struct instr *instr = &layout->program->code[at];
	uint32_t value = instr->slot, other = instr_names_operand(instr) ? instr->operand : value;
	while (layout->open_count > 0 &&
	       layout->program->regions[layout->open[layout->open_count - 1].region].end == at)
		region_end(layout);
	assert(other == value || layout->slot_of[other] != NO_INDEX);
	layout_note(layout, at, instr);
	assert(layout->slot_of[value] != NO_INDEX);
	instr->slot = layout->slot_of[value];
	if (instr_names_operand(instr))
		instr->operand = layout->slot_of[other];
	instr_run_baseline(layout, instr);
	if (layout->last_named[value] == at)
		slot_give(layout, layout->slot_of[value]);
	if (other != value && layout->last_named[other] == at)
		slot_give(layout, layout->slot_of[other]);
}

void layout_program(struct program *program, uint32_t value_count)
{
	struct layout layout = {
		.program = program,
		.last_named = memory_new(value_count, sizeof(*layout.last_named)),
		.defined = memory_new(value_count, sizeof(*layout.defined)),
		.slot_of = memory_new(value_count, sizeof(*layout.slot_of)),
		.import_of = memory_new(value_count, sizeof(*layout.import_of)),
	};
	memset(layout.slot_of, 0xff, value_count * sizeof(*layout.slot_of));
	memset(layout.import_of, 0xff, value_count * sizeof(*layout.import_of));
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
	free(layout.import_of);
	free(layout.clock_ns);
	free(layout.free_slots);
	free(layout.open);
	free(layout.imports);
	free(layout.candidates);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of debug information: units by their ranges, and within a unit functions by theirs.
 *
 * Asking libdw for the scopes of one address walks the whole unit, which for large C++ units takes
 * tens of milliseconds. Here a unit is walked once, when the first address in it is looked up. Each
 * subprogram and each inlined copy becomes a node that knows the function around it. Each range of
 * a node becomes a row. A look-up then is a binary search for the innermost row and a climb from
 * node to node. Names and call sites are read only for nodes that were hit. The units' ranges come
 * from the units themselves, since not every compiler writes the table of ranges (.debug_aranges).
 *
 * One thread. The input is a file that anyone may have written. Nothing here may trust its depth or
 * its order, and an entry that cannot be read is left out.
 */
#include "unitindex.h"

#include <assert.h>
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "recording/recording.h"

enum {
	DEPTH_MAX = 400
}; /* of nested entries; deeper ones are left out, so that the C stack holds */

/* A subprogram or an inlined copy of one. */
struct node {
	Dwarf_Die die;
	uint32_t around; /* the node that it is inlined into, NO_INDEX for a subprogram */
	uint32_t depth;
};

struct unit {
	Dwarf_Die lines; /* whose line table holds for the unit */
	Dwarf_Die tree;  /* whose children are the functions; another file's for split debug
			    information */
	bool is_walked;
	struct node *nodes;
	size_t node_count;
	size_t node_room;
	struct intervals ranges; /* value = node */
};

static void add_ranges(struct intervals *intervals, Dwarf_Die *die, uint32_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		/* The linker leaves address 0 where it threw the function away. */
		if (start)
			intervals_add(intervals, start, end, value);
	}
}

static void add_unit(struct unitindex *index, Dwarf_Die *lines, Dwarf_Die *tree)
{
	struct unit unit = { .lines = *lines, .tree = *tree };

	add_ranges(&index->ranges, lines, (uint32_t)index->unit_count);
	index->units = memory_grow(index->units, &index->unit_room, index->unit_count + 1,
				   sizeof(*index->units));
	index->units[index->unit_count++] = unit;
}

void unitindex_open(struct unitindex *index, Dwarf *dwarf, uint64_t bias)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	Dwarf_Die die, split;
	uint8_t type;

	*index = (struct unitindex){ .dwarf = dwarf, .bias = bias };
	while (dwarf && dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
		bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;

		if (dwarf_tag(&die) == DW_TAG_compile_unit || type == DW_UT_skeleton)
			add_unit(index, &die, is_split ? &split : &die);
	}
	intervals_index(&index->ranges);
}

static void add_node(struct unit *unit, Dwarf_Die *die, uint32_t around)
{
	struct node node = {
		.die = *die,
		.around = around,
		.depth = around == NO_INDEX ? 0 : unit->nodes[around].depth + 1,
	};

	assert(unit->node_count < NO_INDEX);
	add_ranges(&unit->ranges, die, (uint32_t)unit->node_count);
	unit->nodes = memory_grow(unit->nodes, &unit->node_room, unit->node_count + 1,
				  sizeof(*unit->nodes));
	unit->nodes[unit->node_count++] = node;
}

static void walk(struct unit *unit, Dwarf_Die *parent, uint32_t around, unsigned int depth);

static void walk_entry(struct unit *unit, Dwarf_Die *die, uint32_t around, unsigned int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		around = NO_INDEX;
		__attribute__((fallthrough));
	case DW_TAG_inlined_subroutine:
		add_node(unit, die, around);
		around = (uint32_t)unit->node_count - 1;
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		break;
	default:
		return;
	}
	walk(unit, die, around, depth + 1);
}

static void walk(struct unit *unit, Dwarf_Die *parent, uint32_t around, unsigned int depth)
{
	Dwarf_Die die;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do
		walk_entry(unit, &die, around, depth);
	while (dwarf_siblingof(&die, &die) == 0);
}

static void walk_unit(struct unit *unit)
{
	if (unit->is_walked)
		return;
	walk(unit, &unit->tree, NO_INDEX, 0);
	intervals_index(&unit->ranges);
	unit->is_walked = true;
}

/* Of all nodes with a range around `address` the one deepest in the tree of functions, or NO_INDEX.
 */
static uint32_t deepest_node(const struct unit *unit, uint64_t address)
{
	uint32_t deepest = NO_INDEX;

	for (uint32_t row = intervals_find(&unit->ranges, address); row != NO_INDEX;
	     row = intervals_outer(&unit->ranges, row, address)) {
		uint32_t node = unit->ranges.rows[row].value;

		if (deepest == NO_INDEX || unit->nodes[node].depth > unit->nodes[deepest].depth)
			deepest = node;
	}
	return deepest;
}

static void name_frame(Dwarf_Die *die, struct unitindex_frame *frame)
{
	Dwarf_Attribute attribute;
	int line;

	frame->own_name = dwarf_diename(die);
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		frame->function = dwarf_formstring(&attribute);
	if (!frame->function)
		frame->function = frame->own_name;
	frame->declared = dwarf_decl_file(die);
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		frame->declared_line = (uint32_t)line;
}

static void call_site(struct unit *unit, Dwarf_Die *inlined, struct unitindex_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t file_count;

	if (!dwarf_attr(inlined, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line))
		return;
	if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &file))
		return;
	if (dwarf_getsrcfiles(&unit->tree, &files, &file_count) || file >= file_count)
		return;
	frame->file = dwarf_filesrc(files, file, NULL, NULL);
	frame->line = (uint32_t)line;
}

static void line_of(struct unit *unit, uint64_t address, struct unitindex_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, address);
	int number;

	if (!line || dwarf_lineno(line, &number) || number < 0)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	frame->line = (uint32_t)number;
}

static size_t unit_frames(struct unit *unit, uint64_t address, struct unitindex_frame *frames)
{
	size_t count = 0;

	frames[0] = (struct unitindex_frame){ 0 };
	line_of(unit, address, &frames[0]);
	for (uint32_t node = deepest_node(unit, address); node != NO_INDEX;
	     node = unit->nodes[node].around) {
		Dwarf_Die *die = &unit->nodes[node].die;

		if (count == UNITINDEX_FRAMES_MAX - 1)
			break;
		name_frame(die, &frames[count++]);
		frames[count] = (struct unitindex_frame){ 0 };
		if (unit->nodes[node].around != NO_INDEX)
			call_site(unit, die, &frames[count]);
	}
	return count ? count : frames[0].file != NULL;
}

size_t unitindex_frames(struct unitindex *index, uint64_t address,
			struct unitindex_frame frames[UNITINDEX_FRAMES_MAX])
{
	size_t count = 0;

	address -= index->bias;
	for (uint32_t row = intervals_find(&index->ranges, address); row != NO_INDEX && !count;
	     row = intervals_outer(&index->ranges, row, address)) {
		struct unit *unit = &index->units[index->ranges.rows[row].value];

		walk_unit(unit);
		count = unit_frames(unit, address, frames);
	}
	return count;
}

void unitindex_close(struct unitindex *index)
{
	for (size_t i = 0; i < index->unit_count; i++) {
		intervals_free(&index->units[i].ranges);
		free(index->units[i].nodes);
	}
	intervals_free(&index->ranges);
	free(index->units);
	*index = (struct unitindex){ 0 };
}

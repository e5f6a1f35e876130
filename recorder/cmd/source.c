/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of source, by the line tables of all units: code of a header is in many.
 *
 * An optimiser scatters a line. Of each function that has some of it, also of an inlined copy, the
 * lowest address is taken. So one run through the line is one hit. One thread.
 */
#include "source.h"

#include <dwarf.h>
#include <string.h>

#include "variables.h"

enum { DEPTH_MAX = 64 };

bool source_is_called(const char *path, const char *name)
{
	size_t length = strlen(path), name_length = strlen(name);

	return name_length <= length && strcmp(path + length - name_length, name) == 0 &&
	       (name_length == length || path[length - name_length - 1] == '/');
}

/* Calls `see` with each row of each unit's table. */
static void each_row(Dwarf *dwarf, void (*see)(void *context, Dwarf_Line *row), void *context)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	Dwarf_Lines *rows;
	size_t count;
	uint8_t type;

	while (dwarf && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
		if ((type != DW_UT_compile && type != DW_UT_skeleton) ||
		    dwarf_getsrclines(&die, &rows, &count) != 0)
			continue;
		for (size_t i = 0; i < count; i++)
			see(context, dwarf_onesrcline(rows, i));
	}
}

struct row {
	const char *file;
	uint32_t line;
	uint64_t address;
};

/* False: it is no place where a statement begins. */
static bool read_row(Dwarf_Line *line, struct row *row)
{
	Dwarf_Addr address;
	bool begins = false, is_end = true;
	int number = 0;

	row->file = dwarf_linesrc(line, NULL, NULL);
	if (!row->file || dwarf_lineno(line, &number) != 0 || number <= 0 ||
	    dwarf_lineaddr(line, &address) != 0 || address == 0 ||
	    dwarf_linebeginstatement(line, &begins) != 0 || !begins ||
	    dwarf_lineendsequence(line, &is_end) != 0 || is_end)
		return false;
	row->line = (uint32_t)number;
	row->address = address;
	return true;
}

struct search {
	Dwarf *dwarf;
	const char *file;
	uint32_t line;
	struct source_line *found;
};

/* The first pass: which line has code. */
static void find_line(void *context, Dwarf_Line *line)
{
	struct search *search = context;
	struct source_line *found = search->found;
	struct row row;

	if (!read_row(line, &row) || !source_is_called(row.file, search->file))
		return;
	found->file = row.file;
	if (row.line >= search->line && (found->line == 0 || row.line < found->line))
		found->line = row.line;
}

/* The innermost function, inlined or not. */
static Dwarf_Off function_at(Dwarf *dwarf, uint64_t address)
{
	struct variables variables;

	if (!variables_open(&variables, dwarf, address))
		return 0;
	for (size_t i = 0; i < variables.scope_count; i++)
		if (dwarf_tag(&variables.scopes[i]) != DW_TAG_lexical_block)
			return dwarf_dieoffset(&variables.scopes[i]);
	return 0;
}

/* The second one: where. */
static void find_places(void *context, Dwarf_Line *line)
{
	struct search *search = context;
	struct source_line *found = search->found;
	struct row row;
	Dwarf_Off function;

	if (!read_row(line, &row) || row.line != found->line ||
	    !source_is_called(row.file, search->file))
		return;
	function = function_at(search->dwarf, row.address);
	for (size_t i = 0; i < found->count; i++) {
		if (found->places[i].function != function)
			continue;
		if (row.address < found->places[i].address)
			found->places[i].address = row.address;
		return;
	}
	if (found->count == SOURCE_PLACES_MAX)
		found->is_too_many = true;
	else
		found->places[found->count++] = (struct source_place){ row.address, function };
}

void source_find(Dwarf *dwarf, const char *file, uint32_t line, struct source_line *found)
{
	struct search search = { dwarf, file, line, found };

	*found = (struct source_line){ 0 };
	each_row(dwarf, find_line, &search);
	if (found->line)
		each_row(dwarf, find_places, &search);
}

/* --- all code of a line --- */

static bool is_of_line(Dwarf_Line *row, const char *file, uint32_t line)
{
	const char *own = dwarf_linesrc(row, NULL, NULL);
	bool is_end = true;
	int number;

	return own && dwarf_lineno(row, &number) == 0 && (uint32_t)number == line &&
	       dwarf_lineendsequence(row, &is_end) == 0 && !is_end && source_is_called(own, file);
}

/* Rows are in the order of their addresses; each ends where the next one begins. */
void source_ranges(Dwarf *dwarf, const char *file, uint32_t line,
		   void (*see)(void *context, uint64_t low, uint64_t high), void *context)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Addr low, high;
	Dwarf_Die die;
	Dwarf_Lines *rows;
	size_t count;

	while (dwarf && dwarf_get_units(dwarf, cu, &cu, &version, NULL, &die, NULL) == 0) {
		if (dwarf_getsrclines(&die, &rows, &count) != 0)
			continue;
		for (size_t i = 0; i + 1 < count; i++)
			if (is_of_line(dwarf_onesrcline(rows, i), file, line) &&
			    dwarf_lineaddr(dwarf_onesrcline(rows, i), &low) == 0 &&
			    dwarf_lineaddr(dwarf_onesrcline(rows, i + 1), &high) == 0 && low < high)
				see(context, low, high);
	}
}

/* --- functions that are copied into others --- */

struct copies {
	const char *function;
	bool (*see)(void *context, const char *file, uint32_t line);
	void *context;
	Dwarf_Die *unit;
	bool is_over;
};

static void see_copy(struct copies *copies, Dwarf_Die *copy)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t count;

	if (!variables_is_called(copy, copies->function) ||
	    dwarf_formudata(dwarf_attr(copy, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(copy, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(copies->unit, &files, &count) != 0 || file >= count)
		return;
	copies->is_over = !copies->see(copies->context, dwarf_filesrc(files, file, NULL, NULL),
				       (uint32_t)line);
}

static void find_copies(struct copies *copies, Dwarf_Die *outer, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(outer, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			see_copy(copies, &child);
			find_copies(copies, &child, depth + 1);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			find_copies(copies, &child, depth + 1);
			break;
		default:
			break;
		}
	} while (!copies->is_over && dwarf_siblingof(&child, &child) == 0);
}

void source_inlined(Dwarf *dwarf, const char *function,
		    bool (*see)(void *context, const char *file, uint32_t line), void *context)
{
	struct copies copies = { .function = function, .see = see, .context = context };
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf && !copies.is_over &&
	       dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
		copies.unit = &die;
		if (type == DW_UT_compile)
			find_copies(&copies, &die, 0);
		else if (type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit)
			find_copies(&copies, &split, 0);
	}
}

/* --- lines that have code --- */

struct listing {
	const char *file; /* NULL: the function's */
	uint64_t low, high;
	void (*see)(void *context, const char *file, uint32_t line);
	void *context;
};

static void list_row(void *context, Dwarf_Line *line)
{
	const struct listing *listing = context;
	struct row row;

	if (!read_row(line, &row))
		return;
	if (listing->file ? source_is_called(row.file, listing->file)
			  : row.address >= listing->low && row.address < listing->high)
		listing->see(listing->context, row.file, row.line);
}

void source_lines(Dwarf *dwarf, const char *file, uint64_t low, uint64_t high,
		  void (*see)(void *context, const char *file, uint32_t line), void *context)
{
	struct listing listing = { file, low, high, see, context };

	each_row(dwarf, list_row, &listing);
}

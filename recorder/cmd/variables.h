/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables by their names, as the code at one address sees them. The blocks around it come first,
 * then its file, then the module.
 *
 * One thread. Reads debug information, which is taken as it is: depth and number are bounded.
 */
#ifndef WCPROF_VARIABLES_H
#define WCPROF_VARIABLES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "variables_location.h"

enum { VARIABLES_SCOPES_MAX = 64 };

/* An address of code, with the blocks and functions around it. */
struct variables {
	Dwarf *dwarf;
	Dwarf_Die unit;
	Dwarf_Die function; /* not inlined */
	bool has_function;
	bool is_entry;
	bool is_rust;
	bool is_exported; /* so that it is called by the convention */
	bool is_clone;    /* gcc's own copy of the function, with other parameters and results */
	Dwarf_Die scopes[VARIABLES_SCOPES_MAX]; /* innermost first: the function's is the last */
	size_t scope_count;
	struct location_frame frame;
	Dwarf_Attribute frame_base;
};

/* False: no debug information covers the address. */
bool variables_open(struct variables *variables, Dwarf *dwarf, uint64_t pc);

/* The variable and its type, both stripped of names. NULL, or why it cannot be had: `found` then
 * says whether there is such a variable at all. */
const char *variables_find(struct variables *variables, const char *name, Dwarf_Die *type,
			   struct location *location, bool *found);
/* The value that the function returns. */
const char *variables_returned(struct variables *variables, Dwarf_Die *type,
			       struct location *location);
/* Whether a call of the function passes something on the stack, and "...". */
void variables_passing(struct variables *variables, bool *takes_stack, bool *is_variadic);

/* Each parameter and local variable: the innermost first, parameters before locals. */
void variables_each(struct variables *variables,
		    void (*see)(void *context, Dwarf_Die *variable, bool is_parameter),
		    void *context);
/* Of an enumeration of the unit. */
bool variables_enumerator(struct variables *variables, const char *name, int64_t *value);

/* The first line of the innermost function: nothing is written if that is not known. */
void variables_declared(struct variables *variables, char *file, size_t size, uint32_t *line);
/* Whether "a::b" is a name of the entry: from its own name outwards, as many parts as it has. */
bool variables_is_called(Dwarf_Die *die, const char *name);

/* The unit that has code at the address. */
bool variables_unit_at(Dwarf *dwarf, uint64_t pc, Dwarf_Die *unit);

#endif

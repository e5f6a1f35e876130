/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables by their names.
 *
 * At a function's entry, a parameter that debug information puts into the frame is not there yet.
 * The first instructions will put it there. It still is where the caller left it, which the
 * convention for calls says (variables_convention.h). A local variable has no value there.
 *
 * One thread.
 */
#include "variables.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variables_convention.h"

enum { DEPTH_MAX = 64 }; /* of name spaces and classes */

static const char has_no_value[] =
	"has no value yet at the entry of its function: probe a line that follows (FILE:LINE)";

bool variables_unit_at(Dwarf *dwarf, uint64_t pc, Dwarf_Die *unit)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
		if (dwarf_haspc(&die, pc) != 1)
			continue;
		*unit = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit ? split
											   : die;
		return true;
	}
	return false;
}

static void find_scopes(struct variables *variables, Dwarf_Die *outer, int depth);

static void keep_scope(struct variables *variables, Dwarf_Die *die, int depth)
{
	if (dwarf_haspc(die, variables->frame.pc) != 1)
		return;
	if (dwarf_tag(die) == DW_TAG_subprogram) {
		/* One within another: closures, functions of functions. */
		variables->scope_count = 0;
		variables->function = *die;
		variables->has_function = true;
	}
	if (variables->scope_count < VARIABLES_SCOPES_MAX)
		variables->scopes[variables->scope_count++] = *die;
	find_scopes(variables, die, depth + 1);
}

/* libdw's own search does not look into name spaces. */
static void find_scopes(struct variables *variables, Dwarf_Die *outer, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(outer, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			keep_scope(variables, &child, depth);
			break;
		case DW_TAG_namespace:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			find_scopes(variables, &child, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void put_innermost_first(struct variables *variables)
{
	for (size_t i = 0; i < variables->scope_count / 2; i++) {
		Dwarf_Die *other = &variables->scopes[variables->scope_count - 1 - i];
		Dwarf_Die die = variables->scopes[i];

		variables->scopes[i] = *other;
		*other = die;
	}
}

bool variables_open(struct variables *variables, Dwarf *dwarf, uint64_t pc)
{
	Dwarf_Addr low = 0;
	int language;

	*variables = (struct variables){ .dwarf = dwarf, .frame = { .pc = pc } };
	if (!variables_unit_at(dwarf, pc, &variables->unit))
		return false;
	find_scopes(variables, &variables->unit, 0);
	if (!variables->has_function)
		return false;
	put_innermost_first(variables);
	language = dwarf_srclang(&variables->unit);
	variables->is_rust = language == DW_LANG_Rust;
	variables->is_entry = dwarf_entrypc(&variables->function, &low) == 0 && low == pc;
	/* A function that is inlined there has its own names, but its caller's entry is meant. */
	if (variables->is_entry) {
		variables->scopes[0] = variables->function;
		variables->scope_count = 1;
	}
	variables->frame = (struct location_frame){
		.pc = pc,
		.is_entry = variables->is_entry,
		.frame_base = dwarf_attr_integrate(&variables->function, DW_AT_frame_base,
						   &variables->frame_base),
		.tables = { dwarf_getcfi(dwarf) },
		.thread_bytes = location_thread_bytes(dwarf_getelf(dwarf)),
	};
	return true;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

/* --- parameters by the convention --- */

/* The entry of the function as it was written: a copy of it may lack some of its parameters. */
static Dwarf_Die origin_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin))
		return origin;
	return *die;
}

static void begin_convention(struct variables *variables, struct convention *convention)
{
	Dwarf_Die type;

	convention_begin(convention, type_of(&variables->function, &type) ? &type : NULL,
			 variables->is_rust);
}

/* Goes through the parameters as they were written, to `wanted`. */
static const char *pass(struct variables *variables, Dwarf_Die *wanted, struct location *location)
{
	struct convention convention;
	Dwarf_Die written = origin_of(&variables->function), child, type, own;
	const char *why = NULL;

	own = origin_of(wanted);
	begin_convention(variables, &convention);
	if (dwarf_child(&written, &child) != 0)
		return location_optimized_out;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || !type_of(&child, &type))
			continue;
		why = convention_next(&convention, &type, location);
		if (dwarf_dieoffset(&child) == dwarf_dieoffset(&own))
			return why;
	} while (dwarf_siblingof(&child, &child) == 0);
	return location_optimized_out;
}

void variables_passing(struct variables *variables, bool *takes_stack, bool *is_variadic)
{
	struct convention convention;
	struct location location;
	Dwarf_Die written = origin_of(&variables->function), child, type;

	*is_variadic = false;
	begin_convention(variables, &convention);
	if (dwarf_child(&written, &child) == 0)
		do {
			if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
				*is_variadic = true;
			if (dwarf_tag(&child) == DW_TAG_formal_parameter && type_of(&child, &type))
				convention_next(&convention, &type, &location);
		} while (dwarf_siblingof(&child, &child) == 0);
	/* In doubt it does: a call must not be moved then. */
	*takes_stack = convention.takes_stack || convention.is_unknown;
}

/* --- places --- */

static bool is_in_frame(const struct location *location)
{
	return location->kind == LOCATION_MEMORY &&
	       location->program.start == PROBE_FROM_REGISTER &&
	       (location->program.reg == PROBE_RSP || location->program.reg == PROBE_RBP);
}

static const char *read_constant(Dwarf_Die *die, struct location *location)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword value = 0;
	Dwarf_Block block;

	if (!dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
		return location_optimized_out;
	/* A block has the bytes of a real number. */
	if (dwarf_formblock(&attribute, &block) == 0 && block.length <= sizeof(value))
		memcpy(&value, block.data, block.length);
	else if (dwarf_formsdata(&attribute, &value) != 0)
		return "is a constant that is no number";
	*location = (struct location){ .kind = LOCATION_VALUE };
	location->program.start = PROBE_FROM_ZERO;
	location->program.add = value;
	return NULL;
}

static const char *read_place(struct variables *variables, Dwarf_Die *die, bool is_own,
			      struct location *location)
{
	Dwarf_Attribute attribute;
	bool is_parameter = is_own && dwarf_tag(die) == DW_TAG_formal_parameter;
	const char *why;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute)) {
		why = read_constant(die, location);
		if (why && is_parameter && variables->is_entry && variables->is_exported)
			why = pass(variables, die, location);
		return why;
	}
	why = location_read(location, &attribute, &variables->frame);
	if (!variables->is_entry || (!why && !is_in_frame(location)))
		return why;
	if (is_parameter && (!why || variables->is_exported))
		return pass(variables, die, location);
	return why ? why : has_no_value;
}

/* --- names --- */

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_formal_parameter || tag == DW_TAG_variable;
}

static bool is_called(Dwarf_Die *die, const char *name)
{
	const char *own = dwarf_diename(die);

	return own && strcmp(own, name) == 0;
}

static bool find_in(Dwarf_Die *scope, const char *name, Dwarf_Die *found)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child) != 0)
		return false;
	do {
		if (!is_variable(&child) || !is_called(&child, name))
			continue;
		*found = child;
		return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Where it was declared, which its name spaces surround. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declaration = *die;

	for (int i = 0; i < DEPTH_MAX; i++)
		if (!dwarf_formref_die(dwarf_attr(&declaration, DW_AT_abstract_origin, &attribute),
				       &declaration) &&
		    !dwarf_formref_die(dwarf_attr(&declaration, DW_AT_specification, &attribute),
				       &declaration))
			break;
	return declaration;
}

/* From its own name outwards, as many parts as `name` has. */
bool variables_is_called(Dwarf_Die *die, const char *name)
{
	Dwarf_Die declaration = declaration_of(die), *scopes = NULL;
	const char *colon = strrchr(name, ':');
	size_t length = strlen(name);
	int count;

	if (!is_called(&declaration, colon ? colon + 1 : name))
		return false;
	if (!colon)
		return true;
	count = dwarf_getscopes_die(&declaration, &scopes);
	for (int i = 0; i < count && length > 0; i++) {
		const char *own = dwarf_diename(&scopes[i]);
		size_t own_length = own ? strlen(own) : 0;

		if (own_length == 0 || own_length > length ||
		    memcmp(name + length - own_length, own, own_length) != 0)
			break;
		length -= own_length;
		if (length > 2 && memcmp(name + length - 2, "::", 2) == 0)
			length -= 2;
		else if (length > 0)
			break;
	}
	free(scopes);
	return length == 0;
}

/* libdw's own look-up of a file ends the process where a unit has no list of them. */
void variables_declared(struct variables *variables, char *file, size_t size, uint32_t *line)
{
	Dwarf_Die die = variables->function, unit;
	Dwarf_Attribute attribute;
	Dwarf_Word index = 0, number = 0;
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_hasattr(&die, DW_AT_decl_file))
		die = declaration_of(&die);
	if (dwarf_formudata(dwarf_attr(&die, DW_AT_decl_file, &attribute), &index) != 0 ||
	    dwarf_formudata(dwarf_attr(&die, DW_AT_decl_line, &attribute), &number) != 0 ||
	    !dwarf_diecu(&die, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
		return;
	snprintf(file, size, "%s", dwarf_filesrc(files, index, NULL, NULL));
	*line = (uint32_t)number;
}

/* Outside of functions; one that has a place is meant. */
static bool find_outside(Dwarf_Die *scope, const char *name, Dwarf_Die *found, int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(scope, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_variable &&
		    dwarf_attr_integrate(&child, DW_AT_location, &attribute) &&
		    variables_is_called(&child, name)) {
			*found = child;
			return true;
		}
		if (tag == DW_TAG_namespace && find_outside(&child, name, found, depth + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool find_in_module(struct variables *variables, const char *name, Dwarf_Die *found)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die, split;
	uint8_t type;

	if (find_outside(&variables->unit, name, found, 0))
		return true;
	while (dwarf_get_units(variables->dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
		Dwarf_Die *unit = type == DW_UT_skeleton ? &split : &die;

		if (dwarf_tag(unit) == DW_TAG_compile_unit && find_outside(unit, name, found, 0) &&
		    dwarf_hasattr_integrate(found, DW_AT_external))
			return true;
	}
	return false;
}

const char *variables_find(struct variables *variables, const char *name, Dwarf_Die *type,
			   struct location *location, bool *found)
{
	Dwarf_Die die;
	bool is_own = false;

	*found = false;
	for (size_t i = 0; i < variables->scope_count && !*found; i++) {
		*found = find_in(&variables->scopes[i], name, &die);
		is_own = dwarf_tag(&variables->scopes[i]) == DW_TAG_subprogram;
	}
	if (!*found) {
		is_own = false;
		*found = find_in_module(variables, name, &die);
	}
	if (!*found)
		return "is no variable";
	if (!type_of(&die, type) || !convention_strip(type, type))
		return "has no type";
	return read_place(variables, &die, is_own, location);
}

const char *variables_returned(struct variables *variables, Dwarf_Die *type,
			       struct location *location)
{
	if (!type_of(&variables->function, type) || !convention_strip(type, type))
		return "is nothing: the function returns void";
	return convention_returned(type, variables->is_rust, location);
}

static void each_of(Dwarf_Die *scope, int tag,
		    void (*see)(void *context, Dwarf_Die *variable, bool is_parameter),
		    void *context)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child) != 0)
		return;
	do {
		if (dwarf_tag(&child) == tag && dwarf_diename(&child))
			see(context, &child, tag == DW_TAG_formal_parameter);
	} while (dwarf_siblingof(&child, &child) == 0);
}

void variables_each(struct variables *variables,
		    void (*see)(void *context, Dwarf_Die *variable, bool is_parameter),
		    void *context)
{
	for (size_t i = 0; i < variables->scope_count; i++) {
		each_of(&variables->scopes[i], DW_TAG_formal_parameter, see, context);
		each_of(&variables->scopes[i], DW_TAG_variable, see, context);
	}
}

/* --- enumerations --- */

static bool find_enumerator(Dwarf_Die *scope, const char *name, int64_t *value, int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;
	Dwarf_Sword found;

	if (depth > DEPTH_MAX || dwarf_child(scope, &child) != 0)
		return false;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_enumerator:
			if (is_called(&child, name) &&
			    dwarf_formsdata(dwarf_attr(&child, DW_AT_const_value, &attribute),
					    &found) == 0) {
				*value = found;
				return true;
			}
			break;
		case DW_TAG_namespace:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_enumeration_type:
			if (find_enumerator(&child, name, value, depth + 1))
				return true;
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

bool variables_enumerator(struct variables *variables, const char *name, int64_t *value)
{
	const char *last = strrchr(name, ':');

	return find_enumerator(&variables->unit, last ? last + 1 : name, value, 0);
}

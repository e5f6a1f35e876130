/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a class of C++ is copied byte by byte. If not, the address of a copy is passed. The debug
 * information of clang says so of each class, that of gcc of none.
 *
 * Such a class has a virtual function or base class, or a destructor or copying constructor with
 * code of its own. Or it contains another such class. One thread.
 */
#include <dwarf.h>
#include <string.h>

#include "variables_convention.h"

enum { DEPTH_MAX = 16 };

static bool is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Made by the compiler, or not there at all. */
static bool is_not_written(Dwarf_Die *function)
{
	return dwarf_hasattr(function, DW_AT_artificial) ||
	       dwarf_hasattr(function, DW_AT_defaulted) || dwarf_hasattr(function, DW_AT_deleted);
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) &&
	       convention_strip(type, type);
}

/* "table(const table &)", "table(table &&)": besides `this` it has that alone. */
static bool is_copying(Dwarf_Die *function, Dwarf_Die *class)
{
	Dwarf_Die child, type, target;
	unsigned count = 0;
	bool is_its = false;

	if (dwarf_child(function, &child) != 0)
		return false;
	do {
		int tag;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter || count++ == 0 ||
		    !type_of(&child, &type))
			continue;
		tag = dwarf_tag(&type);
		is_its = (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) &&
			 type_of(&type, &target) &&
			 dwarf_dieoffset(&target) == dwarf_dieoffset(class);
	} while (dwarf_siblingof(&child, &child) == 0);
	return count == 2 && is_its;
}

static bool is_special(Dwarf_Die *function, Dwarf_Die *class)
{
	const char *name = dwarf_diename(function), *own = dwarf_diename(class);
	size_t length = own ? strcspn(own, "<") : 0;

	if (!name || is_not_written(function))
		return false;
	if (name[0] == '~')
		return true;
	return own && strncmp(name, own, length) == 0 && strcspn(name, "<") == length &&
	       is_copying(function, class);
}

static bool is_trivial_at(Dwarf_Die *type, int depth)
{
	Dwarf_Die child, member_type;
	const char *name;

	if (!is_structure(type) || depth > DEPTH_MAX || dwarf_child(type, &child) != 0)
		return true;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (is_special(&child, type))
				return false;
			break;
		case DW_TAG_inheritance:
		case DW_TAG_member:
			name = dwarf_diename(&child);
			if (dwarf_hasattr(&child, DW_AT_virtuality) ||
			    (name && strncmp(name, "_vptr", 5) == 0))
				return false;
			if (!dwarf_hasattr(&child, DW_AT_external) &&
			    type_of(&child, &member_type) &&
			    !is_trivial_at(&member_type, depth + 1))
				return false;
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

bool convention_is_trivial(Dwarf_Die *type)
{
	return is_trivial_at(type, 0);
}

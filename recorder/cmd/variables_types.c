/* SPDX-License-Identifier: Apache-2.0 */
/* Names of types, as C writes them; variables_members.h has the contract. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "variables_members.h"

enum { DEPTH_MAX = 16 };

bool members_is_reference(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_reference_type ||
	       dwarf_tag(type) == DW_TAG_rvalue_reference_type;
}

static void append(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%s", text);
}

static void write_type(Dwarf_Die *type, char *to, size_t size, int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die target;
	const char *name = dwarf_diename(type);
	int tag = dwarf_tag(type);
	bool is_pointer = tag == DW_TAG_pointer_type;

	if (depth > DEPTH_MAX)
		return;
	if (tag == DW_TAG_const_type &&
	    dwarf_formref_die(dwarf_attr(type, DW_AT_type, &attribute), &target) &&
	    dwarf_tag(&target) == DW_TAG_pointer_type) {
		write_type(&target, to, size, depth + 1);
		append(to, size, "const");
		return;
	}
	if (tag == DW_TAG_const_type)
		append(to, size, "const ");
	if (tag == DW_TAG_volatile_type)
		append(to, size, "volatile ");
	if (tag == DW_TAG_structure_type)
		append(to, size, "struct ");
	if (tag == DW_TAG_union_type)
		append(to, size, "union ");
	if (tag == DW_TAG_enumeration_type)
		append(to, size, "enum ");
	if (name) {
		append(to, size, name);
		return;
	}
	if (dwarf_formref_die(dwarf_attr(type, DW_AT_type, &attribute), &target))
		write_type(&target, to, size, depth + 1);
	else if (is_pointer || tag == DW_TAG_const_type)
		append(to, size, "void");
	else
		append(to, size, "{...}");
	if (is_pointer || members_is_reference(type))
		append(to, size, is_pointer ? " *" : " &");
	if (tag == DW_TAG_array_type)
		append(to, size, " []");
}

void members_write_type(Dwarf_Die *type, char *to, size_t size)
{
	to[0] = '\0';
	write_type(type, to, size, 0);
}

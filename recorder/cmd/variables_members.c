/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of C on types of debug information.
 *
 * A reference of C++ is what it refers to. Members are looked for in base classes and in members
 * without a name, too. One thread.
 */
#include "variables_members.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "variables_convention.h"

enum { DEPTH_MAX = 16, NAMES_SHOWN_MAX = 12 };

struct way {
	struct location *location;
	Dwarf_Die type;     /* stripped */
	bool is_void;       /* that void * points to: the type is none */
	bool is_address;    /* & was the last: the address itself is wanted */
	uint32_t bit_count; /* of a bit-field; 0: it is none */
	uint32_t bit_shift;
	char *why;
};

static bool fail(struct way *way, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct way *way, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(way->why, MEMBERS_WHY_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

static bool check(struct way *way, const char *reason)
{
	return !reason || fail(way, "%s", reason);
}

/* False: void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) &&
	       convention_strip(type, type);
}

static bool is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* A type that is only declared here may be whole in another unit. */
static void complete(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die whole;

	if (dwarf_formref_die(dwarf_attr(type, DW_AT_signature, &attribute), &whole))
		*type = whole;
}

static bool follow_references(struct way *way)
{
	Dwarf_Die target;

	while (members_is_reference(&way->type)) {
		if (!check(way, location_follow(way->location)))
			return false;
		if (!type_of(&way->type, &target))
			return fail(way, "refers to nothing that is known");
		way->type = target;
	}
	return true;
}

/* --- members --- */

static bool read_offset(Dwarf_Die *member, int64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	*offset = 0;
	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute))
		return true; /* of a union */
	if (dwarf_formudata(&attribute, &value) != 0)
		return false; /* of a virtual base class */
	*offset = (int64_t)value;
	return true;
}

static void read_bits(Dwarf_Die *member, uint64_t type_bytes, struct way *way, int64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word count = 0, at = 0;

	if (dwarf_formudata(dwarf_attr_integrate(member, DW_AT_bit_size, &attribute), &count) != 0)
		return;
	way->bit_count = (uint32_t)count;
	if (dwarf_formudata(dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attribute), &at) ==
	    0) {
		/* From the structure's beginning: to a unit of the type's size. */
		way->bit_shift = (uint32_t)(at % (type_bytes * 8));
		*offset = (int64_t)(at / (type_bytes * 8) * type_bytes);
	} else if (dwarf_formudata(dwarf_attr_integrate(member, DW_AT_bit_offset, &attribute),
				   &at) == 0) {
		/* Before DWARF 4: from the highest bit of the unit. */
		way->bit_shift = (uint32_t)(type_bytes * 8 - at - count);
	}
}

static bool take_member(struct way *way, Dwarf_Die *member, int64_t offset)
{
	Dwarf_Word bytes = 0;
	Dwarf_Die type;
	int64_t own = 0;

	if (!type_of(member, &type))
		return fail(way, "has a member without a type");
	if (!read_offset(member, &own))
		return fail(way, "has its member at a place that is known only when it runs");
	dwarf_aggregate_size(&type, &bytes);
	way->bit_count = 0;
	if (bytes > 0 && bytes <= 8)
		read_bits(member, bytes, way, &own);
	way->type = type;
	return check(way, location_add(way->location, offset + own));
}

/* Finds a member, also of base classes and of what has no name. */
static bool find_member(Dwarf_Die *type, const char *name, Dwarf_Die *found, int64_t *offset,
			int depth)
{
	Dwarf_Die member, member_type;
	int64_t own;

	if (depth > DEPTH_MAX || dwarf_child(type, &member) != 0)
		return false;
	do {
		int tag = dwarf_tag(&member);
		const char *own_name = dwarf_diename(&member);

		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (tag == DW_TAG_member && own_name && strcmp(own_name, name) == 0) {
			*found = member;
			return true;
		}
		if ((tag == DW_TAG_member && own_name) || !type_of(&member, &member_type) ||
		    !is_structure(&member_type) || !read_offset(&member, &own))
			continue;
		*offset += own;
		if (find_member(&member_type, name, found, offset, depth + 1))
			return true;
		*offset -= own;
	} while (dwarf_siblingof(&member, &member) == 0);
	return false;
}

static bool has_no_member(struct way *way, const char *name)
{
	char type[128], names[256] = "";
	Dwarf_Die member;
	size_t count = 0;

	members_write_type(&way->type, type, sizeof(type));
	if (dwarf_child(&way->type, &member) == 0)
		do {
			const char *own = dwarf_diename(&member);

			if (dwarf_tag(&member) != DW_TAG_member || !own)
				continue;
			if (count++ < NAMES_SHOWN_MAX)
				snprintf(names + strlen(names), sizeof(names) - strlen(names),
					 "%s%s", count > 1 ? ", " : "", own);
		} while (dwarf_siblingof(&member, &member) == 0);
	if (count == 0)
		return fail(way, "is a %s, of which nothing is known here", type);
	return fail(way, "is a %s, which has no `%s`; it has: %s%s", type, name, names,
		    count > NAMES_SHOWN_MAX ? ", ..." : "");
}

/* Several, in one type. */
static bool has_dimensions(Dwarf_Die *type)
{
	Dwarf_Die child;
	unsigned count = 0;

	if (dwarf_child(type, &child) == 0)
		do
			count += dwarf_tag(&child) == DW_TAG_subrange_type;
		while (dwarf_siblingof(&child, &child) == 0);
	return count > 1;
}

static bool follow_pointer(struct way *way)
{
	Dwarf_Die target;

	if (dwarf_tag(&way->type) == DW_TAG_array_type) {
		if (has_dimensions(&way->type))
			return fail(way, "has several dimensions: take a pointer to one row");
		if (!type_of(&way->type, &target))
			return fail(way, "has elements of no known type");
		way->type = target;
		return true;
	}
	if (dwarf_tag(&way->type) != DW_TAG_pointer_type)
		return fail(way, "is no pointer");
	if (!check(way, location_follow(way->location)))
		return false;
	way->is_void = !type_of(&way->type, &target);
	if (!way->is_void)
		way->type = target;
	return true;
}

/* Of Rust: a pointer that is called so. */
static bool is_borrow(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_pointer_type && name && name[0] == '&';
}

static bool apply_member(struct way *way, const struct probe_part *part)
{
	Dwarf_Die member;
	int64_t offset = 0;

	if (part->kind == PROBE_PART_ARROW && !follow_pointer(way))
		return false;
	if (!follow_references(way))
		return false;
	if (is_borrow(&way->type) && !follow_pointer(way))
		return false;
	if (dwarf_tag(&way->type) == DW_TAG_pointer_type && part->kind == PROBE_PART_MEMBER)
		return fail(way, "is a pointer before `.%s`: write `->%s`", part->name, part->name);
	complete(&way->type);
	if (way->is_void || !is_structure(&way->type))
		return fail(way, "has no members where `%s` is asked for", part->name);
	if (!find_member(&way->type, part->name, &member, &offset, 0))
		return has_no_member(way, part->name);
	return take_member(way, &member, offset);
}

static bool apply_index(struct way *way, int64_t index)
{
	Dwarf_Word bytes;

	if (!follow_pointer(way))
		return false;
	if (way->is_void || dwarf_aggregate_size(&way->type, &bytes) != 0 || bytes > INT32_MAX)
		return fail(way, "has elements of no known size");
	return check(way, location_add(way->location, index * (int64_t)bytes));
}

static bool apply(struct way *way, const struct probe_part *part)
{
	if (way->is_address)
		return fail(way, "goes on after `&`");
	switch (part->kind) {
	case PROBE_PART_MEMBER:
	case PROBE_PART_ARROW:
		return apply_member(way, part);
	case PROBE_PART_INDEX:
		return follow_references(way) && apply_index(way, part->index);
	case PROBE_PART_CONTENT:
		return follow_references(way) && follow_pointer(way);
	case PROBE_PART_ADDRESS:
		way->is_address = true;
		return follow_references(way);
	}
	return false;
}

/* --- the value --- */

/* Only "char" is taken for text if nobody says so: "unsigned char" is bytes. */
static bool is_text_element(Dwarf_Die *type, const struct probe_expression *expression)
{
	const char *name = dwarf_diename(type);

	if (dwarf_tag(type) != DW_TAG_base_type || dwarf_bytesize(type) != 1)
		return false;
	return expression->format == PROBE_FORMAT_STRING || expression->is_text ||
	       (expression->format == PROBE_FORMAT_NONE && name && strcmp(name, "char") == 0);
}

static bool finish_array(struct way *way, const struct probe_expression *expression)
{
	struct probe_fetch *program = &way->location->program;
	Dwarf_Die element;
	Dwarf_Word bytes = 0;

	if (!type_of(&way->type, &element) || !is_text_element(&element, expression))
		return fail(way, "is an array: one element is `%s[0]`", expression->label);
	if (way->location->kind != LOCATION_MEMORY)
		return fail(way, "is a string in registers");
	dwarf_aggregate_size(&way->type, &bytes);
	program->type = PROBE_STRING;
	/* One of no length is the end of a structure that is as long as it likes. */
	program->size =
		bytes > 0 && bytes < PROBE_STRING_BYTES ? (uint8_t)bytes : PROBE_STRING_BYTES;
	return true;
}

/* The format that was asked for, of a value whose type has `bytes`. */
static void set_format(const struct probe_expression *expression, enum probe_type type,
		       uint8_t bytes, struct probe_fetch *program)
{
	static const enum probe_type types[] = {
		[PROBE_FORMAT_UNSIGNED] = PROBE_UNSIGNED,
		[PROBE_FORMAT_SIGNED] = PROBE_SIGNED,
		[PROBE_FORMAT_HEXADECIMAL] = PROBE_HEXADECIMAL,
		[PROBE_FORMAT_REAL] = PROBE_REAL,
	};

	program->type = (uint8_t)type;
	program->size = bytes;
	if (expression->format == PROBE_FORMAT_NONE || expression->format == PROBE_FORMAT_STRING)
		return;
	program->type = (uint8_t)types[expression->format];
	program->size = expression->format_bytes < bytes ? expression->format_bytes : bytes;
}

static enum probe_type type_of_number(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;
	Dwarf_Die underlying;

	if (dwarf_tag(type) == DW_TAG_enumeration_type) {
		/* Only with a type of its own is it known to have a sign. */
		return type_of(type, &underlying) ? type_of_number(&underlying) : PROBE_UNSIGNED;
	}
	if (dwarf_tag(type) != DW_TAG_base_type)
		return PROBE_HEXADECIMAL;
	dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute), &encoding);
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_complex_float:
	case DW_ATE_decimal_float:
		return PROBE_REAL;
	default:
		return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ? PROBE_SIGNED
										   : PROBE_UNSIGNED;
	}
}

/* Whether its bits, or a number of them, can be had as they are asked for. */
static bool check_real(struct way *way, const struct probe_expression *expression, unsigned bytes)
{
	enum probe_format format = expression->format;
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	if (format == PROBE_FORMAT_REAL && expression->format_bytes > bytes)
		return fail(way, "has only %u bits", bytes * 8);
	if (type_of_number(&way->type) != PROBE_REAL || format == PROBE_FORMAT_HEXADECIMAL)
		return true;
	dwarf_formudata(dwarf_attr(&way->type, DW_AT_encoding, &attribute), &encoding);
	if (encoding != DW_ATE_float || bytes < 4)
		return fail(way, "is no float or double: only its bits can be read (:x%u)",
			    bytes * 8);
	if (format != PROBE_FORMAT_NONE &&
	    !(format == PROBE_FORMAT_REAL && expression->format_bytes == bytes))
		return fail(way, "is a floating-point number: read it as :f%u, its bits as :x%u",
			    bytes * 8, bytes * 8);
	return true;
}

static bool finish_string(struct way *way)
{
	struct probe_fetch *program = &way->location->program;

	if (!check(way, location_finish(way->location, 8)))
		return false;
	if (program->bit_count)
		return fail(way, "is no pointer to a string");
	program->type = PROBE_STRING;
	program->size = PROBE_STRING_BYTES;
	return true;
}

/* std::string of libstdc++: its first member leads to text with a NUL. That of libc++ may be short,
 * and is in itself then: there is no such member. */
static bool is_cxx_string(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	int64_t offset = 0;
	Dwarf_Die member;

	return is_structure(type) && name && strncmp(name, "basic_string<char,", 18) == 0 &&
	       find_member(type, "_M_dataplus", &member, &offset, 0);
}

static bool finish_cxx_string(struct way *way)
{
	static const struct probe_part parts[] = {
		{ .kind = PROBE_PART_MEMBER, .name = "_M_dataplus" },
		{ .kind = PROBE_PART_MEMBER, .name = "_M_p" },
	};

	return apply_member(way, &parts[0]) && apply_member(way, &parts[1]) && finish_string(way);
}

static bool finish_number(struct way *way, const struct probe_expression *expression)
{
	struct probe_fetch *program = &way->location->program;
	Dwarf_Word bytes = 0;

	if (way->is_void || dwarf_aggregate_size(&way->type, &bytes) != 0 ||
	    (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return fail(way, "is no number of 1, 2, 4 or 8 bytes");
	if (!check_real(way, expression, (unsigned)bytes) ||
	    !check(way, location_finish(way->location, (uint8_t)bytes)))
		return false;
	set_format(expression, type_of_number(&way->type), (uint8_t)bytes, program);
	if (way->bit_count) {
		program->bit_shift = (uint8_t)(program->bit_shift + way->bit_shift);
		program->bit_count = (uint8_t)way->bit_count;
	} else if (program->bit_count && program->size * 8 < program->bit_count) {
		program->bit_count = (uint8_t)(program->size * 8);
	}
	return program->bit_shift + program->bit_count <= 64 || fail(way, "is in two words");
}

static bool finish(struct way *way, const struct probe_expression *expression)
{
	bool wants_text = expression->format == PROBE_FORMAT_STRING || expression->is_text;
	Dwarf_Die target;

	if (way->is_address) {
		set_format(expression, PROBE_HEXADECIMAL, 8, &way->location->program);
		return check(way, location_finish_address(way->location));
	}
	if (!follow_references(way))
		return false;
	if (dwarf_tag(&way->type) == DW_TAG_array_type)
		return finish_array(way, expression);
	if (!way->is_void)
		complete(&way->type);
	if (!way->is_void && is_cxx_string(&way->type))
		return finish_cxx_string(way);
	if (!way->is_void && is_structure(&way->type))
		return fail(way, "is a structure: name one of its members");
	if (dwarf_tag(&way->type) == DW_TAG_pointer_type && !way->is_void) {
		bool is_text = type_of(&way->type, &target) && is_text_element(&target, expression);

		if (is_text || wants_text)
			return finish_string(way);
	}
	if (wants_text && (way->is_void || dwarf_bytesize(&way->type) != 8))
		return fail(way, "is no string");
	return wants_text ? finish_string(way) : finish_number(way, expression);
}

bool members_fetch(const struct probe_expression *expression, Dwarf_Die *type,
		   struct location *location, char why[MEMBERS_WHY_BYTES])
{
	struct way way = { .location = location, .type = *type, .why = why };

	for (size_t i = 0; i < expression->part_count; i++)
		if (!apply(&way, &expression->parts[i]))
			return false;
	return finish(&way, expression);
}

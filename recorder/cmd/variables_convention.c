/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters by the System V convention: each eight bytes of a type have a class. Integers and
 * pointers take the next of six registers, floating-point numbers the next of eight. All else, and
 * what finds too few registers left, is on the stack.
 *
 * Rust passes numbers and pointers in that way, and pairs of two words. More it does not promise:
 * the parameters from the first other one on are unknown. One thread.
 */
#include "variables_convention.h"

#include <dwarf.h>

enum {
	WORD_BYTES = 8,
	WORDS_MAX = 2, /* of what goes in registers */
	INTEGER_REGISTERS = 6,
	VECTOR_REGISTERS = 8,
	DEPTH_MAX = 16,   /* of structures in structures */
	MEMBERS_MAX = 256 /* of an array in a structure of at most 16 bytes: sixteen */
};

enum word_class { CLASS_NONE, CLASS_VECTOR, CLASS_INTEGER, CLASS_MEMORY };

static const uint8_t integer_registers[INTEGER_REGISTERS] = { PROBE_RDI, PROBE_RSI, PROBE_RDX,
							      PROBE_RCX, PROBE_R8,  PROBE_R9 };
static const char is_long_double[] = "is a long double, in a register that is not read";
static const char is_empty[] = "has no bytes";
static const char is_rusts[] =
	"is passed as Rust likes, which debug information does not say: probe a line behind the "
	"function's first";

bool convention_strip(Dwarf_Die *type, Dwarf_Die *stripped)
{
	Dwarf_Attribute attribute;

	*stripped = *type;
	for (int depth = 0; depth < DEPTH_MAX * 4; depth++) {
		switch (dwarf_tag(stripped)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!dwarf_formref_die(
				    dwarf_attr_integrate(stripped, DW_AT_type, &attribute),
				    stripped))
				return false;
			break;
		case DW_TAG_unspecified_type:
			return false;
		default:
			return true;
		}
	}
	return false;
}

static void merge(enum word_class *into, enum word_class other)
{
	*into = other > *into ? other : *into;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) &&
	       convention_strip(type, type);
}

static void classify(Dwarf_Die *type, uint64_t offset, enum word_class *classes, int depth);

static void classify_array(Dwarf_Die *type, uint64_t offset, enum word_class *classes, int depth)
{
	Dwarf_Die element;
	Dwarf_Word bytes, element_bytes;

	if (dwarf_hasattr(type, DW_AT_GNU_vector)) {
		merge(&classes[0], CLASS_VECTOR);
		return;
	}
	if (!type_of(type, &element) || dwarf_aggregate_size(type, &bytes) != 0 ||
	    dwarf_aggregate_size(&element, &element_bytes) != 0 || element_bytes == 0 ||
	    bytes / element_bytes > MEMBERS_MAX) {
		merge(&classes[0], CLASS_MEMORY);
		return;
	}
	for (uint64_t at = 0; at + element_bytes <= bytes; at += element_bytes)
		classify(&element, offset + at, classes, depth + 1);
}

static void classify_members(Dwarf_Die *type, uint64_t offset, enum word_class *classes, int depth)
{
	Dwarf_Die member, member_type;
	Dwarf_Attribute attribute;
	Dwarf_Word at;

	if (dwarf_child(type, &member) != 0)
		return;
	do {
		int tag = dwarf_tag(&member);

		if (tag == DW_TAG_variant_part) {
			merge(&classes[0], CLASS_MEMORY); /* only Rust's, and not asked for */
			continue;
		}
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&member, DW_AT_external) || !type_of(&member, &member_type))
			continue;
		at = 0;
		if (dwarf_attr(&member, DW_AT_data_bit_offset, &attribute)) {
			dwarf_formudata(&attribute, &at);
			at /= 8;
		} else if (dwarf_attr(&member, DW_AT_data_member_location, &attribute)) {
			dwarf_formudata(&attribute, &at);
		}
		classify(&member_type, offset + at, classes, depth + 1);
	} while (dwarf_siblingof(&member, &member) == 0);
}

static enum word_class class_of_number(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute), &encoding);
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_complex_float:
	case DW_ATE_decimal_float:
		if (encoding == DW_ATE_complex_float && dwarf_bytesize(type) == 16)
			return CLASS_VECTOR;
		/* long double is on the stack */
		return dwarf_bytesize(type) > WORD_BYTES ? CLASS_MEMORY : CLASS_VECTOR;
	default:
		return CLASS_INTEGER;
	}
}

/* The classes of a type that is `offset` into what is passed. */
static void classify(Dwarf_Die *type, uint64_t offset, enum word_class *classes, int depth)
{
	Dwarf_Word bytes = 0;
	enum word_class word = CLASS_INTEGER;

	if (depth > DEPTH_MAX || dwarf_aggregate_size(type, &bytes) != 0 ||
	    offset + bytes > WORDS_MAX * WORD_BYTES) {
		merge(&classes[0], CLASS_MEMORY);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		classify_members(type, offset, classes, depth);
		return;
	case DW_TAG_array_type:
		classify_array(type, offset, classes, depth);
		return;
	case DW_TAG_base_type:
		word = class_of_number(type);
		break;
	default:
		break;
	}
	if (word == CLASS_MEMORY || (bytes <= WORD_BYTES && bytes > 0 && offset % bytes != 0)) {
		merge(&classes[0], CLASS_MEMORY); /* so is what is packed */
		return;
	}
	for (uint64_t at = 0; at < bytes; at += WORD_BYTES)
		merge(&classes[(offset + at) / WORD_BYTES], word);
}

static bool is_aggregate(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

/* C++: what has a destructor, say, is somewhere, and its address is passed. */
static bool is_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention = 0;

	if (!is_aggregate(type))
		return false;
	if (dwarf_formudata(dwarf_attr(type, DW_AT_calling_convention, &attribute), &convention) ==
	    0)
		return convention == DW_CC_pass_by_reference;
	return !convention_is_trivial(type);
}

struct passing {
	enum word_class classes[WORDS_MAX];
	uint64_t bytes;
	bool is_by_reference;
	bool is_in_memory;
};

static void read_passing(Dwarf_Die *type, struct passing *passing)
{
	Dwarf_Word bytes = 0;

	*passing = (struct passing){ 0 };
	if (dwarf_aggregate_size(type, &bytes) != 0)
		bytes = WORD_BYTES;
	passing->bytes = bytes;
	if (is_by_reference(type)) {
		passing->is_by_reference = true;
		passing->classes[0] = CLASS_INTEGER;
		return;
	}
	/* A vector of any length is in one register. */
	if (dwarf_tag(type) == DW_TAG_array_type && dwarf_hasattr(type, DW_AT_GNU_vector))
		passing->classes[0] = CLASS_VECTOR;
	else
		classify(type, 0, passing->classes, 0);
	for (size_t i = 0; i < WORDS_MAX; i++)
		passing->is_in_memory |= passing->classes[i] == CLASS_MEMORY;
}

/* Rust: numbers, pointers, and pairs of two words are passed as C's. */
static bool is_settled_in_rust(Dwarf_Die *type, const struct passing *passing)
{
	Dwarf_Die member, member_type;
	unsigned words = 0;

	if (!is_aggregate(type))
		return passing->bytes <= WORD_BYTES;
	if (passing->bytes != WORDS_MAX * WORD_BYTES || dwarf_child(type, &member) != 0)
		return false;
	do {
		Dwarf_Word bytes;

		if (dwarf_tag(&member) == DW_TAG_variant_part)
			return false;
		if (dwarf_tag(&member) != DW_TAG_member)
			continue;
		if (!type_of(&member, &member_type) || is_aggregate(&member_type) ||
		    dwarf_aggregate_size(&member_type, &bytes) != 0 || bytes != WORD_BYTES)
			return false;
		words++;
	} while (dwarf_siblingof(&member, &member) == 0);
	return words == WORDS_MAX;
}

void convention_begin(struct convention *convention, Dwarf_Die *returned, bool is_rust)
{
	Dwarf_Die type;
	struct passing passing;

	*convention = (struct convention){ .is_rust = is_rust, .stack = WORD_BYTES };
	if (!returned || !convention_strip(returned, &type))
		return;
	read_passing(&type, &passing);
	if (is_rust && passing.bytes <= WORDS_MAX * WORD_BYTES) {
		convention->is_unknown = passing.bytes > 0 && is_aggregate(&type) &&
					 !is_settled_in_rust(&type, &passing);
		return;
	}
	/* Its place is the first, hidden parameter. */
	if (passing.is_by_reference || (passing.is_in_memory && is_aggregate(&type)) ||
	    (is_rust && passing.bytes > WORDS_MAX * WORD_BYTES))
		convention->integers = 1;
}

/* In bytes; more than eight is what matters. */
static uint64_t alignment_of(Dwarf_Die *type, int depth)
{
	Dwarf_Die member, member_type;
	Dwarf_Attribute attribute;
	Dwarf_Word alignment = 0, bytes = 0;

	if (depth > DEPTH_MAX)
		return WORD_BYTES;
	if (dwarf_formudata(dwarf_attr(type, DW_AT_alignment, &attribute), &alignment) == 0)
		return alignment;
	if (!is_aggregate(type) || dwarf_hasattr(type, DW_AT_GNU_vector))
		return dwarf_aggregate_size(type, &bytes) == 0 ? bytes : WORD_BYTES;
	if (dwarf_tag(type) == DW_TAG_array_type)
		return type_of(type, &member_type) ? alignment_of(&member_type, depth + 1) : 1;
	if (dwarf_child(type, &member) != 0)
		return 1;
	do {
		if ((dwarf_tag(&member) == DW_TAG_member ||
		     dwarf_tag(&member) == DW_TAG_inheritance) &&
		    type_of(&member, &member_type)) {
			bytes = alignment_of(&member_type, depth + 1);
			alignment = bytes > alignment ? bytes : alignment;
		}
	} while (dwarf_siblingof(&member, &member) == 0);
	return alignment;
}

static const char *take_stack(struct convention *convention, Dwarf_Die *type,
			      const struct passing *passing, struct location *location)
{
	uint64_t words = (passing->bytes + WORD_BYTES - 1) / WORD_BYTES;

	convention->takes_stack = true;
	/* The word above the return address is aligned to sixteen. */
	if (alignment_of(type, 0) > WORD_BYTES)
		convention->stack = (convention->stack + 7) / 16 * 16 + 8;
	location_set_stack(location, convention->stack);
	convention->stack += (int64_t)(words * WORD_BYTES);
	return NULL;
}

const char *convention_next(struct convention *convention, Dwarf_Die *type,
			    struct location *location)
{
	Dwarf_Die stripped;
	struct passing passing;
	unsigned integers = 0, vectors = 0;

	if (convention->is_unknown || !convention_strip(type, &stripped))
		return is_rusts;
	read_passing(&stripped, &passing);
	if (convention->is_rust && !is_settled_in_rust(&stripped, &passing)) {
		convention->is_unknown = true;
		return is_rusts;
	}
	for (size_t i = 0; i < WORDS_MAX; i++) {
		integers += passing.classes[i] == CLASS_INTEGER;
		vectors += passing.classes[i] == CLASS_VECTOR;
	}
	if (passing.bytes == 0 || (integers + vectors == 0 && !passing.is_in_memory))
		return is_empty;
	if (passing.is_in_memory || convention->integers + integers > INTEGER_REGISTERS ||
	    convention->vectors + vectors > VECTOR_REGISTERS)
		return take_stack(convention, &stripped, &passing, location);
	*location = (struct location){ .kind = LOCATION_REGISTERS };
	for (size_t i = 0; i < WORDS_MAX; i++)
		if (passing.classes[i] == CLASS_INTEGER)
			location->registers[location->register_count++] =
				integer_registers[convention->integers++];
		else if (passing.classes[i] == CLASS_VECTOR)
			location->registers[location->register_count++] =
				(uint8_t)(LOCATION_VECTORS + convention->vectors++);
	return passing.is_by_reference ? location_follow(location) : NULL;
}

const char *convention_returned(Dwarf_Die *type, bool is_rust, struct location *location)
{
	Dwarf_Die stripped;
	struct passing passing;
	unsigned integers = 0, vectors = 0;

	if (!convention_strip(type, &stripped))
		return "is void";
	read_passing(&stripped, &passing);
	if (is_rust && passing.bytes <= WORDS_MAX * WORD_BYTES &&
	    !is_settled_in_rust(&stripped, &passing))
		return is_rusts;
	*location = (struct location){ .kind = LOCATION_REGISTERS };
	if (passing.is_in_memory || passing.is_by_reference || passing.bytes > 16) {
		location_set_register(location, PROBE_RAX);
		if (!is_aggregate(&stripped) && dwarf_tag(&stripped) == DW_TAG_base_type)
			return is_long_double;
		return location_follow(location);
	}
	for (size_t i = 0; i < WORDS_MAX; i++)
		if (passing.classes[i] == CLASS_INTEGER)
			location->registers[location->register_count++] =
				integers++ ? PROBE_RDX : PROBE_RAX;
		else if (passing.classes[i] == CLASS_VECTOR)
			location->registers[location->register_count++] =
				(uint8_t)(LOCATION_VECTORS + vectors++);
	return location->register_count == 0 ? is_empty : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of DWARF as programs without a stack: a start, sums, loads.
 *
 * For nearly every variable compilers write no more than that. It is a constant, or in one or two
 * registers, or at a place relative to one, to the frame or to the module. All else is refused.
 *
 * A place relative to the frame becomes one relative to a register, by the tables for unwinding. So
 * nothing is unwound when the probe is hit. One thread.
 */
#include "variables_location.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { LOCATIONS_MAX = 8, RETURN_ADDRESS_BYTES = 8, LOCATION_NOWHERE = 0xff };

const char location_optimized_out[] = "is optimized out at this place";
static const char is_complicated[] =
	"is at a place that takes more than sums and loads to find (DWARF)";
static const char is_split[] = "is in several pieces here";
static const char is_thread_local[] =
	"is thread-local, and not in the program's own file: where it is differs from run to run";
static const char has_too_many_steps[] = "takes more pointers to reach than a probe may follow";
static const char has_no_address[] = "is in a register or a constant here: it has no address";
static const char is_too_far[] = "is too far from its pointer";

void location_set_register(struct location *location, uint8_t reg)
{
	*location = (struct location){ .kind = LOCATION_REGISTERS, .register_count = 1 };
	location->registers[0] = reg;
}

static void set_memory(struct location *location, uint8_t reg, int64_t offset)
{
	*location = (struct location){ .kind = LOCATION_MEMORY };
	location->program.start = PROBE_FROM_REGISTER;
	location->program.reg = reg;
	location->program.add = offset;
}

void location_set_stack(struct location *location, int64_t offset)
{
	set_memory(location, PROBE_RSP, offset);
}

/* --- ways to parts --- */

static const char *add_to_program(struct probe_fetch *program, int64_t bytes)
{
	struct probe_step *last;

	if (program->step_count == 0) {
		program->add += bytes;
		return NULL;
	}
	last = &program->steps[program->step_count - 1];
	if (bytes > INT32_MAX || bytes < INT32_MIN || bytes + last->add > INT32_MAX ||
	    bytes + last->add < INT32_MIN)
		return is_too_far;
	last->add += (int32_t)bytes;
	return NULL;
}

static const char *load(struct probe_fetch *program, uint8_t bytes)
{
	if (program->step_count == PROBE_STEPS_MAX)
		return has_too_many_steps;
	program->steps[program->step_count++] = (struct probe_step){ .bytes = bytes };
	return NULL;
}

const char *location_add(struct location *location, int64_t bytes)
{
	switch (location->kind) {
	case LOCATION_MEMORY:
		return add_to_program(&location->program, bytes);
	case LOCATION_REGISTERS:
		if (bytes < 0 || bytes >= location->register_count * 8 - (int64_t)location->offset)
			return has_no_address;
		location->offset += (uint32_t)bytes;
		return NULL;
	case LOCATION_VALUE:
		break;
	}
	return bytes == 0 ? NULL : has_no_address;
}

const char *location_finish(struct location *location, uint8_t bytes)
{
	struct probe_fetch *program = &location->program;
	uint32_t within = location->offset % 8;

	switch (location->kind) {
	case LOCATION_MEMORY:
		return load(program, bytes);
	case LOCATION_REGISTERS:
		if (within + bytes > 8)
			return is_split;
		if (location->registers[location->offset / 8] == LOCATION_NOWHERE)
			return location_optimized_out;
		program->start = PROBE_FROM_REGISTER;
		program->reg = location->registers[location->offset / 8];
		if (program->reg >= LOCATION_VECTORS) {
			program->start = PROBE_FROM_VECTOR;
			program->reg -= LOCATION_VECTORS;
		}
		if (within != 0) {
			program->bit_shift = (uint8_t)(within * 8);
			program->bit_count = (uint8_t)(bytes * 8);
		}
		return NULL;
	case LOCATION_VALUE:
		break;
	}
	return NULL;
}

const char *location_finish_address(struct location *location)
{
	return location->kind == LOCATION_MEMORY ? NULL : has_no_address;
}

const char *location_follow(struct location *location)
{
	const char *why = location_finish(location, 8);

	if (!why && location->program.bit_count)
		why = is_split;
	location->kind = LOCATION_MEMORY;
	return why;
}

/* --- thread-local variables --- */

static bool is_pie(Elf *elf)
{
	GElf_Shdr header;
	GElf_Dyn entry;

	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		Elf_Data *data = NULL;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
			data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			if (entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE)
				return true;
	}
	return false;
}

uint64_t location_thread_bytes(Elf *elf)
{
	GElf_Ehdr header;
	GElf_Phdr segment;
	size_t count;

	if (!elf || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) != 0 ||
	    (header.e_type != ET_EXEC && !is_pie(elf)))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_TLS) {
			uint64_t align = segment.p_align ? segment.p_align : 1;

			return (segment.p_memsz + align - 1) / align * align;
		}
	return 0;
}

/* An offset into the program's block becomes one from the thread pointer. */
static const char *read_thread_local(struct location *location, const struct location_frame *frame)
{
	struct probe_fetch *program = &location->program;

	if (frame->thread_bytes == 0 || program->start != PROBE_FROM_ZERO || program->step_count)
		return is_thread_local;
	program->start = PROBE_FROM_THREAD;
	return add_to_program(program, -(int64_t)frame->thread_bytes);
}

/* --- expressions --- */

static const char *read_ops(struct location *location, const Dwarf_Op *ops, size_t count,
			    Dwarf_Attribute *attribute, const struct location_frame *frame);

static const char *read_cfa(struct location *location, const struct location_frame *frame)
{
	Dwarf_Frame *row = NULL;
	const char *why = is_complicated;
	Dwarf_Op *ops;
	size_t count;

	if (frame->is_entry) {
		set_memory(location, PROBE_RSP, RETURN_ADDRESS_BYTES);
		return NULL;
	}
	for (size_t i = 0; i < 2 && why; i++) {
		if (!frame->tables[i] ||
		    dwarf_cfi_addrframe(frame->tables[i], frame->pc, &row) != 0)
			continue;
		if (dwarf_frame_cfa(row, &ops, &count) == 0 && count == 1 &&
		    (ops[0].atom == DW_OP_bregx ||
		     (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)))
			why = read_ops(location, ops, count, NULL, frame);
		free(row);
	}
	return why;
}

static const char *read_frame_base(struct location *location, int64_t offset,
				   const struct location_frame *frame)
{
	Dwarf_Op *ops;
	size_t count;
	const char *why;

	if (!frame->frame_base ||
	    dwarf_getlocation_addr(frame->frame_base, frame->pc, &ops, &count, 1) != 1)
		return is_complicated;
	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		why = read_cfa(location, frame);
	else if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom < DW_OP_reg0 + PROBE_RIP) {
		set_memory(location, (uint8_t)(ops[0].atom - DW_OP_reg0), 0);
		why = NULL;
	} else if (count == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		why = read_ops(location, ops, count, NULL, frame);
	} else {
		why = is_complicated;
	}
	return why ? why : location_add(location, offset);
}

/* DW_OP_addrx, which names a row of a table. */
static const char *read_indexed(struct location *location, const Dwarf_Op *op,
				Dwarf_Attribute *attribute)
{
	Dwarf_Attribute row;
	Dwarf_Addr address;

	if (!attribute || dwarf_getlocation_attr(attribute, op, &row) != 0 ||
	    dwarf_formaddr(&row, &address) != 0)
		return is_complicated;
	*location = (struct location){ .kind = LOCATION_MEMORY };
	location->program.start = PROBE_FROM_MODULE;
	location->program.add = (int64_t)address;
	return NULL;
}

static void set_constant(struct location *location, uint64_t value)
{
	/* A number on the stack is an address, unless DW_OP_stack_value follows. */
	*location = (struct location){ .kind = LOCATION_MEMORY };
	location->program.start = PROBE_FROM_ZERO;
	location->program.add = (int64_t)value;
}

/* DW_OP_entry_value: at the entry itself it is what it was. */
static const char *read_entry_value(struct location *location, const Dwarf_Op *op,
				    Dwarf_Attribute *attribute, const struct location_frame *frame)
{
	Dwarf_Op *ops;
	Dwarf_Attribute inner;
	size_t count;

	if (!frame->is_entry || !attribute)
		return location_optimized_out;
	if (dwarf_getlocation_attr(attribute, op, &inner) != 0 ||
	    dwarf_getlocation(&inner, &ops, &count) != 0 || count != 1 ||
	    ops[0].atom < DW_OP_reg0 || ops[0].atom >= DW_OP_reg0 + PROBE_RIP)
		return is_complicated;
	set_memory(location, (uint8_t)(ops[0].atom - DW_OP_reg0), 0);
	return NULL;
}

/* The register that has it, of those that a probe reads; LOCATION_NOWHERE: it is in none. */
static uint8_t register_of(const Dwarf_Op *op)
{
	enum { XMM0 = PROBE_RIP + 1 };
	uint64_t number = PROBE_RIP;

	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		number = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx)
		number = op->number;
	if (number < PROBE_RIP)
		return (uint8_t)number;
	if (number >= XMM0 && number < XMM0 + PROBE_VECTORS)
		return (uint8_t)(LOCATION_VECTORS + number - XMM0);
	return LOCATION_NOWHERE;
}

/* The first op says where the sum begins. */
static const char *read_first(struct location *location, const Dwarf_Op *op,
			      Dwarf_Attribute *attribute, const struct location_frame *frame)
{
	if (register_of(op) != LOCATION_NOWHERE) {
		location_set_register(location, register_of(op));
		return NULL;
	}
	if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + PROBE_RIP) {
		set_memory(location, (uint8_t)(op->atom - DW_OP_breg0), (int64_t)op->number);
		return NULL;
	}
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		set_constant(location, op->atom - DW_OP_lit0);
		return NULL;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		if (op->number >= PROBE_RIP)
			return is_complicated;
		set_memory(location, (uint8_t)op->number, (int64_t)op->number2);
		return NULL;
	case DW_OP_fbreg:
		return read_frame_base(location, (int64_t)op->number, frame);
	case DW_OP_call_frame_cfa:
		return read_cfa(location, frame);
	case DW_OP_addr:
		set_constant(location, op->number);
		location->program.start = PROBE_FROM_MODULE;
		return NULL;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return read_indexed(location, op, attribute);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		set_constant(location, op->number);
		return NULL;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return read_entry_value(location, op, attribute, frame);
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
	case DW_OP_GNU_parameter_ref:
		return location_optimized_out;
	default:
		return is_complicated;
	}
}

static const char *read_next(struct location *location, const Dwarf_Op *op,
			     const struct location_frame *frame)
{
	if (location->kind != LOCATION_MEMORY)
		return is_complicated;
	switch (op->atom) {
	case DW_OP_plus_uconst:
		return add_to_program(&location->program, (int64_t)op->number);
	case DW_OP_deref:
		return load(&location->program, 8);
	case DW_OP_stack_value:
		location->kind = LOCATION_VALUE;
		return NULL;
	case DW_OP_GNU_push_tls_address:
	case DW_OP_form_tls_address:
		return read_thread_local(location, frame);
	default:
		return is_complicated;
	}
}

/* "reg5 piece 8 reg4 piece 8": a structure in two registers. A piece without a register before it
 * is not there. */
static const char *read_pieces(struct location *location, const Dwarf_Op *ops, size_t count)
{
	*location = (struct location){ .kind = LOCATION_REGISTERS };
	for (size_t i = 0; i < count; i++) {
		uint8_t reg = register_of(&ops[i]);

		i += reg != LOCATION_NOWHERE;
		if (i == count || ops[i].atom != DW_OP_piece || location->register_count == 2 ||
		    ops[i].number > 8 || (ops[i].number != 8 && i + 1 < count))
			return is_split;
		location->registers[location->register_count++] = reg;
	}
	return NULL;
}

static const char *read_implicit(struct location *location, const Dwarf_Op *op,
				 Dwarf_Attribute *attribute)
{
	Dwarf_Block block;
	uint64_t value = 0;

	if (!attribute || dwarf_getlocation_implicit_value(attribute, op, &block) != 0 ||
	    block.length > sizeof(value))
		return is_complicated;
	memcpy(&value, block.data, block.length);
	set_constant(location, value);
	location->kind = LOCATION_VALUE;
	return NULL;
}

static const char *read_ops(struct location *location, const Dwarf_Op *ops, size_t count,
			    Dwarf_Attribute *attribute, const struct location_frame *frame)
{
	const char *why;

	if (count == 0)
		return location_optimized_out;
	for (size_t i = 0; i < count; i++)
		if (ops[i].atom == DW_OP_piece)
			return read_pieces(location, ops, count);
	if (ops[0].atom == DW_OP_implicit_value)
		return read_implicit(location, &ops[0], attribute);
	why = read_first(location, &ops[0], attribute, frame);
	for (size_t i = 1; i < count && !why; i++)
		why = read_next(location, &ops[i], frame);
	return why;
}

const char *location_read(struct location *location, Dwarf_Attribute *attribute,
			  const struct location_frame *frame)
{
	Dwarf_Op *ops[LOCATIONS_MAX];
	size_t counts[LOCATIONS_MAX];
	const char *why = location_optimized_out;
	int found = dwarf_getlocation_addr(attribute, frame->pc, ops, counts, LOCATIONS_MAX);

	/* Of several that hold here, any will do. */
	for (int i = 0; i < found && why; i++)
		why = read_ops(location, ops[i], counts[i], attribute, frame);
	return why;
}

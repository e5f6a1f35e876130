/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame instructions of DWARF, up to an address. See unwind_rows.h.
 *
 * Each says from where on in the code the row is another one, or what of it is. The shared ones
 * come first: a register may be restored to what they say.
 */
#include "unwind_rows.h"

#include <string.h>

#include "unwind_value.h"

#include "in_target.h"

enum { REMEMBERED_MAX = 8, EXPRESSION_LENGTH_BYTES = 10 };

enum instruction {
	/* The upper two bits, with a number in the others. */
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	/* The others. */
	NOTHING = 0x00,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME = 0x08,
	REGISTER = 0x09,
	REMEMBER = 0x0a,
	RESTORE_ALL = 0x0b,
	CFA = 0x0c,
	CFA_REGISTER = 0x0d,
	CFA_OFFSET = 0x0e,
	CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_SIGNED = 0x11,
	CFA_SIGNED = 0x12,
	CFA_OFFSET_SIGNED = 0x13,
	SUM = 0x14,
	SUM_SIGNED = 0x15,
	SUM_EXPRESSION = 0x16,
	ARGUMENTS = 0x2e,
	OFFSET_NEGATIVE = 0x2f
};

struct run {
	const struct unwind_entry *entry;
	struct unwind_bytes code;
	uint64_t place; /* the row is that of the code from here on */
	struct unwind_row *row;
	struct unwind_row initial; /* after the shared ones */
	struct unwind_row remembered[REMEMBERED_MAX];
	uint32_t remembered_count;
};

struct unwind_bytes unwind_expression(const uint8_t *from)
{
	struct unwind_bytes bytes = { from, from + EXPRESSION_LENGTH_BYTES, false };
	uint64_t length = bytes_uleb(&bytes);

	return (struct unwind_bytes){ bytes.at, bytes.at + length, bytes.has_failed };
}

static const uint8_t *pass_expression(struct run *run)
{
	const uint8_t *from = run->code.at;

	(void)bytes_take(&run->code, bytes_uleb(&run->code));
	return from;
}

/* The cell of a register by its number; NULL: of no interest. */
static struct unwind_cell *cell_of(struct run *run, struct unwind_row *row, uint64_t number)
{
	enum unwind_register which =
		number == run->entry->return_column ? UNWIND_PC : unwind_register_of(number);

	return which < UNWIND_REGISTER_COUNT ? &row->cells[which] : NULL;
}

static void put(struct run *run, uint64_t number, struct unwind_cell value)
{
	struct unwind_cell *cell = cell_of(run, run->row, number);

	if (cell)
		*cell = value;
}

static void put_number(struct run *run, uint64_t number, enum unwind_how how, int64_t value)
{
	put(run, number, (struct unwind_cell){ .how = how, .number = value });
}

/* The product may be any: the table may. */
static int64_t scaled(const struct run *run, int64_t number)
{
	return (int64_t)((uint64_t)number * (uint64_t)run->entry->data_factor);
}

static int64_t read_scaled(struct run *run)
{
	return scaled(run, (int64_t)bytes_uleb(&run->code));
}

static int64_t read_scaled_signed(struct run *run)
{
	return scaled(run, bytes_sleb(&run->code));
}

static void restore(struct run *run, uint64_t number)
{
	struct unwind_cell *cell = cell_of(run, &run->initial, number);

	if (cell)
		put(run, number, *cell);
}

static void put_expression(struct run *run, enum unwind_how how)
{
	uint64_t number = bytes_uleb(&run->code);

	put(run, number, (struct unwind_cell){ .how = how, .from = pass_expression(run) });
}

static void remember(struct run *run)
{
	if (run->remembered_count == REMEMBERED_MAX)
		run->code.has_failed = true;
	else
		run->remembered[run->remembered_count++] = *run->row;
}

static void restore_all(struct run *run)
{
	if (run->remembered_count == 0)
		run->code.has_failed = true;
	else
		*run->row = run->remembered[--run->remembered_count];
}

static void set_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->row->cfa_from = NULL;
	run->row->cfa_register = number;
	run->row->cfa_offset = offset;
}

/* False: it is not about the CFA. */
static bool follow_of_cfa(struct run *run, uint8_t instruction)
{
	struct unwind_bytes *code = &run->code;
	uint64_t number;

	switch (instruction) {
	case CFA:
		number = bytes_uleb(code);
		set_cfa(run, number, (int64_t)bytes_uleb(code));
		return true;
	case CFA_SIGNED:
		number = bytes_uleb(code);
		set_cfa(run, number, read_scaled_signed(run));
		return true;
	case CFA_REGISTER:
		set_cfa(run, bytes_uleb(code), run->row->cfa_offset);
		return true;
	case CFA_OFFSET:
		set_cfa(run, run->row->cfa_register, (int64_t)bytes_uleb(code));
		return true;
	case CFA_OFFSET_SIGNED:
		set_cfa(run, run->row->cfa_register, read_scaled_signed(run));
		return true;
	case CFA_EXPRESSION:
		run->row->cfa_from = pass_expression(run);
		return true;
	default:
		return false;
	}
}

/* Of one register. False: it is of none. */
static bool follow_of_register(struct run *run, uint8_t instruction)
{
	struct unwind_bytes *code = &run->code;
	uint64_t number;

	if (instruction == EXPRESSION || instruction == SUM_EXPRESSION) {
		put_expression(run, instruction == EXPRESSION ? HOW_SAVED_WHERE : HOW_EXPRESSION);
		return true;
	}
	if (instruction < OFFSET_EXTENDED ||
	    (instruction > REGISTER && instruction != OFFSET_SIGNED && instruction != SUM &&
	     instruction != SUM_SIGNED && instruction != OFFSET_NEGATIVE))
		return false;
	number = bytes_uleb(code);
	if (instruction == OFFSET_EXTENDED)
		put_number(run, number, HOW_SAVED, read_scaled(run));
	else if (instruction == OFFSET_SIGNED)
		put_number(run, number, HOW_SAVED, read_scaled_signed(run));
	else if (instruction == OFFSET_NEGATIVE)
		put_number(run, number, HOW_SAVED, (int64_t)(0 - (uint64_t)read_scaled(run)));
	else if (instruction == SUM)
		put_number(run, number, HOW_SUM, read_scaled(run));
	else if (instruction == SUM_SIGNED)
		put_number(run, number, HOW_SUM, read_scaled_signed(run));
	else if (instruction == REGISTER)
		put_number(run, number, HOW_REGISTER, (int64_t)bytes_uleb(code));
	else if (instruction == RESTORE_EXTENDED)
		restore(run, number);
	else
		put_number(run, number, instruction == SAME ? HOW_SAME : HOW_UNKNOWN, 0);
	return true;
}

static void advance(struct run *run, uint64_t by)
{
	run->place += by * run->entry->code_factor;
}

static void follow_other(struct run *run, uint8_t instruction)
{
	switch (instruction) {
	case NOTHING:
		break;
	case ADVANCE_1:
		advance(run, bytes_number(&run->code, 1));
		break;
	case ADVANCE_2:
		advance(run, bytes_number(&run->code, 2));
		break;
	case ADVANCE_4:
		advance(run, bytes_number(&run->code, 4));
		break;
	case REMEMBER:
		remember(run);
		break;
	case RESTORE_ALL:
		restore_all(run);
		break;
	case ARGUMENTS:
		(void)bytes_uleb(&run->code);
		break;
	default:
		run->code.has_failed = true;
	}
}

static bool follow(struct run *run, struct unwind_bytes code, uint64_t pc)
{
	enum { NUMBER = 0x3f };

	run->code = code;
	while (bytes_are_left(&run->code)) {
		uint8_t instruction = (uint8_t)bytes_number(&run->code, 1);
		uint8_t number = instruction & NUMBER;

		if ((instruction & ~NUMBER) == ADVANCE)
			advance(run, number);
		else if ((instruction & ~NUMBER) == OFFSET)
			put_number(run, number, HOW_SAVED, read_scaled(run));
		else if ((instruction & ~NUMBER) == RESTORE)
			restore(run, number);
		else if (!follow_of_cfa(run, instruction) && !follow_of_register(run, instruction))
			follow_other(run, instruction);
		/* All that comes is about the code behind. */
		if (run->place > pc)
			break;
	}
	return !run->code.has_failed;
}

bool unwind_row_at(const struct unwind_entry *entry, uint64_t pc, struct unwind_row *row)
{
	struct run run;

	memset(row, 0, sizeof(*row));
	run.entry = entry;
	run.row = row;
	run.remembered_count = 0;
	/* The shared ones are about all of the code. */
	run.place = 0;
	run.initial = *row;
	if (!follow(&run, entry->common, UINT64_MAX))
		return false;
	run.initial = *row;
	run.place = entry->start;
	return follow(&run, entry->own, pc);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of a function's unwind table at an address: the instructions of its entry are followed up
 * to there.
 */
#ifndef WCPROF_UNWIND_ROWS_H
#define WCPROF_UNWIND_ROWS_H

#include "unwind.h"
#include "unwind_table.h"

/* How the caller's value of a register is found. */
enum unwind_how {
	HOW_SAME,        /* the register still has it */
	HOW_UNKNOWN,     /* not at all */
	HOW_SAVED,       /* at CFA + number */
	HOW_SUM,         /* CFA + number */
	HOW_REGISTER,    /* another one has it: number says which */
	HOW_SAVED_WHERE, /* at the place that an expression has */
	HOW_EXPRESSION
};

/* A register in the table. Of an expression, `from` is where its length is. */
struct unwind_cell {
	enum unwind_how how;
	union {
		int64_t number;
		const uint8_t *from;
	};
};

/* The canonical frame address (CFA), and all registers of interest. */
struct unwind_row {
	const uint8_t *cfa_from; /* an expression; NULL: a register + a number */
	uint64_t cfa_register;   /* the table's number for it */
	int64_t cfa_offset;
	struct unwind_cell cells[UNWIND_REGISTER_COUNT];
};

/* False: the table has nonsense there, or what is not known. */
bool unwind_row_at(const struct unwind_entry *, uint64_t pc, struct unwind_row *) HIDDEN;
/* The expression that begins at its length, which was read as a whole before. */
struct unwind_bytes unwind_expression(const uint8_t *from) HIDDEN;

#endif

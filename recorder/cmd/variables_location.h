/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a variable is at one address of code, and the way from there to a part of it. An expression
 * of DWARF becomes a program of probe_code.h, or a reason why it cannot.
 *
 * One thread; nothing is allocated, reasons are constants.
 */
#ifndef WCPROF_VARIABLES_LOCATION_H
#define WCPROF_VARIABLES_LOCATION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe_code.h"

enum location_kind {
	LOCATION_MEMORY,    /* the program computes its address */
	LOCATION_REGISTERS, /* it is in one or two of them; LOCATION_VECTORS + n: in a vector's */
	LOCATION_VALUE      /* the program computes its value */
};

enum { LOCATION_VECTORS = 0x80 };

struct location {
	enum location_kind kind;
	struct probe_fetch program;
	uint8_t registers[2]; /* each has eight bytes */
	uint8_t register_count;
	uint32_t offset; /* of the part, into the registers */
};

/* The code that asks. */
struct location_frame {
	uint64_t pc;
	bool is_entry;               /* of its function: nothing has been pushed or moved yet */
	Dwarf_Attribute *frame_base; /* NULL: the function has none */
	Dwarf_CFI *tables[2];        /* for unwinding; either may be NULL */
	uint64_t thread_bytes;       /* location_thread_bytes() of the file */
};

extern const char location_optimized_out[];

/* How far below the thread pointer the program's own thread-local variables begin. 0: the file is
 * not known to be a program, or has none. Those of a library are elsewhere in each process. */
uint64_t location_thread_bytes(Elf *elf);

/* NULL, or why it cannot be had. */
const char *location_read(struct location *location, Dwarf_Attribute *attribute,
			  const struct location_frame *frame);
/* A register that has it whole. */
void location_set_register(struct location *location, uint8_t reg);
/* It is that many bytes above the stack pointer at a function's entry. */
void location_set_stack(struct location *location, int64_t offset);

/* The part that begins `bytes` into it. NULL, or why not. */
const char *location_add(struct location *location, int64_t bytes);
/* It is a pointer: what it points to. */
const char *location_follow(struct location *location);
/* Its value, of 1, 2, 4 or 8 bytes, becomes the program's; the address, where there is one. */
const char *location_finish(struct location *location, uint8_t bytes);
const char *location_finish_address(struct location *location);

#endif

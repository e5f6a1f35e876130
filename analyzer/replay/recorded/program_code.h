/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first half of compiling a program: instructions and regions as they are written, one after
 * the other.
 *
 * Used by program.c alone. A stream is all that is done on one value from its start on. Its code is
 * a region, cut into blocks, and those into larger ones, each a region of its own. Streams nest
 * like the ops that they are of; cutting and ending are for the innermost.
 */
#ifndef WCPROF_PROGRAM_CODE_H
#define WCPROF_PROGRAM_CODE_H

#include "program.h"

enum {
	BLOCK_LEVELS = 6,
	BLOCK_INSTRS = 32, /* in a block of the lowest level */
	BLOCK_SHIFT = 3    /* blocks in one of the next level, as a power of 2 */
};

struct stream {
	uint32_t value;
	uint32_t begin;                /* its first instruction */
	uint32_t whole;                /* region, NO_INDEX = none */
	uint32_t blocks[BLOCK_LEVELS]; /* the open ones, NO_INDEX = none */
};

/* A run instruction, with its class. */
struct run {
	uint32_t class;
	uint32_t at;
};

struct code {
	struct program *program;
	struct run *runs;
	uint32_t run_count;
	uint32_t constant_count;
	struct stream *streams;
	size_t stream_count;
	size_t instr_room, region_room, constant_room, run_room, stream_room;
};

void code_emit(struct code *code, enum instr_what what, uint32_t value, uint32_t operand);
void code_set(struct code *code, uint32_t value, uint64_t at_ns);
void code_add(struct code *code, uint32_t value, int64_t add_ns);
void code_run(struct code *code, uint32_t class, uint32_t value, uint64_t length_ns);

/* Whether the last instruction starts `value` at the clock `from`; and takes it back. */
bool code_just_started(const struct code *code, uint32_t value, uint32_t from);
void code_take_back(struct code *code);

void code_stream_begin(struct code *code, uint32_t value, bool is_region);
/* Where code may be cut: between two actions. */
void code_stream_cut(struct code *code);
void code_stream_end(struct code *code);

/* Lists the runs class by class; frees all but the program. */
void code_finish(struct code *code, uint32_t class_count);

#endif

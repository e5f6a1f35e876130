/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that are copied to run elsewhere: distances to memory are written anew, and those of
 * jumps, which become long ones. Calls and loops are refused.
 *
 * Bytes in, bytes out: no process is touched. One thread.
 */
#ifndef WCPROF_MOVING_H
#define WCPROF_MOVING_H

#include <stdbool.h>
#include <Zydis/Zydis.h>

#include "probe_order.h"

/* One function, and the order that gets its instructions. */
struct moving {
	const uint8_t *code;
	uint32_t bytes;
	uint32_t padding; /* behind it, which may be overwritten, too */
	struct probe_order *order;
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction; /* the last one that was decoded */
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* Nothing is moved yet. */
void moving_begin(struct moving *, const uint8_t *code, uint32_t bytes, struct probe_order *);
/* False: the bytes there are no instruction of the function. */
bool moving_decode(struct moving *, uint32_t at);
/* Counts the padding: there are so many more bytes of code, and what is in them may be anything. */
void moving_see_padding(struct moving *, uint64_t more);
/* Whether what follows the instruction is not run next. */
bool moving_is_end(const struct moving *);
/* Where a relative jump or call at `at` leads, in the function; false: it is none. */
bool moving_leads_to(const struct moving *, uint32_t at, int64_t *to);
/*
 * Appends the instructions from `from` on that a jump there overwrites to what is moved, where
 * `from` is what the order's distances count from. Where `stub_at` is, room for a stub comes before
 * that instruction, or behind the last; -1: there is none. Then a jump back. NULL, or why not.
 */
const char *moving_take(struct moving *, uint32_t from, int64_t stub_at);

#endif

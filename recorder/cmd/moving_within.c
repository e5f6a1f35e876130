/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the jump for a place within a function may be, which moves the instructions around it. See
 * probe_plan.h.
 *
 * The jump begins at the place, or at an instruction before it, so that its five bytes are within
 * 16 bytes that one store changes. Of those that may be, the one is taken that breaks the fewest
 * instructions: each may have a thread before it. None may begin in the jump that is reached in
 * another way than from the one before:
 *
 * 1. The function is read whole, and its relative jumps are known. Other functions' jumps are
 *    looked for among all bytes of the file's code: a compiler puts what is rarely run elsewhere.
 * 2. A jump by a table or a register may lead to any instruction. In a function that has one, the
 *    jump must not break any, and must begin at the place.
 * 3. Calls return to the instruction behind them, and exceptions come to one behind a jump or a
 *    call. Neither is moved. One behind a call may be the first, whose address stays.
 *
 * One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "moving.h"
#include "probe_plan.h"

enum { BLOCK = 16, LONGEST = 15, BEFORE_MAX = 2 * LONGEST };

struct within {
	struct moving moving;
	const struct probe_text_bytes *text;
	uint32_t place;         /* offset in the function */
	uint8_t *begins;        /* whether an instruction begins at this byte */
	uint8_t *is_target;     /* whether a jump leads there */
	bool has_indirect_jump; /* within the function */
	const char *why;        /* of the place itself, or of the last that was tried */
};

static bool is_indirect_jump(const struct moving *moving)
{
	return moving->instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
	       moving->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* A jump by a fixed word of memory leads to another function, as in a tail call by the PLT. */
static bool is_tail_call(const struct moving *moving)
{
	return moving->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       moving->operands[0].mem.base == ZYDIS_REGISTER_RIP;
}

static const char *read_function(struct within *within)
{
	struct moving *moving = &within->moving;
	int64_t to;

	for (uint32_t at = 0; at < moving->bytes; at += moving->instruction.length) {
		if (!moving_decode(moving, at))
			return "its function's code has bytes that are no instruction";
		within->begins[at] = true;
		within->has_indirect_jump |= is_indirect_jump(moving) && !is_tail_call(moving);
		if (moving_leads_to(moving, at, &to) && to >= 0 && to < moving->bytes)
			within->is_target[to] = true;
	}
	return NULL;
}

/* Whether a jump or call of four bytes of distance ends before text[at]. */
static bool is_long_jump(const uint8_t *text, uint64_t at)
{
	if (at >= 5 && (text[at - 5] == 0xe9 || text[at - 5] == 0xe8))
		return true;
	return at >= 6 && text[at - 6] == 0x0f && (text[at - 5] & 0xf0) == 0x80;
}

static uint32_t room_of(const struct within *within)
{
	return within->moving.bytes + within->moving.padding;
}

/* From anywhere in the file's code to around the place. */
static void read_others(struct within *within)
{
	const struct probe_text_bytes *text = within->text;
	uint64_t first = within->place > BEFORE_MAX ? within->place - BEFORE_MAX : 0;
	uint64_t last = within->place + BEFORE_MAX;

	last = last < room_of(within) ? last : room_of(within) - 1;
	for (uint64_t at = 5; at <= text->bytes; at++) {
		int32_t distance;
		uint64_t to;

		memcpy(&distance, &text->code[at - sizeof(distance)], sizeof(distance));
		to = at + (uint64_t)(int64_t)distance - text->function_at;
		if (to >= first && to <= last && is_long_jump(text->code, at))
			within->is_target[to] = true;
	}
}

/* NULL: the jump may begin there, and is planned. */
static const char *try(struct within *within, uint32_t from)
{
	struct probe_order *order = within->moving.order;
	uint64_t address = order->place - (within->place - from);
	const char *why;

	if (address % BLOCK > BLOCK - PROBE_JUMP_BYTES)
		return "the five bytes of a jump there cross a border of 16 bytes: no one store "
		       "changes them";
	why = moving_take(&within->moving, from, within->place);
	if (why)
		return why;
	if (within->place > from + order->old_bytes ||
	    (within->place == from + order->old_bytes && moving_is_end(&within->moving)))
		return "what is before it leads elsewhere";
	if (within->has_indirect_jump && (order->mark_count || from != within->place))
		return "its function jumps by a table, perhaps to one of the instructions there, "
		       "which are shorter than a jump";
	for (uint32_t at = from + 1; at < from + PROBE_JUMP_BYTES || at <= within->place; at++)
		if (at < room_of(within) && within->is_target[at])
			return "a jump leads to one of the instructions there, which are shorter "
			       "than a jump";
	order->address = address;
	return NULL;
}

/* The best of all; false: there is none. */
static bool choose(struct within *within)
{
	uint32_t first = within->place > BEFORE_MAX ? within->place - BEFORE_MAX : 0;
	uint32_t best = 0, least = PROBE_MARKS_MAX + 1;

	for (uint32_t from = within->place + 1; from-- > first;) {
		const char *why = within->begins[from] ? try(within, from) : "";

		if (from == within->place)
			within->why = why;
		if (why || within->moving.order->mark_count >= least)
			continue;
		best = from;
		least = within->moving.order->mark_count;
	}
	return least <= PROBE_MARKS_MAX && !try(within, best);
}

static const char *plan(struct within *within)
{
	const char *why = read_function(within);

	if (why)
		return why;
	if (!within->begins[within->place])
		return "no instruction of its function begins there";
	read_others(within);
	return choose(within) ? NULL : within->why;
}

const char *probe_plan_within(const struct probe_text_bytes *text, uint32_t place,
			      struct probe_order *order)
{
	struct within within = { .text = text, .place = place };
	const char *why = "there is no memory to read its function";

	if (text->function_bytes > PROBE_CODE_MAX)
		return "its function is too large to be read as a whole";
	moving_begin(&within.moving, text->code + text->function_at, text->function_bytes, order);
	moving_see_padding(&within.moving, text->bytes - text->function_at - text->function_bytes);
	within.begins = calloc(room_of(&within), 1);
	within.is_target = calloc(room_of(&within), 1);
	if (within.begins && within.is_target)
		why = plan(&within);
	order->sight = PROBE_SEES_A_MOMENT;
	free(within.begins);
	free(within.is_target);
	return why;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies instructions. See moving.h.
 */
#include "moving.h"

#include <string.h>

enum {
	LONG_JUMP_BYTES = 5,
	LONG_BRANCH_BYTES = 6,
	NOP = 0x90,
	PADDING_MAX = 15 /* functions begin at multiples of 16 */
};

static const char is_a_call[] = "one of the instructions there is a call";
static const char has_many_distances[] = "the instructions there have too many distances";
static const char is_too_short[] = "it is shorter than the five bytes of a jump";

void moving_begin(struct moving *moving, const uint8_t *code, uint32_t bytes,
		  struct probe_order *order)
{
	*moving = (struct moving){ .code = code, .bytes = bytes, .order = order };
	ZydisDecoderInit(&moving->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool moving_decode(struct moving *moving, uint32_t at)
{
	uint32_t end = moving->bytes + moving->padding;

	return at < end &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&moving->decoder, moving->code + at, end - at,
						   &moving->instruction, moving->operands));
}

void moving_see_padding(struct moving *moving, uint64_t more)
{
	uint32_t room = more < PADDING_MAX ? (uint32_t)more : PADDING_MAX, seen = 0;

	moving->padding = room;
	while (seen < room && moving_decode(moving, moving->bytes + seen) &&
	       moving->instruction.mnemonic == ZYDIS_MNEMONIC_NOP)
		seen += moving->instruction.length;
	moving->padding = seen;
}

bool moving_is_end(const struct moving *moving)
{
	return moving->instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       moving->instruction.meta.category == ZYDIS_CATEGORY_RET ||
	       moving->instruction.mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       moving->instruction.mnemonic == ZYDIS_MNEMONIC_HLT;
}

bool moving_leads_to(const struct moving *moving, uint32_t at, int64_t *to)
{
	for (int i = 0; i < moving->instruction.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &moving->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.is_relative)
			continue;
		*to = (int64_t)at + moving->instruction.length + operand->imm.value.s;
		return true;
	}
	return false;
}

/* At `at` in `moved` the distance from what ends at `end` to `to`, both as if `moved` began where
 * the jump is. */
static bool put_distance(struct probe_order *order, uint32_t at, uint32_t end, int64_t to)
{
	int32_t distance = (int32_t)(to - end);

	if (order->fixup_count == PROBE_FIXUPS_MAX)
		return false;
	memcpy(&order->moved[at], &distance, sizeof(distance));
	order->fixups[order->fixup_count++] = (uint8_t)at;
	return true;
}

static bool is_loop(const struct moving *moving)
{
	switch ((int)moving->instruction.mnemonic) { /* of some 1500 */
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return true;
	default:
		return moving->instruction.meta.category != ZYDIS_CATEGORY_COND_BR ||
		       moving->instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE;
	}
}

static const char *move_branch(struct moving *moving, int64_t to)
{
	struct probe_order *order = moving->order;
	uint8_t *moved = &order->moved[order->moved_bytes];
	bool is_plain = moving->instruction.mnemonic == ZYDIS_MNEMONIC_JMP;
	uint32_t bytes = is_plain ? LONG_JUMP_BYTES : LONG_BRANCH_BYTES;

	if (moving->instruction.meta.category == ZYDIS_CATEGORY_CALL)
		return is_a_call;
	if (!is_plain && is_loop(moving))
		return "one of the instructions there is a loop's";
	if (is_plain) {
		moved[0] = 0xe9;
	} else {
		/* The condition is in the low bits, in both forms. */
		moved[0] = 0x0f;
		moved[1] = (uint8_t)(0x80 | (moving->instruction.opcode & 0xf));
	}
	if (!put_distance(order, order->moved_bytes + bytes - 4, order->moved_bytes + bytes, to))
		return has_many_distances;
	order->moved_bytes = (uint8_t)(order->moved_bytes + bytes);
	return NULL;
}

static const char *move_one(struct moving *moving, uint32_t from, uint32_t at)
{
	struct probe_order *order = moving->order;
	uint32_t length = moving->instruction.length, start = order->moved_bytes;
	int64_t to;

	if (moving_leads_to(moving, at, &to))
		return move_branch(moving, to - from);
	if (moving->instruction.meta.category == ZYDIS_CATEGORY_CALL)
		return is_a_call;
	memcpy(&order->moved[start], moving->code + at, length);
	order->moved_bytes = (uint8_t)(start + length);
	for (int i = 0; i < moving->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &moving->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operand->mem.base != ZYDIS_REGISTER_RIP)
			continue;
		if (!put_distance(order, start + moving->instruction.raw.disp.offset,
				  start + length,
				  (int64_t)at + length + operand->mem.disp.value - from))
			return has_many_distances;
	}
	return NULL;
}

/* Instructions and branches that the room is for: at most four begin within the jump, and the last
 * may have 15 bytes. */
_Static_assert(4 * LONG_BRANCH_BYTES + 15 + PROBE_STUB_BYTES + LONG_JUMP_BYTES <= PROBE_MOVED_BYTES,
	       "all that is moved has room");

static void leave_room(struct probe_order *order)
{
	order->stub_at = order->moved_bytes;
	memset(&order->moved[order->moved_bytes], NOP, PROBE_STUB_BYTES);
	order->moved_bytes = (uint8_t)(order->moved_bytes + PROBE_STUB_BYTES);
}

static void mark(struct probe_order *order, uint32_t old)
{
	order->marks[order->mark_count].old = (uint8_t)old;
	order->marks[order->mark_count++].moved = order->moved_bytes;
}

static const char *jump_back(struct probe_order *order)
{
	order->moved[order->moved_bytes] = 0xe9;
	if (!put_distance(order, order->moved_bytes + 1U, order->moved_bytes + 5U,
			  order->old_bytes))
		return has_many_distances;
	order->moved_bytes = (uint8_t)(order->moved_bytes + LONG_JUMP_BYTES);
	return NULL;
}

const char *moving_take(struct moving *moving, uint32_t from, int64_t stub_at)
{
	struct probe_order *order = moving->order;
	const char *why = NULL;
	uint32_t at = from;

	order->moved_bytes = order->fixup_count = order->mark_count = order->old_bytes = 0;
	while (at < from + PROBE_JUMP_BYTES && !why) {
		if (!moving_decode(moving, at))
			return is_too_short;
		if (at > from)
			mark(order, at - from);
		if (at == stub_at)
			leave_room(order);
		why = move_one(moving, from, at);
		at += moving->instruction.length;
		if (moving_is_end(moving) && at < from + PROBE_JUMP_BYTES && at < moving->bytes)
			return "it ends within the five bytes of a jump";
	}
	if (why)
		return why;
	if (at > moving->bytes + moving->padding)
		return is_too_short;
	if (at == stub_at)
		leave_room(order);
	order->old_bytes = (uint8_t)(at - from);
	memcpy(order->old, moving->code + from, order->old_bytes);
	return jump_back(order);
}

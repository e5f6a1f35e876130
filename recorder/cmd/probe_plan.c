/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the move of a function's first instructions. See probe_plan.h.
 *
 * 1. Whole instructions are copied until the jump has room. Distances are written anew: those to
 *    memory, and those of jumps, which become long ones. What cannot be copied is refused.
 * 2. The whole function is read. A jump to within the first five bytes is refused.
 * 3. For each instruction it is followed how far the stack pointer is below the return address, and
 *    what is read above that is refused: these are parameters, or the caller's own. Where two ways
 *    meet, or the distance is not known, the larger one counts.
 */
#include "probe_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

enum {
	DEPTH_UNKNOWN = -1,
	DEPTH_ANY = 0x7fffff, /* the stack was aligned, or its size is a variable's */
	RETURN_ADDRESS_BYTES = 8,
	LONG_JUMP_BYTES = 5,
	LONG_BRANCH_BYTES = 6,
	PASSES_MAX = 16
};

struct planning {
	const uint8_t *code;
	uint32_t bytes;
	struct probe_order *order;
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	int32_t *depths; /* of the stack at each byte that begins an instruction */
	bool has_frame;  /* rbp is the function's frame */
};

static bool decode(struct planning *plan, uint32_t at)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&plan->decoder, plan->code + at,
						   plan->bytes - at, &plan->instruction,
						   plan->operands));
}

/* --- 1: the move ------------------------------------------------------------------------------ */

static bool is_jump(const struct planning *plan)
{
	return plan->instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool is_end(const struct planning *plan)
{
	return is_jump(plan) || plan->instruction.meta.category == ZYDIS_CATEGORY_RET ||
	       plan->instruction.mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       plan->instruction.mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* Where a relative jump or call leads; false: it is none. */
static bool leads_to(const struct planning *plan, uint32_t at, int64_t *to)
{
	for (int i = 0; i < plan->instruction.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &plan->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.is_relative)
			continue;
		*to = (int64_t)at + plan->instruction.length + operand->imm.value.s;
		return true;
	}
	return false;
}

/* A distance, from what begins at `base` in `moved` and has `bytes`, to `to` in the function. */
static bool put_distance(struct probe_order *order, uint32_t at, uint32_t end, int64_t to)
{
	int32_t distance = (int32_t)(to - end);

	if (order->fixup_count == PROBE_FIXUPS_MAX)
		return false;
	memcpy(&order->moved[at], &distance, sizeof(distance));
	order->fixups[order->fixup_count++] = (uint8_t)at;
	return true;
}

static const char *move_branch(struct planning *plan, int64_t to)
{
	struct probe_order *order = plan->order;
	uint8_t *moved = &order->moved[order->moved_bytes];
	bool is_plain = plan->instruction.mnemonic == ZYDIS_MNEMONIC_JMP;
	uint32_t bytes = is_plain ? LONG_JUMP_BYTES : LONG_BRANCH_BYTES;

	if (plan->instruction.meta.category == ZYDIS_CATEGORY_CALL)
		return "one of its first instructions is a call";
	if (!is_plain && (plan->instruction.meta.category != ZYDIS_CATEGORY_COND_BR ||
			  plan->instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ||
			  plan->instruction.mnemonic == ZYDIS_MNEMONIC_JRCXZ ||
			  plan->instruction.mnemonic == ZYDIS_MNEMONIC_JECXZ ||
			  plan->instruction.mnemonic == ZYDIS_MNEMONIC_LOOP ||
			  plan->instruction.mnemonic == ZYDIS_MNEMONIC_LOOPE ||
			  plan->instruction.mnemonic == ZYDIS_MNEMONIC_LOOPNE))
		return "one of its first instructions is a loop's";
	if (is_plain) {
		moved[0] = 0xe9;
	} else {
		/* The condition is in the low bits, in both forms. */
		moved[0] = 0x0f;
		moved[1] = (uint8_t)(0x80 | (plan->instruction.opcode & 0xf));
	}
	if (!put_distance(order, order->moved_bytes + bytes - 4, order->moved_bytes + bytes, to))
		return "its first instructions have too many distances";
	order->moved_bytes = (uint8_t)(order->moved_bytes + bytes);
	return NULL;
}

static const char *move_one(struct planning *plan, uint32_t at)
{
	struct probe_order *order = plan->order;
	uint32_t length = plan->instruction.length, start = order->moved_bytes;
	int64_t to;

	if (leads_to(plan, at, &to))
		return move_branch(plan, to);
	if (plan->instruction.meta.category == ZYDIS_CATEGORY_CALL)
		return "one of its first instructions is a call";
	memcpy(&order->moved[start], plan->code + at, length);
	order->moved_bytes = (uint8_t)(start + length);
	for (int i = 0; i < plan->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &plan->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operand->mem.base != ZYDIS_REGISTER_RIP)
			continue;
		if (!put_distance(order, start + plan->instruction.raw.disp.offset, start + length,
				  (int64_t)at + length + operand->mem.disp.value))
			return "its first instructions have too many distances";
	}
	return NULL;
}

static const char *move(struct planning *plan)
{
	struct probe_order *order = plan->order;
	const char *why = NULL;
	uint32_t at = 0;

	while (at < PROBE_JUMP_BYTES && !why) {
		if (at >= plan->bytes || !decode(plan, at))
			return "it is shorter than the five bytes of a jump";
		if (at > 0) {
			order->marks[order->mark_count].old = (uint8_t)at;
			order->marks[order->mark_count++].moved = order->moved_bytes;
		}
		why = move_one(plan, at);
		at += plan->instruction.length;
		if (is_end(plan) && at < PROBE_JUMP_BYTES && at < plan->bytes)
			return "it ends within the five bytes of a jump";
	}
	if (why)
		return why;
	if (at > plan->bytes)
		return "it is shorter than the five bytes of a jump";
	order->old_bytes = (uint8_t)at;
	memcpy(order->old, plan->code, at);
	order->moved[order->moved_bytes] = 0xe9;
	if (!put_distance(order, order->moved_bytes + 1U, order->moved_bytes + 5U, at))
		return "its first instructions have too many distances";
	order->moved_bytes = (uint8_t)(order->moved_bytes + 5);
	return NULL;
}

/* --- 2 and 3: the whole function -------------------------------------------------------------- */

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == wanted;
}

static bool writes_sp(const struct planning *plan)
{
	for (int i = 0; i < plan->instruction.operand_count; i++)
		if (is_register(&plan->operands[i], ZYDIS_REGISTER_RSP) &&
		    plan->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	return false;
}

/* Of the stack behind the instruction, where it was `depth` before. */
static int32_t depth_after(const struct planning *plan, int32_t depth)
{
	const ZydisDecodedOperand *operands = plan->operands;

	if (depth == DEPTH_UNKNOWN)
		return depth;
	switch ((int)plan->instruction.mnemonic) { /* of some 1500 */
	case ZYDIS_MNEMONIC_PUSH:
		return depth + 8;
	case ZYDIS_MNEMONIC_POP:
		return is_register(&operands[0], ZYDIS_REGISTER_RSP) ? DEPTH_ANY : depth - 8;
	case ZYDIS_MNEMONIC_LEAVE:
		return 0;
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		return depth;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (!is_register(&operands[0], ZYDIS_REGISTER_RSP))
			return depth;
		if (operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return DEPTH_ANY;
		return plan->instruction.mnemonic == ZYDIS_MNEMONIC_SUB
			       ? depth + (int32_t)operands[1].imm.value.s
			       : depth - (int32_t)operands[1].imm.value.s;
	case ZYDIS_MNEMONIC_LEA:
		if (is_register(&operands[0], ZYDIS_REGISTER_RSP) &&
		    operands[1].mem.base == ZYDIS_REGISTER_RSP &&
		    operands[1].mem.index == ZYDIS_REGISTER_NONE)
			return depth - (int32_t)operands[1].mem.disp.value;
		break;
	default:
		break;
	}
	return writes_sp(plan) ? DEPTH_ANY : depth;
}

/* Whether the depth at a place is larger than was known. */
static bool reach(struct planning *plan, int64_t at, int32_t depth)
{
	if (at < 0 || at >= plan->bytes || depth == DEPTH_UNKNOWN || depth > DEPTH_ANY ||
	    plan->depths[at] >= depth)
		return false;
	/* It only grows by pushes in a loop: then it is a variable's. */
	plan->depths[at] = depth;
	return true;
}

static const char *follow(struct planning *plan, bool *has_changed)
{
	*has_changed = false;
	for (uint32_t at = 0; at < plan->bytes; at += plan->instruction.length) {
		int32_t depth;
		int64_t to;

		if (!decode(plan, at))
			return "its code has bytes that are no instruction";
		depth = depth_after(plan, plan->depths[at]);
		if (plan->instruction.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    is_register(&plan->operands[0], ZYDIS_REGISTER_RBP) &&
		    is_register(&plan->operands[1], ZYDIS_REGISTER_RSP))
			plan->has_frame = true;
		if (leads_to(plan, at, &to)) {
			bool is_call = plan->instruction.meta.category == ZYDIS_CATEGORY_CALL;

			/* To its first byte would be a call from nowhere: a loop would nest. */
			if (to >= is_call && to < PROBE_JUMP_BYTES)
				return "a jump leads to within its first five bytes";
			if (!is_call && reach(plan, to, depth))
				*has_changed = true;
		}
		if (!is_end(plan) && reach(plan, at + plan->instruction.length, depth))
			*has_changed = true;
	}
	return NULL;
}

/* Whether it reads above its return address. */
static bool is_above(const struct planning *plan, const ZydisDecodedOperand *operand, int32_t depth)
{
	int64_t distance = operand->mem.disp.value;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	if (operand->mem.base == ZYDIS_REGISTER_RBP && plan->has_frame)
		return distance >= 2 * RETURN_ADDRESS_BYTES;
	return operand->mem.base == ZYDIS_REGISTER_RSP && depth != DEPTH_UNKNOWN &&
	       distance >= (int64_t)depth;
}

static const char *look_at_stack(struct planning *plan)
{
	for (uint32_t at = 0; at < plan->bytes; at += plan->instruction.length) {
		if (!decode(plan, at))
			return "its code has bytes that are no instruction";
		if (plan->instruction.mnemonic == ZYDIS_MNEMONIC_NOP)
			continue;
		for (int i = 0; i < plan->instruction.operand_count_visible; i++)
			if (is_above(plan, &plan->operands[i], plan->depths[at]))
				return "it reads parameters, or its return address, from the "
				       "stack";
	}
	return NULL;
}

static const char *read_function(struct planning *plan)
{
	const char *why = NULL;
	bool has_changed = true;

	for (uint32_t i = 0; i < plan->bytes; i++)
		plan->depths[i] = DEPTH_UNKNOWN;
	plan->depths[0] = 0;
	for (int pass = 0; pass < PASSES_MAX && has_changed && !why; pass++)
		why = follow(plan, &has_changed);
	return why ? why : look_at_stack(plan);
}

const char *probe_plan(const uint8_t *code, uint32_t bytes, struct probe_order *order)
{
	struct planning plan = { .code = code, .bytes = bytes, .order = order };
	const char *why;

	order->moved_bytes = order->fixup_count = order->mark_count = order->old_bytes = 0;
	if (bytes > PROBE_CODE_MAX)
		return "it is too large to be read as a whole";
	ZydisDecoderInit(&plan.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	plan.depths = malloc(bytes * sizeof(*plan.depths));
	if (!plan.depths)
		return "there is no memory to read it";
	why = move(&plan);
	if (!why)
		why = read_function(&plan);
	free(plan.depths);
	return why;
}

/* --- What is known without code --------------------------------------------------------------- */

/* They return twice, or elsewhere, or look at their caller. */
static const char *const refused_names[] = { "setjmp",       "_setjmp",
					     "__sigsetjmp",  "sigsetjmp",
					     "vfork",        "__vfork",
					     "getcontext",   "swapcontext",
					     "makecontext",  "setcontext",
					     "longjmp",      "_longjmp",
					     "siglongjmp",   "__longjmp_chk",
					     "dlsym",        "dlvsym",
					     "dlopen",       "dlmopen",
					     "dladdr",       "__tls_get_addr",
					     "__restore_rt", "_start",
					     "clone",        "__clone",
					     "syscall",      "_dl_catch_exception" };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *probe_plan_place(const struct probe_place *place)
{
	static const char *const files[] = { "ld-linux", "libunwind", "libgcc_s", "linux-vdso",
					     "[vdso]" };
	const char *file = base_name(place->module->path);

	if (place->kind != PROBE_AT_ENTRY)
		return "only whole functions can be probed";
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strncmp(file, files[i], strlen(files[i])) == 0)
			return "its file is the loader's or an unwinder's";
	for (size_t i = 0; i < sizeof(refused_names) / sizeof(refused_names[0]); i++)
		if (strcmp(place->function, refused_names[i]) == 0)
			return "it returns elsewhere, or looks at its caller";
	if (place->high <= place->low)
		return "its size is not known";
	if (place->has_debug_info && place->takes_stack_parameters)
		return "it takes parameters on the stack";
	if (place->has_debug_info && place->is_variadic)
		return "it takes a variable number of arguments";
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the move of a function's first instructions. See probe_plan.h.
 *
 * 1. Whole instructions are copied until the jump has room (moving.h).
 * 2. The whole function is read. A jump to within the first five bytes is refused.
 * 3. For each instruction it is followed how far the stack pointer is below the return address, and
 *    what is read above that is refused: these are parameters, or the caller's own. Where two ways
 *    meet, or the distance is not known, the larger one counts.
 */
#include "probe_plan.h"

#include <stdlib.h>
#include <string.h>

#include "moving.h"

enum {
	DEPTH_UNKNOWN = -1,
	DEPTH_ANY = 0x7fffff, /* the stack was aligned, or its size is a variable's */
	RETURN_ADDRESS_BYTES = 8,
	PASSES_MAX = 16
};

struct planning {
	struct moving moving;
	int32_t *depths; /* of the stack at each byte that begins an instruction */
	bool has_frame;  /* rbp is the function's frame */
};

/* --- 2 and 3: the whole function -------------------------------------------------------------- */

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == wanted;
}

static bool writes_sp(const struct planning *plan)
{
	for (int i = 0; i < plan->moving.instruction.operand_count; i++)
		if (is_register(&plan->moving.operands[i], ZYDIS_REGISTER_RSP) &&
		    plan->moving.operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	return false;
}

/* Of the stack behind the instruction, where it was `depth` before. */
static int32_t depth_after(const struct planning *plan, int32_t depth)
{
	const ZydisDecodedOperand *operands = plan->moving.operands;

	if (depth == DEPTH_UNKNOWN)
		return depth;
	switch ((int)plan->moving.instruction.mnemonic) { /* of some 1500 */
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
		return plan->moving.instruction.mnemonic == ZYDIS_MNEMONIC_SUB
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
	if (at < 0 || at >= plan->moving.bytes || depth == DEPTH_UNKNOWN || depth > DEPTH_ANY ||
	    plan->depths[at] >= depth)
		return false;
	/* It only grows by pushes in a loop: then it is a variable's. */
	plan->depths[at] = depth;
	return true;
}

static const char *follow(struct planning *plan, bool *has_changed)
{
	*has_changed = false;
	for (uint32_t at = 0; at < plan->moving.bytes; at += plan->moving.instruction.length) {
		int32_t depth;
		int64_t to;

		if (!moving_decode(&plan->moving, at))
			return "its code has bytes that are no instruction";
		depth = depth_after(plan, plan->depths[at]);
		if (plan->moving.instruction.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    is_register(&plan->moving.operands[0], ZYDIS_REGISTER_RBP) &&
		    is_register(&plan->moving.operands[1], ZYDIS_REGISTER_RSP))
			plan->has_frame = true;
		if (moving_leads_to(&plan->moving, at, &to)) {
			bool is_call =
				plan->moving.instruction.meta.category == ZYDIS_CATEGORY_CALL;

			/* To its first byte would be a call from nowhere: a loop would nest. */
			if (to >= is_call && to < PROBE_JUMP_BYTES)
				return "a jump leads to within its first five bytes";
			if (!is_call && reach(plan, to, depth))
				*has_changed = true;
		}
		if (!moving_is_end(&plan->moving) &&
		    reach(plan, at + plan->moving.instruction.length, depth))
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
	for (uint32_t at = 0; at < plan->moving.bytes; at += plan->moving.instruction.length) {
		if (!moving_decode(&plan->moving, at))
			return "its code has bytes that are no instruction";
		if (plan->moving.instruction.mnemonic == ZYDIS_MNEMONIC_NOP)
			continue;
		for (int i = 0; i < plan->moving.instruction.operand_count_visible; i++)
			if (is_above(plan, &plan->moving.operands[i], plan->depths[at]))
				return "it reads parameters, or its return address, from the "
				       "stack";
	}
	return NULL;
}

static const char *read_function(struct planning *plan)
{
	const char *why = NULL;
	bool has_changed = true;

	for (uint32_t i = 0; i < plan->moving.bytes; i++)
		plan->depths[i] = DEPTH_UNKNOWN;
	plan->depths[0] = 0;
	for (int pass = 0; pass < PASSES_MAX && has_changed && !why; pass++)
		why = follow(plan, &has_changed);
	return why ? why : look_at_stack(plan);
}

const char *probe_plan(const uint8_t *code, uint32_t bytes, struct probe_order *order)
{
	struct planning plan = { .has_frame = false };
	const char *why;

	if (bytes > PROBE_CODE_MAX)
		return "it is too large to be read as a whole";
	moving_begin(&plan.moving, code, bytes, order);
	order->sight = PROBE_SEES_CALLS;
	plan.depths = malloc(bytes * sizeof(*plan.depths));
	if (!plan.depths)
		return "there is no memory to read it";
	why = moving_take(&plan.moving, 0, -1);
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

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strncmp(file, files[i], strlen(files[i])) == 0)
			return "its file is the loader's or an unwinder's";
	if (place->high <= place->low)
		return place->kind == PROBE_AT_ENTRY ? "its size is not known"
						     : "its function is not known";
	if (place->kind != PROBE_AT_ENTRY)
		return NULL;
	for (size_t i = 0; i < sizeof(refused_names) / sizeof(refused_names[0]); i++)
		if (strcmp(place->function, refused_names[i]) == 0)
			return "it returns elsewhere, or looks at its caller";
	if (place->has_debug_info && place->takes_stack_parameters)
		return "it takes parameters on the stack";
	if (place->has_debug_info && place->is_variadic)
		return "it takes a variable number of arguments";
	return NULL;
}

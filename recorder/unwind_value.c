/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of unwind tables. See unwind_value.h.
 *
 * A machine with a stack, as DWARF has it. Numbers are reckoned with; of other values only a sum
 * with a number, or a difference, is known.
 */
#include "unwind_value.h"

#include <string.h>

#include "in_target.h"

enum { DEPTH_MAX = 16, STEPS_MAX = 256 };

enum operation {
	OP_ADDRESS = 0x03,
	OP_READ = 0x06,
	OP_NUMBERS = 0x08, /* of 1, 2, 4 and 8 bytes, each without and with a sign */
	OP_ULEB = 0x10,
	OP_SLEB = 0x11,
	OP_DUPLICATE = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MULTIPLY = 0x1e,
	OP_NEGATE = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_NUMBER = 0x23,
	OP_LEFT = 0x24,
	OP_RIGHT = 0x25,
	OP_RIGHT_SIGNED = 0x26,
	OP_XOR = 0x27,
	OP_BRANCH = 0x28,
	OP_EQUAL = 0x29,
	OP_UNEQUAL = 0x2e,
	OP_SKIP = 0x2f,
	OP_LITERALS = 0x30,
	OP_REGISTERS = 0x70, /* each + a number */
	OP_REGISTERS_END = 0x8f,
	OP_REGISTER = 0x92,
	OP_NOTHING = 0x96
};

struct machine {
	struct unwind_bytes code;
	const uint8_t *begin;
	uint64_t pc;
	uint32_t depth;
	struct unwind_value stack[DEPTH_MAX];
};

enum unwind_register unwind_register_of(uint64_t number)
{
	static const uint8_t registers[] = {
		[3] = 1 + UNWIND_RBX,  [6] = 1 + UNWIND_RBP,  [7] = 1 + UNWIND_SP,
		[12] = 1 + UNWIND_R12, [13] = 1 + UNWIND_R13, [14] = 1 + UNWIND_R14,
		[15] = 1 + UNWIND_R15, [16] = 1 + UNWIND_PC
	};

	if (number >= sizeof(registers) || registers[number] == 0)
		return UNWIND_REGISTER_COUNT;
	return (enum unwind_register)(registers[number] - 1);
}

static struct unwind_value value_of_number(uint64_t number)
{
	return (struct unwind_value){ .kind = VALUE_NUMBER, .plus = (int64_t)number };
}

struct unwind_value unwind_value_of(uint64_t number, uint64_t pc)
{
	enum unwind_register base = unwind_register_of(number);

	if (base == UNWIND_PC)
		return value_of_number(pc);
	if (base == UNWIND_REGISTER_COUNT)
		return (struct unwind_value){ .kind = VALUE_UNKNOWN };
	return (struct unwind_value){ .kind = VALUE_REGISTER, .base = base };
}

/* --- The stack ------------------------------------------------------------------------------- */

static void push(struct machine *machine, struct unwind_value value)
{
	if (machine->depth == DEPTH_MAX)
		machine->code.has_failed = true;
	else
		machine->stack[machine->depth++] = value;
}

/* The value so far below the top. */
static struct unwind_value peek(struct machine *machine, uint64_t below)
{
	if (below < machine->depth)
		return machine->stack[machine->depth - 1 - below];
	machine->code.has_failed = true;
	return value_of_number(0);
}

static struct unwind_value pop(struct machine *machine)
{
	struct unwind_value value = peek(machine, 0);

	machine->depth -= machine->depth > 0;
	return value;
}

/* --- Operations ------------------------------------------------------------------------------ */

static bool compare(uint8_t operation, int64_t a, int64_t b)
{
	switch (operation - OP_EQUAL) {
	case 0:
		return a == b;
	case 1:
		return a >= b;
	case 2:
		return a > b;
	case 3:
		return a <= b;
	case 4:
		return a < b;
	default:
		return a != b;
	}
}

static uint64_t reckon(struct machine *machine, uint8_t operation, uint64_t a, uint64_t b)
{
	if (operation >= OP_EQUAL && operation <= OP_UNEQUAL)
		return compare(operation, (int64_t)a, (int64_t)b);
	switch (operation) {
	case OP_AND:
		return a & b;
	case OP_MULTIPLY:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_LEFT:
		return b < 64 ? a << b : 0;
	case OP_RIGHT:
		return b < 64 ? a >> b : 0;
	case OP_RIGHT_SIGNED:
		return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	default:
		machine->code.has_failed = true;
		return 0;
	}
}

/* Of two values, the upper one's is `b`. */
static void combine(struct machine *machine, uint8_t operation)
{
	struct unwind_value b = pop(machine), a = pop(machine);

	if (operation == OP_PLUS && a.kind == VALUE_NUMBER)
		push(machine, value_plus(b, a.plus));
	else if (operation == OP_PLUS && b.kind == VALUE_NUMBER)
		push(machine, value_plus(a, b.plus));
	else if (operation == OP_MINUS && b.kind == VALUE_NUMBER)
		push(machine, value_plus(a, (int64_t)(0 - (uint64_t)b.plus)));
	else if (operation != OP_PLUS && operation != OP_MINUS && a.kind == VALUE_NUMBER &&
		 b.kind == VALUE_NUMBER)
		push(machine, value_of_number(reckon(machine, operation, (uint64_t)a.plus,
						     (uint64_t)b.plus)));
	else
		push(machine, (struct unwind_value){ .kind = VALUE_UNKNOWN });
}

static void change(struct machine *machine, uint8_t operation)
{
	struct unwind_value value = pop(machine);

	if (value.kind != VALUE_NUMBER)
		value.kind = VALUE_UNKNOWN;
	else if (operation == OP_NOT)
		value.plus = ~value.plus;
	else
		value.plus = (int64_t)(0 - (uint64_t)value.plus);
	push(machine, value);
}

static void jump(struct machine *machine, bool is_taken)
{
	int64_t by = bytes_signed(&machine->code, 2);
	struct unwind_bytes *code = &machine->code;

	if (!is_taken || code->has_failed)
		return;
	if (by < machine->begin - code->at || by > code->end - code->at)
		code->has_failed = true;
	else
		code->at += by;
}

static void branch(struct machine *machine)
{
	struct unwind_value value = pop(machine);

	/* Either way may be gone. */
	if (value.kind != VALUE_NUMBER)
		machine->code.has_failed = true;
	jump(machine, value.plus != 0);
}

static void swap(struct machine *machine)
{
	struct unwind_value upper = pop(machine), lower = pop(machine);

	push(machine, upper);
	push(machine, lower);
}

static void push_number(struct machine *machine, uint8_t operation)
{
	unsigned size = 1U << (operation - OP_NUMBERS) / 2;

	push(machine, value_of_number((operation - OP_NUMBERS) % 2
					      ? (uint64_t)bytes_signed(&machine->code, size)
					      : bytes_number(&machine->code, size)));
}

static void push_register(struct machine *machine, uint64_t number)
{
	push(machine, value_plus(unwind_value_of(number, machine->pc), bytes_sleb(&machine->code)));
}

static void run_rare(struct machine *machine, uint8_t operation)
{
	switch (operation) {
	case OP_DUPLICATE:
		push(machine, peek(machine, 0));
		break;
	case OP_DROP:
		(void)pop(machine);
		break;
	case OP_OVER:
		push(machine, peek(machine, 1));
		break;
	case OP_PICK:
		push(machine, peek(machine, bytes_number(&machine->code, 1)));
		break;
	case OP_SWAP:
		swap(machine);
		break;
	case OP_NEGATE:
	case OP_NOT:
		change(machine, operation);
		break;
	case OP_BRANCH:
		branch(machine);
		break;
	case OP_SKIP:
		jump(machine, true);
		break;
	case OP_NOTHING:
		break;
	default:
		combine(machine, operation);
	}
}

static void run(struct machine *machine, uint8_t operation)
{
	struct unwind_bytes *code = &machine->code;

	if (operation >= OP_REGISTERS && operation <= OP_REGISTERS_END)
		push_register(machine, operation - OP_REGISTERS);
	else if (operation >= OP_LITERALS && operation < OP_LITERALS + 32)
		push(machine, value_of_number((uint64_t)operation - OP_LITERALS));
	else if (operation >= OP_NUMBERS && operation < OP_ULEB)
		push_number(machine, operation);
	else if (operation == OP_ADDRESS)
		push(machine, value_of_number(bytes_number(code, 8)));
	else if (operation == OP_ULEB)
		push(machine, value_of_number(bytes_uleb(code)));
	else if (operation == OP_SLEB)
		push(machine, value_of_number((uint64_t)bytes_sleb(code)));
	else if (operation == OP_REGISTER)
		push_register(machine, bytes_uleb(code));
	else if (operation == OP_READ)
		push(machine, value_read(pop(machine)));
	else if (operation == OP_PLUS_NUMBER)
		push(machine, value_plus(pop(machine), (int64_t)bytes_uleb(code)));
	else
		run_rare(machine, operation);
}

bool unwind_evaluate(struct unwind_bytes expression, uint64_t pc, const struct unwind_value *first,
		     struct unwind_value *result)
{
	struct machine machine = { .code = expression, .begin = expression.at, .pc = pc };

	if (first)
		push(&machine, *first);
	for (uint32_t steps = 0; bytes_are_left(&machine.code); steps++) {
		if (steps == STEPS_MAX)
			return false;
		run(&machine, (uint8_t)bytes_number(&machine.code, 1));
	}
	*result = pop(&machine);
	return !machine.code.has_failed;
}

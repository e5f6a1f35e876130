/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises loops that only look; spinloop.h has the contract.
 *
 * Method. From the instruction on, code is decoded up to a jump back to it or before it. From the
 * target of that jump on the whole loop is decoded. Only instructions of such loops are known:
 * loads, comparisons, tests, moves between registers and to the function's own frame, counting,
 * jumps and pause. The atomic exchange of a lock that is tried is known, too. Any other instruction
 * makes it work, and no waiting.
 *
 * Then the data is followed through a round. A register has its value from before the loop, from
 * memory that the loop leaves alone, loaded in this round, or from the last round. An address of
 * the last sort walks (through a string, a list), and that is work. A loop waits if a jump of it
 * depends on nothing but the second sort: no round changes that, so another thread does. A loop
 * that counts depends on the last one. A loop with a pause in it always waits.
 */
#include "spinloop.h"

#include <string.h>

enum {
	REGISTERS = 16,
	REGISTER_NONE = 0xff,
	REGISTER_STACK = 4,
	REGISTER_FRAME = 5,
	INSTRUCTIONS_MAX = 48,
	SLOTS_MAX = 8
};

/* Properties of an opcode. */
enum {
	HAS_MODRM = 1,
	HAS_BYTE = 2,        /* an immediate of 8 bits */
	HAS_WORD = 4,        /* of 32, or 16 with a prefix */
	WRITES_REGISTER = 8, /* the one of the reg field */
	WRITES_OPERAND = 16, /* the one of the r/m field */
	COPIES = 32,         /* the value written is the one read; else it computes */
	ADDRESS_ONLY = 64,   /* reads no memory */
	IN_FRAME_ONLY = 128, /* the operand is a register, or memory of the own frame */
	FROM_FLAGS = 256,    /* writes what was tested last */
	EXCHANGES = 512,     /* with memory, atomically: a lock that is tried */
	NO_REGISTER = 1024,  /* of the reg field */
	TO_FIRST = 2048,     /* writes the first register (rax) */
	FROM_FIRST = 4096    /* copies it */
};

struct opcode_row {
	uint8_t from;
	uint8_t to;
	uint8_t extensions; /* of the reg field: a bit each, 0 = it is a register */
	uint16_t flags;
};

static const struct opcode_row one_byte[] = {
	/* add, or, and, sub, xor: with a register, from one, with a number */
	{ 0x01, 0x01, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x03, 0x03, 0, HAS_MODRM | WRITES_REGISTER },
	{ 0x09, 0x09, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x0b, 0x0b, 0, HAS_MODRM | WRITES_REGISTER },
	{ 0x21, 0x21, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x23, 0x23, 0, HAS_MODRM | WRITES_REGISTER },
	{ 0x29, 0x29, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x2b, 0x2b, 0, HAS_MODRM | WRITES_REGISTER },
	{ 0x31, 0x31, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x81, 0x81, 0x33, HAS_MODRM | HAS_WORD | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0x83, 0x83, 0x33, HAS_MODRM | HAS_BYTE | WRITES_OPERAND | IN_FRAME_ONLY },
	{ 0xfe, 0xff, 0x3, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY }, /* inc, dec */
	{ 0x04, 0x04, 0, HAS_BYTE | TO_FIRST }, /* the same, to the first register */
	{ 0x05, 0x05, 0, HAS_WORD | TO_FIRST },
	{ 0x0c, 0x0c, 0, HAS_BYTE | TO_FIRST },
	{ 0x0d, 0x0d, 0, HAS_WORD | TO_FIRST },
	{ 0x24, 0x24, 0, HAS_BYTE | TO_FIRST },
	{ 0x25, 0x25, 0, HAS_WORD | TO_FIRST },
	{ 0x2c, 0x2c, 0, HAS_BYTE | TO_FIRST },
	{ 0x2d, 0x2d, 0, HAS_WORD | TO_FIRST },
	{ 0x34, 0x34, 0, HAS_BYTE | TO_FIRST },
	{ 0x35, 0x35, 0, HAS_WORD | TO_FIRST },
	{ 0x98, 0x98, 0, TO_FIRST | COPIES | FROM_FIRST }, /* sign extension */
	{ 0x38, 0x3b, 0, HAS_MODRM },                      /* cmp */
	{ 0x3c, 0x3c, 0, HAS_BYTE },
	{ 0x3d, 0x3d, 0, HAS_WORD },
	{ 0x80, 0x80, 1 << 7, HAS_MODRM | HAS_BYTE },
	{ 0x81, 0x81, 1 << 7, HAS_MODRM | HAS_WORD },
	{ 0x83, 0x83, 1 << 7, HAS_MODRM | HAS_BYTE },
	{ 0x84, 0x85, 0, HAS_MODRM }, /* test */
	{ 0xa8, 0xa8, 0, HAS_BYTE },
	{ 0xa9, 0xa9, 0, HAS_WORD },
	{ 0xf6, 0xf6, 1 << 0, HAS_MODRM | HAS_BYTE },
	{ 0xf7, 0xf7, 1 << 0, HAS_MODRM | HAS_WORD },
	{ 0x8a, 0x8b, 0, HAS_MODRM | WRITES_REGISTER | COPIES }, /* mov */
	{ 0x88, 0x89, 0, HAS_MODRM | WRITES_OPERAND | COPIES | IN_FRAME_ONLY },
	{ 0x63, 0x63, 0, HAS_MODRM | WRITES_REGISTER | COPIES },
	{ 0xb8, 0xbf, 0, HAS_WORD | COPIES }, /* of a number, to the opcode's register */
	{ 0xc6, 0xc6, 1 << 0, HAS_MODRM | HAS_BYTE | WRITES_OPERAND | COPIES | IN_FRAME_ONLY },
	{ 0xc7, 0xc7, 1 << 0, HAS_MODRM | HAS_WORD | WRITES_OPERAND | COPIES | IN_FRAME_ONLY },
	{ 0x8d, 0x8d, 0, HAS_MODRM | WRITES_REGISTER | COPIES | ADDRESS_ONLY },
	{ 0x86, 0x87, 0, HAS_MODRM | WRITES_REGISTER | EXCHANGES }, /* xchg */
	{ 0x90, 0x90, 0, 0 },
};

/* After 0x0f. */
static const struct opcode_row two_bytes[] = {
	{ 0xb6, 0xb7, 0, HAS_MODRM | WRITES_REGISTER | COPIES }, /* movzx */
	{ 0xbe, 0xbf, 0, HAS_MODRM | WRITES_REGISTER | COPIES }, /* movsx */
	{ 0x90, 0x9f, 0, HAS_MODRM | WRITES_OPERAND | IN_FRAME_ONLY | FROM_FLAGS | NO_REGISTER },
	{ 0xba, 0xba, 1 << 4, HAS_MODRM | HAS_BYTE }, /* bt */
	{ 0xa3, 0xa3, 0, HAS_MODRM },
	{ 0xb0, 0xb1, 0, HAS_MODRM | EXCHANGES },                  /* cmpxchg */
	{ 0x1f, 0x1f, 0, HAS_MODRM | ADDRESS_ONLY | NO_REGISTER }, /* nop */
};

struct instruction {
	size_t bytes;
	uint16_t flags;
	bool is_pause;
	bool is_jump;
	bool is_conditional;
	int32_t jump;    /* from its end */
	bool has_memory; /* the operand is memory */
	bool is_slot;    /* of the function's frame */
	bool is_cleared; /* by an operation with itself: xor, sub */
	int32_t offset;  /* of the slot */
	uint8_t base;    /* registers of the address; REGISTER_NONE */
	uint8_t index;
	uint8_t operand; /* the r/m register, if it is no memory */
	uint8_t written; /* register; REGISTER_NONE */
	uint8_t reg;     /* of the reg field, if it is a register */
};

/* The bytes of one instruction as they are taken. */
struct cursor {
	const uint8_t *code;
	bool has_frame; /* pointed to by the frame register */
	size_t bytes;
	size_t at;
	bool is_short; /* there were not enough */
};

static uint8_t next_byte(struct cursor *cursor)
{
	if (cursor->at >= cursor->bytes) {
		cursor->is_short = true;
		return 0;
	}
	return cursor->code[cursor->at++];
}

static int32_t next_number(struct cursor *cursor, size_t bytes)
{
	uint32_t number = 0;

	for (size_t i = 0; i < bytes; i++)
		number |= (uint32_t)next_byte(cursor) << 8 * i;
	return bytes == 1 ? (int8_t)number : (int32_t)number;
}

/* The prefixes before an opcode. */
struct prefixes {
	bool has_16_bits; /* 0x66 */
	bool repeats;     /* 0xf3 */
	uint8_t rex;
};

static uint8_t prefixes_take(struct cursor *cursor, struct prefixes *prefixes)
{
	uint8_t byte = next_byte(cursor);

	for (; byte == 0x66 || byte == 0xf0 || byte == 0xf3; byte = next_byte(cursor)) {
		prefixes->has_16_bits = prefixes->has_16_bits || byte == 0x66;
		prefixes->repeats = prefixes->repeats || byte == 0xf3;
	}
	if ((byte & 0xf0) == 0x40) {
		prefixes->rex = byte;
		byte = next_byte(cursor);
	}
	return byte;
}

static void memory_take(struct cursor *cursor, uint8_t modrm, uint8_t rex,
			struct instruction *instruction)
{
	uint8_t mode = modrm >> 6, base = modrm & 7;
	bool has_sib = base == 4;

	instruction->has_memory = true;
	if (has_sib) {
		uint8_t sib = next_byte(cursor);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (rex & 2) << 2);

		base = sib & 7;
		instruction->index = index == 4 ? REGISTER_NONE : index;
	}
	bool has_base = mode != 0 || base != 5; /* else relative to the code, or absolute */
	instruction->base = has_base ? (uint8_t)(base | (rex & 1) << 3) : REGISTER_NONE;
	instruction->offset = mode == 1                ? next_number(cursor, 1)
			      : mode == 2 || !has_base ? next_number(cursor, 4)
						       : 0;
	instruction->is_slot = instruction->index == REGISTER_NONE &&
			       (instruction->base == REGISTER_STACK ||
				(instruction->base == REGISTER_FRAME && cursor->has_frame));
}

/* False: it is none of those that this row is for. */
static bool operands_take(struct cursor *cursor, const struct opcode_row *row,
			  const struct prefixes *prefixes, struct instruction *instruction)
{
	if (row->flags & HAS_MODRM) {
		uint8_t modrm = next_byte(cursor);

		if (!row->extensions && !(row->flags & NO_REGISTER))
			instruction->reg = (uint8_t)((modrm >> 3 & 7) | (prefixes->rex & 4) << 1);
		if (row->extensions && !(row->extensions >> (modrm >> 3 & 7) & 1))
			return false;
		if (modrm >> 6 != 3)
			memory_take(cursor, modrm, prefixes->rex, instruction);
		else
			instruction->operand = (uint8_t)((modrm & 7) | (prefixes->rex & 1) << 3);
	}
	if (row->flags & HAS_BYTE)
		next_number(cursor, 1);
	if (row->flags & HAS_WORD)
		next_number(cursor, prefixes->has_16_bits ? 2 : 4);
	if (row->flags & IN_FRAME_ONLY && instruction->has_memory && !instruction->is_slot)
		return false;
	instruction->flags = row->flags;
	if (row->flags & TO_FIRST)
		instruction->written = 0;
	if (row->flags & WRITES_REGISTER)
		instruction->written = instruction->reg;
	if (row->flags & WRITES_OPERAND && !instruction->has_memory)
		instruction->written = instruction->operand;
	return !cursor->is_short;
}

static bool row_take(struct cursor *cursor, const struct opcode_row *rows, size_t count,
		     uint8_t opcode, const struct prefixes *prefixes,
		     struct instruction *instruction)
{
	for (size_t i = 0; i < count; i++) {
		struct cursor after = *cursor;
		struct instruction taken = *instruction;

		if (opcode < rows[i].from || opcode > rows[i].to ||
		    !operands_take(&after, &rows[i], prefixes, &taken))
			continue;
		*cursor = after;
		*instruction = taken;
		return true;
	}
	return false;
}

static bool jump_take(struct cursor *cursor, uint8_t opcode, bool is_long,
		      struct instruction *instruction)
{
	bool is_conditional = (opcode & 0xf0) == (is_long ? 0x80 : 0x70);

	if (!is_conditional && (is_long || (opcode != 0xeb && opcode != 0xe9)))
		return false;
	instruction->is_jump = true;
	instruction->is_conditional = is_conditional;
	instruction->jump = next_number(cursor, is_long || opcode == 0xe9 ? 4 : 1);
	return !cursor->is_short;
}

/* False: it is none that a loop which only looks is made of. */
static bool decode(struct cursor cursor, size_t bytes, size_t at, struct instruction *instruction)
{
	cursor.bytes = bytes;
	cursor.at = at;
	struct prefixes prefixes = { .rex = 0 };
	uint8_t opcode = prefixes_take(&cursor, &prefixes);
	bool is_known;

	*instruction = (struct instruction){ .base = REGISTER_NONE,
					     .index = REGISTER_NONE,
					     .operand = REGISTER_NONE,
					     .written = REGISTER_NONE,
					     .reg = REGISTER_NONE };
	if (opcode == 0x0f) {
		opcode = next_byte(&cursor);
		is_known = jump_take(&cursor, opcode, true, instruction) ||
			   row_take(&cursor, two_bytes, sizeof(two_bytes) / sizeof(two_bytes[0]),
				    opcode, &prefixes, instruction);
	} else {
		instruction->is_cleared = opcode == 0x31 || opcode == 0x29 || opcode == 0x2b;
		is_known = jump_take(&cursor, opcode, false, instruction) ||
			   row_take(&cursor, one_byte, sizeof(one_byte) / sizeof(one_byte[0]),
				    opcode, &prefixes, instruction);
		instruction->is_pause = opcode == 0x90 && prefixes.repeats;
		if (opcode >= 0xb8 && opcode <= 0xbf)
			instruction->written = (uint8_t)((opcode & 7) | (prefixes.rex & 1) << 3);
	}
	instruction->bytes = cursor.at - at;
	return is_known && !cursor.is_short;
}

/* --- the loop as a whole --- */

/* Where a value comes from; of several, the last one counts. */
enum origin {
	FROM_BEFORE,    /* the loop leaves it alone, or it is a number */
	FROM_MEMORY,    /* loaded in this round; the loop does not write there */
	FROM_LAST_ROUND /* each round leaves another one, or nothing is known */
};

/* Memory of the function's frame that is written in the loop. */
struct slot {
	int32_t offset;
	uint8_t base;
	enum origin origin;
};

/* A round of the loop, as far as it is decoded. */
struct round {
	enum origin registers[REGISTERS];
	struct slot slots[SLOTS_MAX];
	size_t slot_count;
	enum origin flags; /* tested last */
	bool has_pause;
	bool has_looked; /* a jump depends on nothing but memory */
};

static enum origin later(enum origin left, enum origin right)
{
	return left > right ? left : right;
}

static enum origin register_origin(const struct round *round, uint8_t reg)
{
	return reg == REGISTER_NONE ? FROM_BEFORE : round->registers[reg];
}

static struct slot *slot_of(struct round *round, const struct instruction *instruction)
{
	for (size_t i = 0; instruction->is_slot && i < round->slot_count; i++)
		if (round->slots[i].offset == instruction->offset &&
		    round->slots[i].base == instruction->base)
			return &round->slots[i];
	return NULL;
}

static enum origin address_origin(const struct round *round, const struct instruction *instruction)
{
	return later(register_origin(round, instruction->base),
		     register_origin(round, instruction->index));
}

/* Of the r/m operand. */
static enum origin operand_origin(struct round *round, const struct instruction *instruction)
{
	if (!instruction->has_memory)
		return register_origin(round, instruction->operand);
	if (instruction->flags & ADDRESS_ONLY)
		return address_origin(round, instruction);
	const struct slot *slot = slot_of(round, instruction);
	return slot ? slot->origin : FROM_MEMORY;
}

/* Of what an instruction computes, copies or tests. */
static enum origin result_origin(struct round *round, const struct instruction *instruction)
{
	enum origin operand = operand_origin(round, instruction);
	enum origin reg = register_origin(round, instruction->reg);
	bool is_same = !instruction->has_memory && instruction->reg != REGISTER_NONE &&
		       instruction->operand == instruction->reg;
	if (instruction->flags & EXCHANGES)
		return instruction->has_memory ? FROM_MEMORY : FROM_LAST_ROUND;
	if (instruction->flags & FROM_FLAGS)
		return round->flags;
	if (instruction->flags & FROM_FIRST)
		return round->registers[0];
	if (instruction->flags & COPIES)
		return instruction->flags & WRITES_OPERAND ? reg
		       : instruction->flags & HAS_MODRM    ? operand
							   : FROM_BEFORE;
	if (is_same && instruction->is_cleared)
		return FROM_BEFORE;
	return later(operand, instruction->flags & HAS_MODRM ? reg : round->registers[0]);
}

static void round_write(struct round *round, const struct instruction *instruction,
			enum origin origin)
{
	struct slot *slot = slot_of(round, instruction);

	if (instruction->written != REGISTER_NONE)
		round->registers[instruction->written] = origin;
	else if (instruction->flags & WRITES_OPERAND && slot)
		slot->origin = origin;
	if (instruction->flags & EXCHANGES) {
		round->registers[0] = FROM_MEMORY; /* of cmpxchg */
		round->flags = FROM_MEMORY;
	} else if (instruction->flags && !(instruction->flags & (COPIES | FROM_FLAGS))) {
		round->flags = origin;
	}
}

/* False: it walks. */
static bool round_goes_on(struct round *round, const struct instruction *instruction)
{
	bool is_read = instruction->has_memory && !(instruction->flags & ADDRESS_ONLY);

	round->has_pause = round->has_pause || instruction->is_pause;
	if (is_read && !instruction->is_slot &&
	    address_origin(round, instruction) == FROM_LAST_ROUND)
		return false;
	round->has_looked =
		round->has_looked || (instruction->is_conditional && round->flags == FROM_MEMORY);
	if (!instruction->is_jump)
		round_write(round, instruction, result_origin(round, instruction));
	return true;
}

/* Whatever is written anywhere in the loop is of the last round, until this one has written it.
 * False: that is too much. */
static bool round_prepare(struct round *round, const struct instruction *loop, size_t count)
{
	*round = (struct round){ .flags = FROM_LAST_ROUND };
	for (size_t i = 0; i < count; i++) {
		if (loop[i].written != REGISTER_NONE)
			round->registers[loop[i].written] = FROM_LAST_ROUND;
		if (!(loop[i].flags & WRITES_OPERAND) || !loop[i].is_slot ||
		    slot_of(round, &loop[i]))
			continue;
		if (round->slot_count == SLOTS_MAX)
			return false;
		round->slots[round->slot_count++] =
			(struct slot){ loop[i].offset, loop[i].base, FROM_LAST_ROUND };
	}
	return true;
}

static bool only_looks(const struct instruction *loop, size_t count)
{
	struct round round;

	if (!round_prepare(&round, loop, count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!round_goes_on(&round, &loop[i]))
			return false;
	return round.has_looked || round.has_pause;
}

/* The instructions of [from, to); 0 = they are others, or `at` is inside one of them. */
static size_t decode_all(struct cursor cursor, size_t from, size_t to, size_t at,
			 struct instruction loop[INSTRUCTIONS_MAX])
{
	size_t count = 0, next = from;
	bool has_met = false;

	for (; next < to && count < INSTRUCTIONS_MAX; next += loop[count++].bytes) {
		has_met = has_met || next == at;
		if (!decode(cursor, to, next, &loop[count]))
			return 0;
	}
	return next == to && has_met ? count : 0;
}

bool spinloop_is_at(const uint8_t *code, size_t bytes, size_t at, bool has_frame)
{
	struct instruction loop[INSTRUCTIONS_MAX], instruction;
	const struct cursor cursor = { .code = code, .has_frame = has_frame };

	for (size_t next = at; next < bytes && next - at < SPINLOOP_BYTES_MAX;) {
		if (!decode(cursor, bytes, next, &instruction))
			return false;
		next += instruction.bytes;
		if (!instruction.is_jump || instruction.jump >= 0)
			continue;
		size_t back = (size_t)(-(int64_t)instruction.jump);
		if (back > next || back > SPINLOOP_BYTES_MAX)
			return false;
		if (next - back > at)
			continue; /* a loop inside the one that is sought */
		size_t count = decode_all(cursor, next - back, next, at, loop);
		return count && only_looks(loop, count);
	}
	return false;
}

bool spinloop_has_frame(const uint8_t *function, size_t bytes)
{
	/* push %rbp; mov %rsp,%rbp, in both encodings */
	static const uint8_t prologues[][4] = { { 0x55, 0x48, 0x89, 0xe5 },
						{ 0x55, 0x48, 0x8b, 0xec } };
	size_t length = sizeof(prologues[0]);

	for (size_t at = 0; at + length <= bytes && at < SPINLOOP_PROLOGUE_BYTES; at++)
		for (size_t i = 0; i < sizeof(prologues) / sizeof(prologues[0]); i++)
			if (memcmp(function + at, prologues[i], length) == 0)
				return true;
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs, as data: the values that a probe reads when it is hit, and which hits count.
 *
 * The command makes them from debug information (cmd/probe_spec.h). The recorder checks and runs
 * them (probe_eval.h). They have no jumps, and so end. Flat: may be copied and sent as bytes.
 */
#ifndef WCPROF_PROBE_CODE_H
#define WCPROF_PROBE_CODE_H

#include <stdint.h>

enum {
	PROBE_FETCHES_MAX = 12,   /* values of one probe, with those of its condition alone */
	PROBE_STEPS_MAX = 6,      /* loads on the way to a value: "a->b->c" takes three */
	PROBE_NAME_BYTES = 48,    /* of a value, as the user wrote it */
	PROBE_STRING_BYTES = 64,  /* of a string that is kept, its NUL included */
	PROBE_OPS_MAX = 48,       /* of a condition: some ten comparisons */
	PROBE_CONSTANTS_MAX = 12, /* numbers in a condition */
	PROBE_TEXTS_MAX = 4,      /* strings in a condition */
	PROBE_STACK_MAX = 8,      /* how deep a condition nests */
	PROBE_REGISTERS = 17,     /* by their numbers in DWARF: the last is the return address */
	PROBE_VECTORS = 16        /* xmm0 to xmm15, of which the lower eight bytes are read */
};

/* Numbers of registers in DWARF. */
enum probe_register {
	PROBE_RAX = 0,
	PROBE_RDX = 1,
	PROBE_RCX = 2,
	PROBE_RBX = 3,
	PROBE_RSI = 4,
	PROBE_RDI = 5,
	PROBE_RBP = 6,
	PROBE_RSP = 7,
	PROBE_R8 = 8,
	PROBE_R9 = 9,
	PROBE_RIP = 16
};

/* The number that a value is computed from. */
enum probe_start {
	PROBE_FROM_REGISTER, /* its content when the probe is hit; on return, when that happens */
	PROBE_FROM_MODULE,   /* the load bias of the place's module */
	PROBE_FROM_ZERO,     /* a constant: it is the offset */
	PROBE_FROM_THREAD,   /* the thread pointer, below which the program's own variables are */
	PROBE_FROM_VECTOR    /* as of a register: the lower half of one of PROBE_VECTORS */
};

/* How a value is shown. */
enum probe_type {
	PROBE_UNSIGNED,
	PROBE_SIGNED,
	PROBE_HEXADECIMAL, /* pointers are, too */
	PROBE_STRING,      /* the value is the address of at most `size` bytes up to a NUL */
	PROBE_REAL         /* a float or a double; the value has the bits of a double */
};

/* Loads `bytes` (1, 2, 4, 8) at the value, which they become with zeros before them; then adds. */
struct probe_step {
	int32_t add;
	uint8_t bytes;
	uint8_t zero[3];
};

/* value = start + add; then the steps; then the bits that count; then the type. */
struct probe_fetch {
	char name[PROBE_NAME_BYTES]; /* ends with a NUL */
	int64_t add;
	uint8_t start;     /* enum probe_start */
	uint8_t reg;       /* enum probe_register, below PROBE_REGISTERS; or a vector's number */
	uint8_t type;      /* enum probe_type */
	uint8_t size;      /* bytes of the value that count: 1, 2, 4, 8; of a real one 4 or 8;
				  of a string: up to PROBE_STRING_BYTES */
	uint8_t bit_shift; /* of a bit-field: where its lowest bit is */
	uint8_t bit_count; /* 0: it is none */
	uint8_t step_count;
	uint8_t is_at_return; /* known only when the function returns */
	uint8_t is_hidden;    /* the condition alone needs it: it is not recorded */
	uint8_t zero[7];
	struct probe_step steps[PROBE_STEPS_MAX];
};

/*
 * Postfix. Numbers are compared as numbers, whatever their types: -1 is less than any unsigned one,
 * and no real number is rounded. One that is no number (NaN) is unequal to all, and no more.
 * A comparison with a value that could not be read is unknown, as in SQL.
 */
enum probe_op_code {
	PROBE_OP_FETCH,    /* pushes the value of fetch `operand` */
	PROBE_OP_CONSTANT, /* pushes constants[operand] */
	PROBE_OP_EQUAL,    /* these: two numbers become 0 or 1 */
	PROBE_OP_UNEQUAL,
	PROBE_OP_LESS,
	PROBE_OP_LESS_EQUAL,
	PROBE_OP_GREATER,
	PROBE_OP_GREATER_EQUAL,
	PROBE_OP_AND,
	PROBE_OP_OR,
	PROBE_OP_NOT,       /* one number */
	PROBE_OP_TEXT_EQUAL /* pushes whether fetch `operand` is the string texts[other] */
};

struct probe_op {
	uint8_t code; /* enum probe_op_code */
	uint8_t operand;
	uint8_t other;
};

/* magnitude * 2 ^ exponent */
struct probe_constant {
	uint64_t magnitude;
	int16_t exponent;
	uint8_t is_negative;
	uint8_t zero[5];
};

/* All zeros: reads nothing, and counts always. */
struct probe_code {
	uint8_t fetch_count;
	uint8_t op_count; /* 0: no condition */
	uint8_t constant_count;
	uint8_t text_count;
	uint8_t needs_return; /* the condition depends on a value that is known only then */
	uint8_t has_reals;    /* probe_code_has_reals(): all others are run faster */
	uint8_t zero[2];
	struct probe_fetch fetches[PROBE_FETCHES_MAX];
	struct probe_op ops[PROBE_OPS_MAX];
	struct probe_constant constants[PROBE_CONSTANTS_MAX];
	char texts[PROBE_TEXTS_MAX][PROBE_STRING_BYTES]; /* each ends with a NUL */
};

#endif

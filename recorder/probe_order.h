/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order to probe a function, or a place within one: the bytes to expect there, and those to run
 * instead.
 *
 * The command decodes the instructions (cmd/probe_plan.h), and sends the struct as bytes. The
 * recorder decodes nothing. It checks that the code is as expected, and that nothing of the struct
 * is out of bounds.
 */
#ifndef WCPROF_PROBE_ORDER_H
#define WCPROF_PROBE_ORDER_H

#include "condition.h"
#include "format.h"
#include "probe_code.h"

enum {
	PROBE_JUMP_BYTES = 5,   /* of the jump that takes the place of the first instructions */
	PROBE_OLD_BYTES = 20,   /* these: the jump's last byte may be the first of 15 */
	PROBE_MOVED_BYTES = 96, /* the same, where short jumps became long, a stub, a jump back */
	PROBE_STUB_BYTES = 31,  /* it leads from moved instructions to the recorder */
	PROBE_FIXUPS_MAX = 8,   /* each instruction may have two distances */
	PROBE_MARKS_MAX = 4,    /* bytes of the jump but the first */
	PROBE_ORDER_NAME_BYTES = 128
};

/* Whether a function's calls are seen, or threads that come by a place. */
enum probe_sight {
	PROBE_SEES_CALLS, /* from the function's entry to its return */
	PROBE_SEES_A_MOMENT
};

/* An instruction that begins within the jump, and where it begins among those that were moved. */
struct probe_mark {
	uint8_t old;
	uint8_t moved;
};

struct probe_order {
	uint32_t bytes;     /* of this struct */
	uint32_t version;   /* FORMAT_VERSION: else the struct may be another one */
	uint64_t address;   /* of the jump, in the process */
	uint64_t place;     /* that is probed: there, or an instruction or more behind it */
	uint64_t semaphore; /* 16 bits that count who probes the place; 0: there are none */
	uint64_t bias;      /* of its module */
	uint64_t min_ns;    /* calls that are shorter are counted, and not recorded */
	uint8_t old_bytes;
	uint8_t moved_bytes;
	uint8_t fixup_count;
	uint8_t mark_count;
	uint8_t sight;         /* enum probe_sight */
	uint8_t stub_at;       /* of a moment: where in `moved` there is room for the stub */
	uint16_t min_permille; /* that are shorter, instead of min_ns: 950 for the slowest 5% */
	uint8_t old[PROBE_OLD_BYTES]; /* whole instructions, which the jump overwrites in part */
	uint8_t moved[PROBE_MOVED_BYTES];
	/* Where distances of 32 bits are in `moved`, right if it were at `address`. */
	uint8_t fixups[PROBE_FIXUPS_MAX];
	struct probe_mark marks[PROBE_MARKS_MAX];
	char name[PROBE_ORDER_NAME_BYTES]; /* ends with a NUL */
	char when[CONDITION_BYTES];        /* the same; "": always */
	struct condition_sites sites;      /* of its lock@ */
	struct probe_code code;
};

/* Whether it leaves calls out: short ones, or those for which a condition does not hold. */
static inline bool probe_order_chooses(const struct probe_order *order)
{
	return order->min_ns || order->min_permille || order->when[0] || order->code.op_count;
}

#endif

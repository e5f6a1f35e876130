/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena's bytes: what a recording looks like in shared memory.
 *
 * Data only. Shared by the recorder inside the target, which writes it, and by whoever reads an arena
 * from outside (recovery after the target died, the drainer of `wcprof record`). Offsets instead of
 * pointers, so that it can be mapped anywhere. All times are ticks of the arena's clock (clock.h turns
 * them into nanoseconds); all ids are the recorder's own.
 *
 * FORMAT_VERSION goes up with any change of size, offset or meaning in this file or of a number in
 * events.def; a reader refuses a version that it does not know.
 */
#ifndef WCPROF_FORMAT_H
#define WCPROF_FORMAT_H

#include <stdint.h>

enum { FORMAT_VERSION = 1 };

enum kind {
#define KIND(number, name, word, work, meaning) KIND_##name = (number),
#include "events.def"
};

enum work {
#define WORK(number, name, word, meaning) WORK_##name = (number),
#include "events.def"
};

enum outcome {
#define OUTCOME(number, name, word, meaning) OUTCOME_##name = (number),
#include "events.def"
};

enum reason {
#define REASON(number, name, word, meaning) REASON_##name = (number),
#include "events.def"
};

enum link_kind {
#define LINK(number, name, word, meaning) LINK_##name = (number),
#include "events.def"
};

enum record_type { RECORD_NONE = 0, RECORD_OP = 1, RECORD_WAIT = 2, RECORD_LINK = 3 };

/*
 * One event. Also one open op or open wait, in its thread's slot, while `end` is 0.
 *
 * field    op                            wait                      link
 * id       its id                        target op, 0 = unknown    op tied to, 0 = none
 * parent   op that it belongs to         op that waits             op that it comes from
 * value    io: bytes (signed)            address waited on         address of the resource
 *          hold: address of the lock
 *          thread: start routine
 *          sleep: nanoseconds asked for
 * count    hold: sequence number         number of wakes seen      wake, post: see events.def
 *          of this lock's holds
 */
struct record {
	uint64_t start;
	uint64_t end;
	uint64_t id;
	uint64_t parent;
	uint64_t value;
	uint32_t name;   /* string id: the class of an op, the call of a wait */
	uint32_t ident;  /* string id: which resource, thread, file */
	uint32_t stack;  /* stack id, 0 = none */
	uint32_t count;
	int32_t fd;      /* io, poll on one descriptor: the descriptor, else -1 */
	uint8_t type;    /* enum record_type; written last in an open entry, cleared first */
	uint8_t what;    /* enum kind, reason or link_kind */
	uint8_t outcome; /* enum outcome */
	uint8_t flags;   /* RECORD_* below */
};

enum {
	RECORD_ABSOLUTE = 1, /* sleep until a point in time, value = nanoseconds from call to deadline */
	RECORD_TIMED_OUT = 2 /* a wait that ended by its timeout */
};

_Static_assert(sizeof(struct record) == 64, "a record is one cache line");

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a code address to the functions it is in, inlined ones included, by debug information.
 *
 * One thread. A frame's strings live as long as the Dwarf handle given to unitindex_open().
 */
#ifndef WCPROF_UNITINDEX_H
#define WCPROF_UNITINDEX_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "intervals.h"

enum { UNITINDEX_FRAMES_MAX = 64 }; /* deeper inlining is cut off at the inner end */

struct unitindex_frame {
	const char *function; /* as the linker spells it where that is known, NULL = nameless */
	const char *own_name; /* as the compiler spells it, NULL = nameless */
	const char *declared; /* the file, NULL = not known */
	uint32_t declared_line;
	const char *file; /* where in this function the address is, NULL = not known */
	uint32_t line;
};

struct unit;

struct unitindex {
	Dwarf *dwarf;
	uint64_t bias; /* address = that of the debug information + bias */
	struct unit *units;
	size_t unit_count;
	size_t unit_room;
	struct intervals ranges; /* of all units' code; value = unit */
};

/* Lists the units of `dwarf`, which may be NULL: then nothing is ever found. */
void unitindex_open(struct unitindex *index, Dwarf *dwarf, uint64_t bias);

/* Fills in the functions around `address`, innermost first. Returns how many. */
size_t unitindex_frames(struct unitindex *index, uint64_t address,
			struct unitindex_frame frames[UNITINDEX_FRAMES_MAX]);

void unitindex_close(struct unitindex *index);

#endif

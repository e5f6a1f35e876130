/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module's unwind tables in memory (.eh_frame_hdr and .eh_frame), and the entry of an address.
 *
 * The tables may hold anything: nothing is read outside of the module's readable segments. Threads:
 * any, at the same time. No locks, no allocation. A module that is unloaded meanwhile is the
 * program's bug.
 */
#ifndef WCPROF_UNWIND_TABLE_H
#define WCPROF_UNWIND_TABLE_H

#include "recorder.h"
#include "unwind_bytes.h"

enum { UNWIND_SEGMENTS_MAX = 12 }; /* of one module; the usual number is 4 or 5 */

struct unwind_segment {
	uint64_t start;
	uint64_t end;
};

struct unwind_module {
	const void *header; /* its .eh_frame_hdr; NULL: none */
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	uint32_t segment_count;
};

/* A function in the tables. */
struct unwind_entry {
	struct unwind_bytes common; /* instructions that it shares with others */
	struct unwind_bytes own;
	uint64_t start; /* where its code begins */
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_column; /* the number of the register that is the return address */
	bool is_signal;         /* the kernel has put the frame there */
};

/* The module that has the code; false: none that the loader knows. */
bool unwind_module_at(uint64_t pc, struct unwind_module *) HIDDEN;
/* Whether so many bytes lie in one readable segment of it. */
bool unwind_module_may_read(const struct unwind_module *, uint64_t address, uint64_t bytes) HIDDEN;
/* The entry of the function at `pc`; false: there is none, or it cannot be read. */
bool unwind_entry_at(const struct unwind_module *, uint64_t pc, struct unwind_entry *) HIDDEN;

#endif

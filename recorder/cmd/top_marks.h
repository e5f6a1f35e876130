/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that the program marks: ops of kind user that take time, with none around them. An op
 * of another kind, as a hold, keeps what is around it away; the call of a probed function does not.
 * The analyzer has it so, too (infer/requests.c).
 *
 * Calls, waits and samples are parts of the op that their threads were in. Of several threads they
 * add up, but for a wait for others while one of them worked for the op. One thread.
 */
#ifndef WCPROF_TOP_MARKS_H
#define WCPROF_TOP_MARKS_H

#include "snapshot.h"
#include "top_requests.h"
#include "top_stints.h"

enum { TOP_MARKS_OPEN_MAX = 16384 }; /* ops that have parts and have not ended: others have none */

struct top_mark;

/* A call or a wait that had not ended at the last look, of the op that its thread was in. */
struct top_mark_call {
	uint64_t op;
	struct top_stint time; /* the end is not known */
	enum top_part part;
};

struct top_marks {
	struct top_mark *marks;
	struct top_mark_call *calls;
	size_t call_count, call_room;
	uint32_t *places; /* by hash: the first mark + 1 */
	uint32_t free;    /* the first one + 1 */
	uint32_t made;
	uint32_t look;
	uint64_t left_out; /* ops that found no room */
};

/* False: there is no memory. */
bool top_marks_begin(struct top_marks *);
void top_marks_end(struct top_marks *);

/* Time of a thread, from a record that is a part or a sample. */
void top_marks_part(struct top_marks *, const struct top_stacks *, const struct record *,
		    uint32_t thread, enum top_part, uint32_t number, double ns);
/* An op has ended, whatever it was. */
void top_marks_op(struct top_marks *, struct top_requests *, struct top_stacks *,
		  const struct record *, uint64_t second);
/* All that is open at the moment. Ops that are gone without a record are forgotten. */
void top_marks_look(struct top_marks *, struct top_requests *, struct top_stacks *,
		    const struct snapshot_open *, uint32_t count, uint64_t second);
/* Requests that were open at the last look, with the parts of all that is within them, also of what
 * goes on. The caller frees the list. */
struct top_request *top_marks_running(const struct top_marks *, uint64_t now_ns, size_t *count);

#endif

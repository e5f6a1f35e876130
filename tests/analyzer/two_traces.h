/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client and a server that work for two traces, for the tests of ids, in milliseconds.
 *
 *     thread 0    1 for trace one, span 10: writes until 2, reads until 9; 9.5 for none
 *                 10 for trace two, span 20: writes until 10.5, reads until 13; 13.5 for none
 *     thread 1    reads 0 to 2.5; 3 for trace one, span 11: sleeps 3 to 8, writes until 8.5;
 *                 9 for none, reads until 11; 11 for trace two, span 21: writes 12 to 12.5,
 *                 polls until 20
 *
 * The context of 10 is said again at 12, as a new dump does.
 */
#ifndef WCPROF_TESTS_TWO_TRACES_H
#define WCPROF_TESTS_TWO_TRACES_H

#include "sketch.h"

#define TRACE_ONE_TEXT "0a00000000000000000000000000001b"
#define TRACE_TWO_TEXT "0a000000000000ff0000000000000002"

#define TRACE_ONE                                  \
	{                                          \
		UINT64_C(0x0a00000000000000), 0x1b \
	}
#define TRACE_TWO                               \
	{                                       \
		UINT64_C(0x0a000000000000ff), 2 \
	}

static struct rec_context two_traces_contexts[] = {
	{ 1000000, { TRACE_ONE, 0x10 }, 0 },  { 9500000, { { 0 }, 0 }, 0 },
	{ 10000000, { TRACE_TWO, 0x20 }, 0 }, { 12000000, { TRACE_TWO, 0x20 }, 0 },
	{ 13500000, { { 0 }, 0 }, 0 },        { 3000000, { TRACE_ONE, 0x11 }, 1 },
	{ 9000000, { { 0 }, 0 }, 1 },         { 11000000, { TRACE_TWO, 0x21 }, 1 },
};

/* Ops in the order of their begin, thread by thread. */
struct two_traces {
	struct sketch sketch;
	uint32_t ask[2], hear[2]; /* of the client, by trace */
	uint32_t take[2], work, answer[2], poll;
};

static inline void two_traces_begin(struct two_traces *two)
{
	struct sketch *sketch = &two->sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "client", 0, 20);
	sketch_thread(sketch, "server", 0, 20);
	two->ask[0] = sketch_io(sketch, 0, "write", "tcp a>b", 1, 1, 2);
	two->hear[0] = sketch_io(sketch, 0, "read", "tcp a>b", 1, 2, 9);
	two->ask[1] = sketch_io(sketch, 0, "write", "tcp a>b", 1, 10, 10.5);
	two->hear[1] = sketch_io(sketch, 0, "read", "tcp a>b", 1, 10.5, 13);
	two->take[0] = sketch_io(sketch, 1, "read", "tcp b>a", 1, 0, 2.5);
	two->work = sketch_op(sketch, KIND_SLEEP, "work", 1, 3, 8);
	two->answer[0] = sketch_io(sketch, 1, "write", "tcp b>a", 1, 8, 8.5);
	two->take[1] = sketch_io(sketch, 1, "read", "tcp b>a", 1, 9, 11);
	two->answer[1] = sketch_io(sketch, 1, "write", "tcp b>a", 1, 12, 12.5);
	two->poll = sketch_op(sketch, KIND_POLL, "poll", 1, 12.5, 20);
	sketch->rec.contexts = two_traces_contexts;
	sketch->rec.context_count = sizeof(two_traces_contexts) / sizeof(two_traces_contexts[0]);
}

#endif

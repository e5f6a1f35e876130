/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How instructions are moved, so that a jump takes their place; or why not.
 *
 * A probe of a function calls it from a frame of its own. So a function must read nothing of its
 * caller's frame. A probe of a place within one must break no instruction that is jumped to. Bytes
 * in, bytes out: no process is touched. One thread.
 */
#ifndef WCPROF_PROBE_PLAN_H
#define WCPROF_PROBE_PLAN_H

#include "probe_order.h"
#include "probe_spec.h"

enum { PROBE_CODE_MAX = 1 << 18 }; /* of a function: larger ones are refused */

/* The function's code, and its address in the process, which is in order->address. Fills in what is
 * moved. NULL, or why not, as a sentence's end. */
const char *probe_plan(const uint8_t *code, uint32_t bytes, struct probe_order *order);

/* All code of a file, and where in it the function is. */
struct probe_text_bytes {
	const uint8_t *code;
	uint64_t bytes;
	uint64_t function_at;
	uint32_t function_bytes;
};
/* The same for a place in a function, so many bytes behind its first one. Its address in the
 * process is in order->place. */
const char *probe_plan_within(const struct probe_text_bytes *text, uint32_t place,
			      struct probe_order *order);
/* Without the code: NULL, or why the place cannot be probed. */
const char *probe_plan_place(const struct probe_place *place);

#endif

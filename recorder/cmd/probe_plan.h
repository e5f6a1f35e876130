/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a function's first instructions are moved, so that a jump takes their place; or why not.
 *
 * A probe calls the function from a frame of its own. So a function must read nothing of its
 * caller's frame. Bytes in, bytes out: no process is touched. One thread.
 */
#ifndef WCPROF_PROBE_PLAN_H
#define WCPROF_PROBE_PLAN_H

#include "probe_order.h"
#include "probe_spec.h"

enum { PROBE_CODE_MAX = 1 << 18 }; /* of a function: larger ones are refused */

/* The function's code, and its address in the process, which is in order->address. Fills in what is
 * moved. NULL, or why not, as a sentence's end. */
const char *probe_plan(const uint8_t *code, uint32_t bytes, struct probe_order *order);
/* Of a function without its code: NULL, or why it cannot be probed. */
const char *probe_plan_place(const struct probe_place *place);

#endif

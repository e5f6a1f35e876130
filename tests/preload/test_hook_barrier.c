/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: an arrival at a barrier or a wait for an initialiser is missed, or
 * cancelling one crashes.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "barriers",
		  "barrier",
		  { { "wait", "barrier", "pthread_barrier_wait", 15, 15 },
		    { "link", "wake", "barrier barriers+0x", 5, 5 } } },
	/* 1 */ { "barriers", "once", { { "wait", "once", "pthread_once", 1, 1 } } },
	/* 2 */ { "barriers", "c11", { { "wait", "once", "call_once", 1, 1 } } },
	/* 3 */ { "barriers", "cancelled", { { "wait", "once", "", 0, 0 } } },
};

TARGET_SUITE()

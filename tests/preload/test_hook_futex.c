/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: waits by raw futex calls are missed, or another system call loses an
 * argument.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "futexes",
		  "woken",
		  { { "wait", "futex", "syscall", 3, MANY },
		    { "link", "wake", "futex futexes+0x", 2, 2 } } },
	/* 1 */
	{ "futexes",
	  "others",
	  { { "wait", "futex", "", 0, 0 },
	    { "op", "io", "write", 1, 1 },
	    { "op", "io", "splice", 1, 1 } } },
};

TARGET_SUITE()

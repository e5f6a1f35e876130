/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a thread, its creator or its join is missed, or joins answer otherwise.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "threads",
		  "joins",
		  { { "op", "thread", "thread", 5, 5 },
		    { "link", "spawn", "", 4, 4 },
		    { "wait", "join", "", 6, 6 } } },
	/* 1 */
	{ "threads",
	  "many",
	  { { "op", "thread", "thread", 20001, 20001 },
	    { "wait", "join", "pthread_join", 20000, 20000 } } },
	/* 2 */ { "threads", "keys", { { "op", "thread", "thread", 2, 2 } } },
	/* 3 */ { "threads", "detach", { { "op", "thread", "thread", 2, 501 } } },
	/* 4 */ { "threads", "cancelled", { { "wait", "join", "pthread_join", 2, 2 } } },
	/* 5 */ { "threads", "failing", { { "op", "thread", "thread", 2, 2 } } },
};

TARGET_CASES_MAIN("hook_thread")

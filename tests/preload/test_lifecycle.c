/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: calls before main, in fork handlers or at the end are missed, or crash.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "lives",
		  "early",
		  { { "op", "io", "close", 4, 4 },
		    { "op", "thread", "thread", 2, 2 },
		    { "wait", "join", "pthread_join", 1, 1 } } },
	/* 1 */
	{ "lives", "forks", { { "op", "exec", "fork", 4, 4 }, { "op", "io", "close", 24, 26 } } },
	/* 2 */ { "lives", "generations", { { "op", "process", "lives", 4, 4 } } },
	/* 3 */ { "lives", "busy_end", { { "op", "process", "lives", 1, 1 } } },
	/* 4 */
	{ "signals",
	  "storm",
	  { { "op", "io", "write", 40000, MANY },
	    { "link", "wake", "cond signals+0x", 2000, MANY } } },
	/* 5 */
	{ "signals",
	  "jumps",
	  { { "op", "io", "write", 1, 1 }, { "wait", "mutex", "pthread_mutex_lock", 200, 301 } } },
	/* 6 */ { "abandoned", "fibers", { { "op", "io", "write", 40, 40 } } },
	/* 7 */ { "abandoned", "jumps", { { "op", "io", "write", 20, 20 } } },
	/* 8 */ { "abandoned", "execs", { { "op", "process", "true", 1, 1 } } },
	/* 9 */
	{ "abandoned",
	  "handlers",
	  { { "op", "io", "write", 340, 340 },
	    { "wait", "mutex", "pthread_mutex_lock", 2, 2 },
	    { "wait", "rwlock_read", "", 2, 2 },
	    { "wait", "rwlock_write", "", 2, 2 },
	    { "wait", "cond", "", 2, 2 },
	    { "wait", "sem", "", 2, 2 },
	    { "wait", "barrier", "", 2, 2 },
	    { "wait", "once", "", 2, 2 },
	    { "wait", "futex", "", 2, 2 } } },
	/* 10 */ { "hazards", "closes", { { "op", "io", "write", 20, 20 } } },
	/* 11 */ { "hazards", "few descriptors", { { "op", "io", "write", 10, 10 } } },
	/* 12 */ { "hazards", "small files", { { "op", "io", "write", 50001, 50001 } } },
	/* 13 */ { "hazards", "other root", { { "op", "io", "write", 10, 11 } } },
	/* 14 */ { "hazards", "other user", { { "op", "io", "write", 10, 10 } } },
	/* 15 */ { "hazards", "confined", { { "op", "io", "write", 0, 0 } } },
	/* 16 */ { "hazards", "last thread", { { "op", "io", "write", 10, 10 } } },
	/* 17 */ { "hazards", "name spaces", { { "op", "io", "write", 10, 11 } } },
	/* 18 */ { "hazards", "users", { { "op", "io", "write", 11, 11 } } },
	/* 19 */ { "hazards", "users of two", { { "op", "io", "write", 10, 10 } } },
	/* 20 */ { "signals", "directed", { { "op", "poll", "sigtimedwait", 2000, 2000 } } },
	/* 21 */
	{ "signals",
	  "alarms",
	  { { "op", "io", "write", 40000, MANY }, { "op", "io", "read", 100, MANY } } },
	/* 22 */
	{ "signals", "masks", { { "op", "io", "write", 3, 3 }, { "op", "thread", "", 3, 3 } } },
	/* 23 */
	{ "hazards",
	  "without tables",
	  { { "op", "io", "write", 210, 210 }, { "op", "io", "read", 200, 200 } } },
	/* 24 */ { "cancels", "blocked", { { "op", "io", "write", 10, MANY } } },
	/* 25 */ { "cancels", "early", { { "op", "io", "write", 10, MANY } } },
};

TARGET_SUITE()

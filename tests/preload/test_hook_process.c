/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a child, or who waited for it, is missed; or a fork among threads hangs.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "children",
		  "waits",
		  { { "op", "exec", "fork", 9, 9 },
		    { "link", "nested_client", "", 9, 9 },
		    { "wait", "exec", "", 12, 12 } } },
	/* 1 */
	{ "children",
	  "works",
	  { { "op", "exec", "fork", 1, 1 },
	    { "op", "io", "write", 10, 10 },
	    { "op", "process", "children", 2, 2 } } },
	/* 2 */
	{ "children",
	  "threads",
	  { { "op", "exec", "fork", 30, 30 }, { "op", "io", "close", 30, 30 } } },
	/* 3 */
	{ "children",
	  "spawns",
	  { { "op", "exec", "true", 3, 3 },
	    { "op", "exec", "false", 1, 1 },
	    { "op", "exec", "system", 1, 1 },
	    { "op", "process", "true", 3, 3 },
	    { "link", "nested_client", "", 4, 4 } } },
	/* 4 */ { "hazards", "daemons", { { "op", "io", "write", 10, 10 } } },
	/* 5 */
	{ "hazards",
	  "terminals",
	  { { "op", "exec", "forkpty", 1, 1 }, { "op", "process", "hazards", 2, 2 } } },
	/* 6 */
	{ "hazards",
	  "clones",
	  { { "op", "exec", "clone", 1, 1 }, { "op", "io", "write", 10, 12 } } },
	/* 7 */
	{ "hazards",
	  "bare forks",
	  { { "op", "exec", "_Fork", 20, 20 }, { "op", "io", "write", 20, 20 } } },
	/* 8 */
	{ "children",
	  "allocating",
	  { { "op", "exec", "fork", 10, 10 },
	    { "op", "io", "close", 10, 10 },
	    { "op", "process", "children", 11, 11 } } },
	/* 9 */
	{ "children",
	  "short",
	  { { "op", "exec", "fork", 30, 30 }, { "op", "process", "children", 31, 31 } } },
	/* 10 */
	{ "children",
	  "execs",
	  { { "op", "exec", "vfork", 30, 30 }, { "op", "process", "true", 30, 30 } } },
	/* 11 */ { "tasks", "pthread", { { "op", "thread", "", 2, 4 } } },
	/* 12 */ { "tasks", "c11", { { "op", "thread", "", 1, 3 } } },
	/* 13 */ { "tasks", "fork", { { "op", "exec", "fork", 1, 1 } } },
	/* 14 */ { "tasks", "vfork", { { "op", "exec", "vfork", 1, 1 } } },
	/* 15 */ { "tasks", "clone", { { "op", "exec", "clone", 1, 1 } } },
	/* 16 */ { "tasks", "spawn", { { "op", "exec", "true", 1, 1 } } },
	/* 17 */ { "tasks", "popen", { { "op", "exec", "popen", 1, 1 } } },
	/* 18 */ { "tasks", "system", { { "op", "exec", "system", 2, 2 } } },
	/* 19 */ { "tasks", "too many", { { "op", "exec", "fork", 1, 2 } } },
	/* 20 */ { "children", "there", { { "wait", "exec", "waitpid", 4, 4 } } },
};

TARGET_SUITE()

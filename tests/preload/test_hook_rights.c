/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a program that gives up rights is aborted, refused what it may do, or has a
 * thread that keeps them.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "rights", "plain", { { "op", "process", "rights", 1, 1 } } },
	/* 1 */ { "rights", "kept", { { "op", "process", "rights", 1, 1 } } },
	/* 2 */ { "rights", "kept-raw", { { "op", "process", "rights", 1, 1 } } },
	/* 3 */ { "rights", "given-up", { { "op", "dns", "initgroups", 1, 1 } } },
	/* 4 */ { "rights", "given-up-raw", { { "op", "dns", "initgroups", 1, 1 } } },
	/* 5 */ { "rights", "threads", { { "op", "process", "rights", 1, 1 } } },
	/* 6 */ { "rights", "alone", { { "op", "process", "rights", 1, 1 } } },
	/* 7 */ { "rights", "entering", { { "op", "process", "", 2, 2 } } },
	/* 8 */ { "rights", "filtered", { { "op", "io", "close", 1, 1 } } },
	/* 9 */ { "rights", "filtered-raw", { { "op", "io", "close", 1, 1 } } },
	/* 10 */ { "rights", "killed", { { "op", "process", "rights", 1, 3 } } },
	/* 11 */
	{ "rights", "forbidden", { { "op", "sleep", "usleep", 1, 1 }, { "op", "dns", "", 0, 0 } } },
	/* 12 */ { "sandboxes", "killed before", { { "op", "sleep", "usleep", 1, 1 } } },
	/* 13 */ { "sandboxes", "refused before", { { "op", "sleep", "usleep", 1, 1 } } },
	/* 14 */
	{ "sandboxes",
	  "in vfork",
	  { { "op", "sleep", "usleep", 1, 1 }, { "op", "io", "write", 0, 2 } } },
	/* 15 */ { "giveups", "raw users", { { "op", "process", "giveups", 1, 1 } } },
	/* 16 */ { "giveups", "raw old users", { { "op", "process", "giveups", 1, 1 } } },
	/* 17 */ { "giveups", "requests", { { "op", "process", "giveups", 1, 1 } } },
	/* 18 */ { "giveups", "capabilities", { { "op", "process", "giveups", 1, 1 } } },
	/* 19 */ { "giveups", "no new rights", { { "op", "process", "giveups", 1, 1 } } },
	/* 20 */ { "giveups", "spaces", { { "op", "process", "giveups", 1, 1 } } },
	/* 21 */ { "giveups", "users", { { "op", "process", "giveups", 1, 1 } } },
	/* 22 */ { "giveups", "landlock", { { "op", "process", "giveups", 1, 1 } } },
	/* 23 */ { "giveups", "keyring", { { "op", "process", "giveups", 1, 1 } } },
	/* 24 */ { "giveups", "threads", { { "op", "process", "giveups", 1, 1 } } },
	/* 25 */ { "sandboxes", "refused in vfork", { { "op", "sleep", "usleep", 1, 1 } } },
};

TARGET_SUITE()

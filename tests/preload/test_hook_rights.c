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
};

TARGET_SUITE()

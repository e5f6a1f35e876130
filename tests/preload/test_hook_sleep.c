/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a sleep is missed, or sleeps shorter or answers otherwise.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "sleeps",
		  "forms",
		  { { "op", "sleep", "sleep", 1, 1 },
		    { "op", "sleep", "usleep", 1, 1 },
		    { "op", "sleep", "nanosleep", 3, 3 },
		    { "op", "sleep", "clock_nanosleep", 4, 4 },
		    { "op", "sleep", "thrd_sleep", 1, 1 } } },
	/* 1 */ { "sleeps", "cancelled", { { "op", "sleep", "sleep", 1, 1 } } },
};

TARGET_SUITE()

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: the time is another one, or it is not known that a program asked for it.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "clocks", "forms", { { "link", "clock", "", 4, 4 } } },
	/* 1 */ { "clocks", "again", { { "link", "clock", "", 3, 3 } } },
};

TARGET_SUITE()

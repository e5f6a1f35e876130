/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: unloading a library does not work as alone.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "lives", "unload", { { "op", "io", "close", 54, 54 } } },
};

TARGET_CASES_MAIN("hook_loader")

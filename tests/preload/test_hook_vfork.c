/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a vfork child spoils its parent's stack or recording, or is missed.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "children",
		  "vforks",
		  { { "op", "exec", "vfork", 21, 21 },
		    { "wait", "exec", "waitpid", 21, 21 },
		    { "op", "process", "children", 1, 1 },
		    { "op", "process", "true", 1, 1 } } },
	/* 1 */ { "children", "nested_vforks", { { "op", "exec", "vfork", 6, 6 } } },
};

TARGET_SUITE()

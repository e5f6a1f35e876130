/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if this fails: a program may not lock its memory, or has too little of it, because of
 * us. */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */ { "limits", "locks", { { "op", "io", "write", 40, 40 } } },
	/* 1 */ { "limits", "locks little", { { "op", "io", "write", 30, 30 } } },
	/* 2 */ { "limits", "locks too little", { { "op", "io", "write", 10, 10 } } },
	/* 3 */ { "limits", "locks none", { { "op", "io", "write", 10, 10 } } },
	/* 4 */ { "limits", "addresses", { { "op", "io", "write", 10, 10 } } },
};

TARGET_SUITE()

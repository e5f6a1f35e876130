/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: an image ends without its recording, or an exec loses an argument.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "images", "execl", { { "op", "io", "close", 2, 2 } } },
	/* 1 */
	{ "images", "execlp", { { "op", "io", "close", 1, 1 }, { "op", "process", "sh", 1, 1 } } },
	/* 2 */ { "images", "execle", { { "op", "io", "close", 1, 1 } } },
	/* 3 */ { "images", "execv", { { "op", "io", "close", 2, 2 } } },
	/* 4 */ { "images", "execve", { { "op", "io", "close", 2, 2 } } },
	/* 5 */ { "images", "execvp", { { "op", "io", "close", 2, 2 } } },
	/* 6 */ { "images", "execvpe", { { "op", "io", "close", 2, 2 } } },
	/* 7 */ { "images", "fexecve", { { "op", "io", "close", 2, 2 } } },
	/* 8 */ { "images", "execveat", { { "op", "io", "close", 2, 2 } } },
	/* 9 */ { "images", "failing", { { "op", "io", "close", 2, 2 } } },
	/* 10 */
	{ "images",
	  "exit",
	  { { "op", "io", "close", 1, 1 }, { "op", "process", "images", 1, 1 } } },
	/* 11 */ { "images", "_exit", { { "op", "io", "close", 1, 1 } } },
	/* 12 */ { "images", "_Exit", { { "op", "io", "close", 1, 1 } } },
	/* 13 */ { "images", "quick_exit", { { "op", "io", "close", 2, 2 } } },
	/* 14 */ { "images", "abort", { { "op", "io", "close", 1, 1 } } },
	/* 15 */ { "images", "execveat_path", { { "op", "io", "close", 2, 2 } } },
	/* 16 */ { "images", "execveat_empty", { { "op", "io", "close", 2, 2 } } },
};

TARGET_SUITE()

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait inside the liburing that is installed here is missed, or changed.
 * Skipped, loudly, where the kernel gives nobody a ring.
 */
#include "target.h"
#include "suite.h"

#include <errno.h>

/* The short calls have taken too little to be ops. */
static const struct target_case rings = { "rings",
					  "waits",
					  { { "op", "poll", "__io_uring_get_cqe", 1, 11 },
					    { "op", "poll", "io_uring_submit_and_wait", 1, 1 } } };

static int status_alone(char *program)
{
	char command[5 * PATH_MAX];
	snprintf(command, sizeof(command), "LD_PRELOAD= %s/../targets/rings waits",
		 dirname(program));
	return WEXITSTATUS(system(command));
}

/* Bound at start-up and read-only by then, or not bound yet. */
START_TEST(test_rings)
{
	struct dumps dumps;
	if (_i)
		setenv("LD_BIND_NOW", "1", 1);
	run_case(&rings, &dumps);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	if (status_alone(program_invocation_name) == 77)
		exit(77);
	LOOP(test_rings, 0, 2);
}

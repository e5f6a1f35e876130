/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a list that is waited for is missed, in any of its versions, or one that is
 * not is recorded.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "queues",
		  "async",
		  { { "op", "io", "lio_listio", 3, 3 },
		    { "op", "poll", "aio_suspend", 1, MANY },
		    { "op", "io", "aio_cancel", 1, 1 } } },
};

TARGET_SUITE()

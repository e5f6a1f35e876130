/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait for a semaphore set is missed, or its end. Or one that could not wait
 * is recorded as one. Or message queues move other bytes than they are said to.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "queues",
		  "permits",
		  { { "wait", "sem", "sem", 2, 2 },
		    { "wait", "", "", 3, 3 }, /* and a join */
		    { "link", "post", "sysv semaphores", 1, 1 } } },
	/* 1 */ { "queues", "cancelled", { { "wait", "sem", "semop", 1, 1 } } },
	/* 2 */
	{ "queues",
	  "messages",
	  { { "op", "io", "msgsnd", 2, 2 }, { "op", "io", "msgrcv", 2, 2 } } },
};

TARGET_SUITE()

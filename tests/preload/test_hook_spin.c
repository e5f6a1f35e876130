/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait for a spin lock or its holds are missed. Or an old name of a mutex's
 * functions does not reach them.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "queues",
		  "spins",
		  { { "wait", "mutex", "pthread_spin_lock", 1, 1 },
		    { "op", "hold", "mutex queues+0x", 3, 3 } } },
};

TARGET_SUITE()

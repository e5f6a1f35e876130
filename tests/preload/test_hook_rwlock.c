/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait or hold of a read-write lock is missed, or a form of locking answers
 * otherwise.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "rwlocks",
		  "readers",
		  { { "wait", "rwlock_read", "pthread_rwlock_rdlock", 1, 1 },
		    { "op", "hold", "rwlock rwlocks+0x", 12, 12 },
		    { "link", "wake", "rwlock rwlocks+0x", 1, 1 } } },
	/* 1 */
	{ "rwlocks",
	  "writers",
	  { { "wait", "rwlock_write", "pthread_rwlock_wrlock", 1, 1 },
	    { "link", "wake", "rwlock rwlocks+0x", 1, 1 } } },
	/* 2 */ { "rwlocks", "many", { { "op", "hold", "rwlock rwlocks+0x", 21, 21 } } },
	/* 3 */
	{ "rwlocks",
	  "forms",
	  { { "wait", "rwlock_read", "", 3, 3 }, { "wait", "rwlock_write", "", 3, 3 } } },
	/* 4 */
	{ "rwlocks",
	  "slept_in",
	  { { "wait", "rwlock_write", "", 0, 0 }, { "op", "hold", "rwlock rwlocks+0x", 3, 3 } } },
};

TARGET_SUITE()

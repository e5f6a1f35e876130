/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a lock's result changes, or a wait, a holder or a hold of a mutex is missed.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "mutexes",
		  "contended",
		  { { "wait", "mutex", "pthread_mutex_lock", 1, 1 },
		    { "op", "hold", "mutex mutexes+0x", 12, 12 },
		    { "link", "wake", "mutex mutexes+0x", 1, 1 } } },
	/* 1 */
	{ "mutexes", "uncontended", { { "wait", "mutex", "", 0, 0 }, { "op", "hold", "", 0, 0 } } },
	/* 2 */
	{ "mutexes",
	  "kinds",
	  { { "wait", "mutex", "pthread_mutex_clocklock", 16, 16 },
	    { "wait", "mutex", "pthread_mutex_timedlock", 32, 32 } } },
	/* 3 */ { "mutexes", "robust", { { "wait", "mutex", "", 0, 0 } } },
	/* 4 */
	{ "mutexes",
	  "recursive",
	  { { "wait", "mutex", "pthread_mutex_lock", 1, 1 },
	    { "op", "hold", "mutex mutexes+0x", 12, 12 } } },
	/* 5 */
	{ "mutexes",
	  "timed",
	  { { "wait", "mutex", "pthread_mutex_timedlock", 1, 1 },
	    { "wait", "mutex", "pthread_mutex_clocklock", 1, 1 } } },
	/* 6 */ { "mutexes", "handed", { { "op", "hold", "mutex mutexes+0x", 18, 18 } } },
	/* 7 */
	{ "mutexes",
	  "c11",
	  { { "wait", "mutex", "mtx_lock", 1, 1 },
	    { "wait", "mutex", "mtx_timedlock", 1, 1 },
	    { "link", "wake", "mutex mutexes+0x", 1, 1 } } },
	/* 8 */
	{ "mutexes",
	  "slept_in",
	  { { "wait", "mutex", "", 0, 0 }, { "op", "hold", "mutex mutexes+0x", 5, 5 } } },
	/* 9 */ { "mutexes", "tried", { { "wait", "mutex", "pthread_mutex_trylock", 11, 11 } } },
	/* 10 */
	{ "mutexes", "ceiling", { { "wait", "mutex", "pthread_mutex_setprioceiling", 1, 1 } } },
};

TARGET_SUITE()

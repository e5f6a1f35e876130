/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps in the kernel, and can be stopped there without a call of it failing.
 */
#ifndef WCPROF_ATTACH_SLEEPER_H
#define WCPROF_ATTACH_SLEEPER_H

#include "attach_stack.h"
#include "attach_threads.h"

/* In what a thread sleeps, in the order in which they are tried. */
enum attach_sleep {
	ATTACH_SLEEP_PLAIN,   /* the kernel begins it again by itself */
	ATTACH_SLEEP_AGAIN,   /* it is begun again here; it has no time limit */
	ATTACH_SLEEP_TIMED,   /* the kernel goes on with it, or, if the thread is left, it fails */
	ATTACH_SLEEP_LOCK,    /* as the first, but maybe for an allocator's lock */
	ATTACH_SLEEP_LIMITED, /* with a time limit, which begins anew, or else it fails */
	ATTACH_SLEEP_NONE
};

/* Holds one that may load a library. Whatever it did goes on afterwards. 0: there is none. */
pid_t attach_sleeper_find(struct attach_threads *threads, struct attach_stack *stack,
			  enum attach_sleep sleep);
/* One that sleeps in any way up to `most`, or with a time limit that has begun since the last look.
 * The limit begins anew, which is late by no more than the time between looks. A thread that is
 * stopped in vain is left alone for ever longer. */
pid_t attach_sleeper_find_new(struct attach_threads *threads, struct attach_stack *stack,
			      enum attach_sleep most);

#endif

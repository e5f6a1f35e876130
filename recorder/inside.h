/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call that a thread is inside of, as a record without times.
 *
 * The kernel says which call, with its arguments, and the thread's stack says which function of
 * libc's the program has called. census.def has the calls that make a record. The control thread.
 */
#ifndef WCPROF_INSIDE_H
#define WCPROF_INSIDE_H

#include "format.h"
#include "recorder.h"

enum { INSIDE_FRAMES_MAX = 64, INSIDE_HELD_MAX = 4 };

struct inside {
	uint32_t state; /* census.c's, and so what follows up to `held` */
	uint32_t tid;   /* 0 = nobody's */
	uint32_t opening;
	bool is_counted;   /* among those that wait for its lock */
	bool is_still;     /* it has not run since it was looked at */
	struct slot *slot; /* NULL: nothing of it was recorded before */
	uint64_t handle;   /* of what is open */
	uint32_t held_count;
	struct held_lock {
		uint64_t address;
		uint8_t type;    /* enum watch_type */
	} held[INSIDE_HELD_MAX]; /* locks that others waited for and it had */
	uint64_t cpu_ns;         /* that it had used */
	struct record record;    /* of the call; type RECORD_NONE: not known */
	uint8_t lock;            /* enum watch_type, or 0: it waited for one */
	bool is_shared;          /* that lock may be another process's too */
	uint32_t life;           /* the thread or child whose end it waited for; 0 = any child */
	uint32_t frame_count;
	uint64_t frames[INSIDE_FRAMES_MAX]; /* of who called */
};

/* The number of the thread that has the lock; 0 = none has, or readers, or it cannot be read. */
uint32_t inside_owner(uint64_t lock, uint8_t type) HIDDEN;

/* Of that thread of this process: record, lock, frames and CPU time, after stack_warm_up().
 * One that goes on meanwhile has another CPU time then. */
void inside_look(struct inside *, uint32_t tid) HIDDEN;

#endif

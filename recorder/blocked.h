/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a living process: what each is doing at the moment, what it is blocked on, and who
 * holds that.
 *
 * Nothing is stopped. Open records come from the arena, a lock's owner from the lock itself, the
 * rest from /proc. Threads go on meanwhile, so that two lines of the result may belong to moments
 * some microseconds apart. A thread that stays blocked is described rightly. Threads are a circle
 * only if none of them has moved between two looks.
 *
 * The control thread reads its own process; the wcprof command, another one whose control thread
 * does not answer.
 */
#ifndef WCPROF_BLOCKED_H
#define WCPROF_BLOCKED_H

#include "arena.h"
#include "tasks.h"
#include "text.h"

enum {
	BLOCKED_FRAMES_MAX = 64,
	/* Room for blocked_put(): at most so much for one thread, and for the rest. */
	BLOCKED_TEXT_BYTES = 8192
};

struct blocked_thread {
	uint32_t tid;
	char name[TASK_NAME_BYTES];
	char state;        /* as task_state() */
	struct record on;  /* the innermost wait or call that is open; type RECORD_NONE: none */
	int32_t call;      /* number of the system call in which it is, -1 = not known */
	uint64_t argument; /* the first one of that */
	uint64_t switches; /* task_switches() before that, where there is no record */
	uint64_t wait_ns;  /* 0 = not known */
	uint32_t holder;   /* thread that has what it waits for, 0 = nobody or nobody knows */
	uint64_t held_ns;  /* for so long, 0 = not known */
	int glimpse;       /* survey.c's */
	uint32_t frame_count;
	uint64_t frames[BLOCKED_FRAMES_MAX]; /* return addresses, innermost first */
};

struct blocked_list {
	uint32_t pid;
	const struct arena *arena; /* NULL: the process has never recorded */
	struct blocked_thread *threads;
	uint32_t count;
	uint32_t room;
	uint32_t *members; /* room for a circle */
};

/* All threads of the process but the recorder's own. 0; -ENOMEM; -ESRCH: there is no such process,
 * or no /proc. */
int blocked_read(struct blocked_list *, uint32_t pid, const struct arena *) HIDDEN;
void blocked_free(struct blocked_list *) HIDDEN;

/*
 * The circle of threads that wait for each other, from thread `first` on: puts their indexes in the
 * list into `members`, and returns their number. 0: there is no circle, or it was found from an
 * earlier thread.
 */
uint32_t blocked_circle(const struct blocked_list *, uint32_t first) HIDDEN;

/* The list as members of a JSON object: "threads" and "deadlocks". */
void blocked_put(struct text *, const struct blocked_list *) HIDDEN;

#endif

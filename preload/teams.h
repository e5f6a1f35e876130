/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP's teams: threads that libgomp keeps, which run one function together.
 *
 * The call that makes a team is given team_works() to run in place of the program's function. So
 * each thread is seen to begin and to end its part. Between two parts a thread waits in the dock
 * for its next team. The end of the parts is a barrier for all, and so are those inside. Teams
 * inside of teams are left alone, and so is what a thread waits for in a team that has tasks: it
 * does them meanwhile.
 */
#ifndef WCPROF_TEAMS_H
#define WCPROF_TEAMS_H

#include "hooks.h"

/* On the stack of the thread that makes it, its master. */
struct team {
	void (*work)(void *);
	void *data;
	struct hooks_thread *home; /* the master's; NULL = not recorded */
	struct team *outer;        /* in which the master makes it */
	struct caller caller;
	uint64_t began_ticks;
	uint64_t wait;    /* the master's, for the others' parts */
	uint32_t docked;  /* threads that wait for it */
	uint32_t arrived; /* so often, at barriers */
	bool has_tasks;
};

/* Around the call. `work` and `data` are what it is to be given. */
void team_begin(struct team *, void (**work)(void *), void **data, struct caller) HIDDEN;
void team_end(struct team *) HIDDEN;

/* The calling thread's team has tasks. */
void team_has_task(void) HIDDEN;

/* The wait of a barrier in a team begins: its handle; 0 = it is not recorded as one. */
uint64_t team_meets(uint32_t name, struct caller) HIDDEN;

#endif

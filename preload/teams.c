/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what the threads of OpenMP's teams wait for; teams.h has the contract.
 *
 * Numbers stand for what they wait for. They are bytes of the master's state: one for each thread's
 * dock, and one for the barrier of each size of team. A dock is a semaphore, to which the master
 * gives a permit when it makes its next team. Whether there is more in that team than itself it
 * knows a moment later, so the posts are dated back. A thread that arrives at the end of its part
 * has a wait of no length there, and then one at its dock. The barrier's end is not seen by it.
 *
 * Threads: those of the team. They write to the master's state only before they arrive at the end.
 */
#include "teams.h"

#include <string.h>

#include "guests.h"

static const char dock_name[] = "OpenMP dock", barrier_name[] = "OpenMP team";

enum { NUMBERS = sizeof(struct hooks_thread) / 2, FAR_BYTES = 1 << 20 };

static uint32_t ident_of(const char *name)
{
	return string_intern(name, strlen(name));
}

static const void *dock_of(const struct hooks_thread *home, uint32_t thread)
{
	return (const char *)home + thread % NUMBERS;
}

static const void *barrier_of(const struct team *team, uint32_t size)
{
	return (const char *)team->home + NUMBERS + size % NUMBERS;
}

static bool is_recorded(const struct team *team, uint32_t size)
{
	return size > 1 && !__atomic_load_n(&team->has_tasks, __ATOMIC_RELAXED);
}

/* The thread that comes last lets all go. */
static void arrive(struct self *self, struct team *team, uint32_t size, uint32_t ident)
{
	uint32_t arrived = 1 + __atomic_fetch_add(&team->arrived, 1, __ATOMIC_RELAXED);

	if (arrived % size == 0)
		link_record(self, LINK_WAKE, 0, barrier_of(team, size), ident, size - 1);
}

/* --- The master --- */

/* Those who are not in the new team end. A team of one has called nobody. */
static void call_docked(const struct team *team)
{
	bool is_alone = guests_team_size() == 1;
	struct self *self = team->docked && !is_alone ? hook_enter() : NULL;

	if (is_alone)
		hooks_thread.docked = team->docked;
	if (!self)
		return;
	uint32_t ident = ident_of(dock_name);
	for (uint32_t i = 1; i <= team->docked; i++)
		post_record(self, (uint64_t)(uintptr_t)dock_of(team->home, i), ident,
			    team->began_ticks);
	self_leave(self);
}

static void master_arrives(struct team *team)
{
	uint32_t size = guests_team_size();
	struct self *self = is_recorded(team, size) ? hook_enter() : NULL;

	if (!self)
		return;
	uint32_t ident = ident_of(barrier_name);
	arrive(self, team, size, ident);
	team->wait = wait_begin(self, REASON_BARRIER, ident, barrier_of(team, size), ident,
				caller_stack(self, team->caller), team->caller.frame);
	self_leave(self);
}

/* --- The others --- */

static void leave_dock(void)
{
	uint64_t wait = hooks_thread.dock_wait;
	struct self *self = wait ? hook_enter() : NULL;

	hooks_thread.dock_wait = 0;
	if (!self)
		return;
	wait_end(self, wait, 0, 0);
	self_leave(self);
}

static void go_to_dock(struct team *team)
{
	uint32_t size = guests_team_size();
	struct self *self = is_recorded(team, size) ? hook_enter() : NULL;

	if (!self)
		return;
	uint32_t barrier = ident_of(barrier_name), dock = ident_of(dock_name);
	arrive(self, team, size, barrier);
	wait_met(self, REASON_BARRIER, barrier, barrier_of(team, size), barrier, 0);
	/* It outlasts its frame. It is as one from far down the stack: any call of a part that is
	 * not seen to begin ends it. */
	hooks_thread.dock_wait =
		wait_begin(self, REASON_SEM, dock, dock_of(team->home, guests_team_thread()), dock,
			   0, (const char *)__builtin_frame_address(0) - FAR_BYTES);
	__atomic_fetch_add(&team->home->docked, 1, __ATOMIC_RELAXED);
	self_leave(self);
}

/* --- All --- */

static void team_works(void *argument)
{
	struct team *team = argument;
	bool is_master = team->home == &hooks_thread;

	hooks_thread.team = team;
	if (is_master)
		call_docked(team);
	else
		leave_dock();
	team->work(team->data);
	if (is_master)
		master_arrives(team);
	else
		go_to_dock(team);
	hooks_thread.team = NULL;
}

void team_begin(struct team *team, void (**work)(void *), void **data, struct caller caller)
{
	*team = (struct team){ .outer = hooks_thread.team, .caller = caller };
	hooks_thread.team = NULL;
	if (recorder_is_off() || team->outer)
		return;
	team->work = *work;
	team->data = *data;
	team->home = &hooks_thread;
	team->began_ticks = clock_ticks();
	team->docked = hooks_thread.docked;
	hooks_thread.docked = 0;
	*work = team_works;
	*data = team;
}

void team_end(struct team *team)
{
	struct self *self = team->wait ? hook_enter() : NULL;

	hooks_thread.team = team->outer;
	if (!self)
		return;
	wait_end(self, team->wait, 0, 0);
	self_leave(self);
}

void team_has_task(void)
{
	struct team *team = hooks_thread.team;

	if (team)
		__atomic_store_n(&team->has_tasks, true, __ATOMIC_RELAXED);
}

uint64_t team_meets(uint32_t name, struct caller caller)
{
	struct team *team = hooks_thread.team;
	uint32_t size = team ? guests_team_size() : 1;
	struct self *self = team && is_recorded(team, size) ? hook_enter() : NULL;
	uint64_t wait;

	if (!self)
		return 0;
	uint32_t ident = ident_of(barrier_name);
	arrive(self, team, size, ident);
	wait = wait_begin(self, REASON_BARRIER, name, barrier_of(team, size), ident,
			  caller_stack(self, caller), caller.frame);
	self_leave(self);
	return wait;
}

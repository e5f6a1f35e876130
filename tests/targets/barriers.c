/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: three threads meet at `meeting` five times; `initialise` is waited for by one
 * thread.
 */
#include "scenario.h"

#include <threads.h>

static pthread_barrier_t meeting;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag once_c11 = ONCE_FLAG_INIT;
static volatile int is_inside;
static volatile int may_leave;

static void meet(void)
{
	for (int i = 0; i < 5; i++)
		pthread_barrier_wait(&meeting);
}

static void barrier(void)
{
	struct helper first, second;
	pthread_barrier_init(&meeting, NULL, 3);
	helper_start(&first, meet);
	helper_start(&second, meet);
	meet();
	helper_join(&first);
	helper_join(&second);
	say("destroy", pthread_barrier_destroy(&meeting));
}

static void initialise(void)
{
	puts("initialise");
	is_inside = 1;
	while (!may_leave)
		sched_yield();
}

static void run_once(void)
{
	say("once", pthread_once(&once, initialise));
}

static void run_once_c11(void)
{
	call_once(&once_c11, initialise);
}

static void twice(void (*routine)(void))
{
	struct helper first, second;
	is_inside = 0;
	may_leave = 0;
	helper_start(&first, routine);
	while (!is_inside)
		sched_yield();
	helper_start(&second, routine);
	until_in_call(second.tid, SYS_futex);
	may_leave = 1;
	helper_join(&first);
	helper_join(&second);
	routine();
}

static void pthread_form(void)
{
	twice(run_once);
}

static void c11_form(void)
{
	twice(run_once_c11);
}

static void initialise_for_ever(void)
{
	puts("initialise");
	is_inside = 1;
	for (;;)
		pthread_testcancel();
}

static void run_for_ever(void)
{
	pthread_once(&once, initialise_for_ever);
}

/* A cancelled initialiser leaves the control as new. */
static void cancelled(void)
{
	struct helper helper;
	helper_start(&helper, run_for_ever);
	while (!is_inside)
		sched_yield();
	pthread_cancel(helper.thread);
	helper_join(&helper);
	may_leave = 1;
	run_once();
}

static const struct scenario scenarios[] = {
	{ "barrier", barrier },
	{ "once", pthread_form },
	{ "c11", c11_form },
	{ "cancelled", cancelled },
};

SCENARIOS_MAIN

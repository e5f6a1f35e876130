/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a thread would be woken on another CPU than Linux puts it on. */
#include "replay/runqueues.h"

#include "recording/recording.h"
#include "suite.h"

static const double MS = 1e6;

enum { CPUS = 4 };

/* An actor has run on a CPU and sleeps. Then it wakes while some CPUs are busy. */
static const struct {
	uint32_t cache_cpus;
	uint32_t was_on;
	uint32_t waker_on; /* CPUS: a timer wakes it */
	bool is_busy[CPUS];
	uint32_t goes_to;
} rows[] = {
	/* 0: where it was */ { 0, 1, 0, { 1, 0, 0, 0 }, 1 },
	/* 1: any idle CPU, if all share a cache */ { 0, 1, 1, { 0, 1, 1, 1 }, 0 },
	/* 2 */ { 4, 1, 1, { 1, 1, 1, 0 }, 3 },
	/* 3: it stays behind its waker */ { 1, 1, 1, { 0, 1, 0, 0 }, 1 },
	/* 4: or where it was */ { 1, 1, CPUS, { 0, 1, 0, 0 }, 1 },
	/* 5: its waker's is as long */ { 1, 1, 3, { 0, 1, 0, 1 }, 1 },
	/* 6: where it was, if that is idle */ { 1, 1, 3, { 0, 0, 0, 1 }, 1 },
	/* 7 */ { 2, 0, 3, { 1, 1, 0, 1 }, 0 },
	/* 8: beside where it was */ { 2, 0, CPUS, { 1, 0, 0, 0 }, 1 },
	/* 9: none of those is idle */ { 2, 0, CPUS, { 1, 1, 0, 0 }, 0 },
};

START_TEST(an_actor_wakes_where_linux_puts_it)
{
	const uint32_t sleeper = CPUS;
	struct runqueues queues;

	runqueues_make(&queues, CPUS + 1, CPUS);
	runqueues_reset(&queues, CPUS, assume.tick);
	queues.cache_cpus = rows[_i].cache_cpus;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		runqueues_enter(&queues, 0, cpu, 100 * MS); /* one for each CPU, in order */
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		if (!rows[_i].is_busy[cpu])
			runqueues_off(&queues, 0, cpu);
	queues.runners[sleeper].cpu = rows[_i].was_on;
	if (rows[_i].waker_on < CPUS)
		runqueues_woken(&queues, sleeper, rows[_i].waker_on);
	runqueues_enter(&queues, 0, sleeper, MS);
	ck_assert_uint_eq(queues.runners[sleeper].cpu, rows[_i].goes_to);
	ck_assert_uint_eq(queues.runners[sleeper].waker_cpu, NO_INDEX);
	runqueues_free(&queues);
}
END_TEST

SUITE()
{
	EACH(an_actor_wakes_where_linux_puts_it, rows);
}

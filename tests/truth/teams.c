/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ground truth: OpenMP, as a compiler writes it: teams that run loops, by calls of libgomp.
 *
 * The threads of a team wait for each other at the end of each part, at barriers inside of it, and
 * for a critical section.
 */
#include <stdbool.h>

#include "truth.h"

void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void GOMP_parallel_loop_dynamic(void (*)(void *), void *, unsigned, long, long, long, long,
				unsigned);
bool GOMP_loop_dynamic_next(long *, long *);
void GOMP_loop_end_nowait(void);
void GOMP_barrier(void);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
int omp_get_thread_num(void);

enum { TEAM = 4, ITEMS = 40 };

/* team-static: each thread has as many items; those of one are long (work_a), the others' are not
 * (work_b). Behind each part the master is alone (work_c). */
static void static_part(void *unused)
{
	(void)unused;
	int thread = omp_get_thread_num();

	for (int i = 0; i < ITEMS / TEAM; i++)
		if (thread == 2)
			work_a();
		else
			work_b();
}

static void pattern_static(void)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		GOMP_parallel(static_part, NULL, TEAM, 0);
		work_c();
	}
}

/* team-phases: one part with a barrier behind each of two loops, whose items differ by thread. */
static void phases(void *unused)
{
	(void)unused;
	int thread = omp_get_thread_num();

	for (long i = count_of("T_N"); i > 0; i--) {
		for (int k = 0; k < 2 + thread; k++)
			work_a();
		GOMP_barrier();
		for (int k = 0; k < 2 + (thread + 2) % TEAM; k++)
			work_b();
		GOMP_barrier();
	}
}

static void pattern_phases(void)
{
	GOMP_parallel(phases, NULL, TEAM, 0);
}

/* team-section: whoever is free has the next item (work_a), and adds its result under the one lock
 * that sections without a name have (work_b). */
static void dynamic_part(void *unused)
{
	long from, to;

	(void)unused;
	while (GOMP_loop_dynamic_next(&from, &to))
		for (; from < to; from++) {
			work_a();
			GOMP_critical_start();
			work_b();
			GOMP_critical_end();
		}
	GOMP_loop_end_nowait();
}

static void pattern_section(void)
{
	for (long i = count_of("T_N"); i > 0; i--)
		GOMP_parallel_loop_dynamic(dynamic_part, NULL, TEAM, 0, ITEMS, 1, 1, 0);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "static", pattern_static },
						   { "phases", pattern_phases },
						   { "section", pattern_section },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

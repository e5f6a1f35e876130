/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of two threads with samples, waits and names, for the tests of what is made of those.
 *
 * Thread "n1" ran `leaf` (n11) below `main` (n10), and once `main` itself; thread "n2" waited for a
 * lock and slept. Everything is static; one test at a time.
 */
#ifndef WCPROF_TESTS_CPU_SAMPLE_H
#define WCPROF_TESTS_CPU_SAMPLE_H

#include "sketch.h"
#include "names/framenames.h"

enum { CPU_MAIN = 10, CPU_LEAF = 11, CPU_LOCK = 12 };

/* Stacks: none, leaf < main, main, another place in leaf < main, leaf < leaf < main. */
static struct rec_stack cpu_stacks[] = { { 0, 0 }, { 0, 2 }, { 2, 1 }, { 3, 2 }, { 5, 3 } };
static uint32_t cpu_first[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
static uint32_t cpu_functions[] = { CPU_LEAF, CPU_MAIN, CPU_MAIN, CPU_LEAF,
				    CPU_MAIN, CPU_LEAF, CPU_LEAF, CPU_MAIN };
static const struct frame_names cpu_names = { .first = cpu_first, .names = cpu_functions };
static struct rec_thread cpu_threads[] = { { .name = 1, .op = 0 }, { .name = 2, .op = 1 } };
static struct rec_process cpu_processes[] = { { .pid = 7, .op = NO_INDEX } };

/* In microseconds: 100 of CPU before the recording, 3000 in leaf, 1000 in main, 400 in none. */
static struct rec_sample cpu_samples[] = {
	{ .thread = 0, .at_ns = 0, .cpu_ns = 100000, .op = 0 },
	{ .thread = 0, .at_ns = 1000000, .cpu_ns = 1100000, .op = 0, .stack = 1 },
	{ .thread = 0, .at_ns = 1500000, .cpu_ns = 1600000, .op = 0 },
	{ .thread = 0, .at_ns = 2000000, .cpu_ns = 2100000, .op = 0, .stack = 3 },
	{ .thread = 0, .at_ns = 3000000, .cpu_ns = 3100000, .op = 0, .stack = 2 },
	{ .thread = 0, .at_ns = 4000000, .cpu_ns = 4100000, .op = NO_INDEX, .stack = 4 },
	{ .thread = 0, .at_ns = 5000000, .cpu_ns = 4500000, .op = 0 },
	{ .thread = 1, .at_ns = 0, .cpu_ns = 0, .op = 1 },
	{ .thread = 1, .at_ns = 5000000, .cpu_ns = 0, .op = 1 },
};

static inline void cpu_sketch(struct sketch *sketch)
{
	struct recording *recording = &sketch->rec;

	sketch_begin(sketch);
	recording->threads = cpu_threads;
	recording->thread_count = 2;
	recording->processes = cpu_processes;
	recording->process_count = 1;
	recording->stacks = cpu_stacks;
	recording->stack_count = sizeof(cpu_stacks) / sizeof(cpu_stacks[0]);
	recording->frame_count = 8;
	recording->samples = cpu_samples;
	recording->sample_count = sizeof(cpu_samples) / sizeof(cpu_samples[0]);
	/* 0 */ sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, 3, 0, 5000000);
	/* 1 */ sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, 4, 0, 5000000);
	/* 2 */ sketch_bare_op(sketch, 1, KIND_SLEEP, 5, 2000000, 4000000);
	/* 3 */ sketch_bare_op(sketch, 0, KIND_HOLD, CPU_LOCK, 0, 2000000);
	recording->ops[0].thread = recording->ops[3].thread = 0;
	recording->ops[1].thread = recording->ops[2].thread = 1;
	sketch_bare_wait(sketch, 1, 3, REASON_MUTEX, 0, 2000000);
	recording->waits[0].thread = 1;
	recording->waits[0].ident = CPU_LOCK;
	recording->waits[0].stack = 2;
}

#endif

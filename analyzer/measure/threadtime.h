/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of each thread went: on a CPU, blocked in which sort of call, or unexplained.
 *
 * For each thread, on CPU + waiting for a CPU + blocked + unexplained = wall, exactly. Waiting is
 * as the kernel counts it, outside recorded calls: what it takes to wake up from a call is the
 * call's. Unexplained is the rest: the thread was blocked by something that is no recorded call,
 * such as a page fault. A thread that lived too shortly for its waits to be known has some as well.
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_THREADTIME_H
#define WCPROF_THREADTIME_H

#include "threadslices.h"

/* One sort of call: the reason of a wait, or the kind of an op. */
struct thread_block {
	uint32_t cause; /* thread_cause_word() has its word */
	uint64_t ns;
};

struct thread_time {
	uint32_t thread;
	bool has_cpu; /* the recording says how much CPU time it used */
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t blocked_ns;
	uint64_t queued_ns; /* waiting for a CPU */
	uint64_t unexplained_ns;
	const struct thread_block *blocks; /* longest first, sum is blocked_ns */
	uint32_t block_count;
};

struct process_time {
	uint32_t process;
	uint32_t thread_count;
	uint64_t wall_ns; /* from its first start to its last end */
	uint64_t cpu_ns;  /* these four: of all its threads */
	uint64_t blocked_ns;
	uint64_t queued_ns;
	uint64_t unexplained_ns;
	uint64_t thread_ns;
};

struct thread_table {
	struct thread_time *rows; /* most CPU time first, then longest */
	uint32_t count;
	struct process_time *processes; /* most CPU time first, then longest */
	uint32_t process_count;
	struct thread_block *blocks;
};

/* Empty for a recording that names no threads. */
void thread_table_build(struct thread_table *table, const struct recording *recording);
void thread_table_free(struct thread_table *table);

/* Of a slice in a call: the sort of that call. */
uint32_t thread_cause_of(const struct recording *recording, const struct thread_slice *slice);
const char *thread_cause_word(const struct recording *recording, uint32_t cause);

#endif

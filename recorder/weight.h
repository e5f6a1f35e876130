/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a contended CPU the kernel gives a thread: its scheduling weight, by policy and nice
 * value.
 *
 * Any thread may ask about any of its process: two system calls, nothing is kept.
 */
#ifndef WCPROF_WEIGHT_H
#define WCPROF_WEIGHT_H

#include <stdint.h>

#include "recorder.h"

enum {
	WEIGHT_PLAIN = 1024, /* of nice 0; each step of nice is a quarter more or a fifth less */
	WEIGHT_IDLE = 3,     /* SCHED_IDLE: what others leave */
	WEIGHT_REAL_TIME = 1 << 20, /* before all others: no weight is as large */
};

/* 0: not known. */
uint32_t weight_of_thread(uint32_t tid) HIDDEN;

/* Of an ordinary thread, by its nice value. */
uint32_t weight_of_nice(int nice) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work for traces. Each reads once for no trace, and twice for one span. Then it reads
 * once for the next span of the same trace, and once for none again.
 */
#ifndef TRACED_H
#define TRACED_H

#include "scenario.h"

#include <fcntl.h>
#include <stdint.h>

enum { THREADS = 2 };

static int zeros;
/* Says for which span of which trace this thread works. */
static void (*publish)(const uint8_t *trace_id, const uint8_t *span_id);

static void read_once(void)
{
	char byte;

	say_errno("read", read(zeros, &byte, 1));
}

static void *work(void *number)
{
	uint8_t trace_id[16] = { 0x0a, 0xf7, 0x65, [15] = (uint8_t)(uintptr_t)number };
	uint8_t span_id[8] = { 0xb7, [7] = 1 };

	read_once();
	publish(trace_id, span_id);
	read_once();
	read_once();
	span_id[7] = 2;
	publish(trace_id, span_id);
	read_once();
	publish(NULL, NULL);
	read_once();
	return NULL;
}

static void work_on_threads(void)
{
	pthread_t threads[THREADS];

	zeros = open("/dev/zero", O_RDONLY);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#endif

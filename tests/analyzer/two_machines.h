/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a thread on each of two machines that ask and answer, by clocks that are apart.
 *
 * Included by test programs one each, so its functions are static. One thread.
 */
#ifndef WCPROF_TESTS_TWO_MACHINES_H
#define WCPROF_TESTS_TWO_MACHINES_H

#include "recording/hosts.h"
#include "sketch.h"

enum { MACHINE_BOOTS = 10, MESSAGES = 200 }; /* names of the sketch */

struct two_machines {
	struct sketch sketch;
	struct rec_process processes[3];
	double offset_ms; /* to be added to the times of the second one */
	double drift;
};

static inline void machines_begin(struct two_machines *machines, double offset_ms)
{
	struct recording *rec = &machines->sketch.rec;

	sketch_begin(&machines->sketch);
	machines->offset_ms = offset_ms;
	machines->drift = 0;
	rec->processes = machines->processes;
	rec->process_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		machines->processes[i] = (struct rec_process){ .boot = MACHINE_BOOTS + i,
							       .host = MACHINE_BOOTS + i,
							       .op = NO_INDEX };
	for (uint32_t i = 0; i < 3; i++) {
		sketch_thread(&machines->sketch, "serve", 0, 100000);
		rec->threads[i].process = i;
	}
}

/* The clock of the second one, at a time of the first one's. */
static inline double second_ms(const struct two_machines *machines, double at_ms)
{
	return (at_ms - machines->offset_ms) / (1 + machines->drift);
}

/* When the n-th question is asked: pauses of 1 to 20 ms, or all the same. */
static inline double asked_ms(uint32_t number, bool is_regular)
{
	double at_ms = 2000;

	for (uint32_t i = 0; i < number; i++)
		at_ms += is_regular ? 10 : 1 + (double)(i * i * 2654435761u % 19000) / 1000;
	return at_ms;
}

/* The n-th question and its answer; each takes 0.05 ms on the way. From `from` on the first machine
 * records, from `other_from` on the second one. */
static inline void ask(struct two_machines *machines, uint32_t number, bool is_regular,
		       bool is_first, bool is_second)
{
	static const char there[] = "tcp 10.0.0.1:5>10.0.0.2:80",
			  back[] = "tcp 10.0.0.2:80>10.0.0.1:5";
	struct sketch *sketch = &machines->sketch;
	double at_ms = asked_ms(number, is_regular);
	uint64_t bytes = 64;

	if (is_first)
		sketch_io(sketch, 0, "write", there, bytes, at_ms, at_ms + 0.01);
	if (is_second)
		sketch_io(sketch, 1, "read", back, bytes, second_ms(machines, at_ms - 0.5),
			  second_ms(machines, at_ms + 0.05));
	if (is_second)
		sketch_io(sketch, 1, "write", back, bytes, second_ms(machines, at_ms + 0.5),
			  second_ms(machines, at_ms + 0.51));
	if (is_first)
		sketch_io(sketch, 0, "read", there, bytes, at_ms + 0.02, at_ms + 0.55);
}

static inline void connect_first(struct two_machines *machines)
{
	sketch_io(&machines->sketch, 0, "connect", "tcp 10.0.0.1:5>10.0.0.2:80", 0, 1999, 1999.5);
}

#endif

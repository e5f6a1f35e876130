/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work with things of which each is for one thread at a time, as a sketch. A thread
 * waits until nobody has its key, on one condition for all keys. The sketch is what a program would
 * have recorded, worked out event by event.
 */
#ifndef WCPROF_TESTS_KEYED_H
#define WCPROF_TESTS_KEYED_H

#include "sketch.h"

#include <math.h>

enum { KEYED_THREADS = 5, KEYED_STAYS = 80, KEYED_MOST = 8 };
enum { ENTERS_AT = 1, LEAVES_AT = 2 };

struct keyed {
	uint32_t keys;
	uint32_t seed;
	double use;            /* times the work with a key */
	double rest;           /* times the work without */
	bool is_in_turn;       /* the key is the thread's own, and its neighbour's after that */
	struct sketch *sketch; /* NULL = only the time */
	/* The rest is of a run. */
	double next_ms[KEYED_THREADS]; /* it comes, or gives its key back; < 0 = it ended then */
	double waits_ms[KEYED_THREADS];
	bool waits[KEYED_THREADS];
	bool has_key[KEYED_THREADS];
	uint32_t stays[KEYED_THREADS];
	uint32_t looks;
	double looked_ms;            /* the last of all that wait did */
	uint32_t holder[KEYED_MOST]; /* by key: its thread, NO_INDEX = none */
};

static const double keyed_hold_ms = 0.001, keyed_wake_ms = 0.01;

/* Without any order. */
static inline uint32_t keyed_number(uint32_t thread, uint32_t stay, uint32_t salt)
{
	uint32_t hash = (stay * 31 + thread * 7 + salt * 1009 + 1) * 2654435761u;

	hash = (hash ^ hash >> 15) * 2246822519u;
	return hash ^ hash >> 13;
}

static inline uint32_t keyed_key(const struct keyed *keyed, uint32_t thread)
{
	return keyed->is_in_turn
		       ? (thread + keyed->stays[thread]) % keyed->keys
		       : keyed_number(thread, keyed->stays[thread], 1 + keyed->seed) % keyed->keys;
}

static inline double keyed_ms(const struct keyed *keyed, uint32_t thread, uint32_t salt)
{
	return 1 + (keyed_number(thread, keyed->stays[thread], salt + keyed->seed) % 1000) / 1000.0;
}

static inline void keyed_hold(struct keyed *keyed, uint32_t thread, uint32_t site, double at_ms)
{
	if (keyed->sketch)
		sketch_hold(keyed->sketch, thread + 1, "M", site, at_ms, at_ms + keyed_hold_ms);
}

static inline void keyed_sleep(struct keyed *keyed, uint32_t thread, const char *name, double at_ms,
			       double ms)
{
	if (keyed->sketch && ms > 0)
		sketch_sleep(keyed->sketch, thread + 1, name, at_ms, at_ms + ms);
}

static inline void keyed_gets(struct keyed *keyed, uint32_t thread, double at_ms)
{
	double ms = keyed->use * keyed_ms(keyed, thread, 2);

	keyed_hold(keyed, thread, ENTERS_AT, at_ms);
	keyed_sleep(keyed, thread, "use", at_ms + keyed_hold_ms, ms);
	keyed->holder[keyed_key(keyed, thread)] = thread;
	keyed->has_key[thread] = true;
	keyed->waits[thread] = false;
	keyed->next_ms[thread] = at_ms + keyed_hold_ms + ms;
}

static inline void keyed_comes(struct keyed *keyed, uint32_t thread)
{
	double at_ms = keyed->next_ms[thread];

	if (keyed->holder[keyed_key(keyed, thread)] == NO_INDEX) {
		keyed_gets(keyed, thread, at_ms);
		return;
	}
	keyed_hold(keyed, thread, ENTERS_AT, at_ms);
	keyed->waits[thread] = true;
	keyed->waits_ms[thread] = at_ms + keyed_hold_ms;
}

/* All that wait look, one after the other, each time another one first. */
static inline void keyed_look(struct keyed *keyed, double from_ms)
{
	from_ms = fmax(from_ms, keyed->looked_ms);
	keyed->looks++;
	for (uint32_t n = 0; n < KEYED_THREADS; n++) {
		uint32_t i = (keyed->looks + n) % KEYED_THREADS;

		if (!keyed->waits[i])
			continue;
		if (keyed->sketch)
			sketch_wait(keyed->sketch, i + 1, REASON_COND, "is free",
				    keyed->waits_ms[i], from_ms, NO_INDEX);
		if (keyed->holder[keyed_key(keyed, i)] == NO_INDEX) {
			keyed_gets(keyed, i, from_ms);
		} else {
			keyed_hold(keyed, i, ENTERS_AT, from_ms);
			keyed->waits_ms[i] = from_ms + keyed_hold_ms;
		}
		from_ms += 2 * keyed_hold_ms;
	}
	keyed->looked_ms = from_ms;
}

static inline void keyed_leaves(struct keyed *keyed, uint32_t thread)
{
	double at_ms = keyed->next_ms[thread], ms = keyed->rest * keyed_ms(keyed, thread, 3);
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < KEYED_THREADS; i++)
		waiting += keyed->waits[i];
	keyed_hold(keyed, thread, LEAVES_AT, at_ms);
	if (keyed->sketch)
		keyed->sketch->rec
			.links[sketch_link(keyed->sketch, thread + 1, LINK_WAKE, "is free",
					   at_ms + keyed_hold_ms / 2, waiting, NO_INDEX)]
			.all = true;
	keyed->holder[keyed_key(keyed, thread)] = NO_INDEX;
	keyed->has_key[thread] = false;
	keyed_look(keyed, at_ms + keyed_wake_ms);
	at_ms += keyed_hold_ms;
	if (++keyed->stays[thread] == KEYED_STAYS) {
		keyed->next_ms[thread] = -at_ms;
		return;
	}
	keyed_sleep(keyed, thread, "rest", at_ms, ms);
	keyed->next_ms[thread] = at_ms + ms;
}

/* Returns when the last thread has ended. */
static inline double keyed_run(struct keyed *keyed)
{
	double end_ms = 0;

	for (uint32_t i = 0; i < KEYED_MOST; i++)
		keyed->holder[i] = NO_INDEX;
	for (uint32_t i = 0; i < KEYED_THREADS; i++)
		keyed->next_ms[i] = 1 + i * 0.1;
	for (;;) {
		uint32_t first = NO_INDEX;

		for (uint32_t i = 0; i < KEYED_THREADS; i++)
			if (!keyed->waits[i] && keyed->next_ms[i] > 0 &&
			    (first == NO_INDEX || keyed->next_ms[i] < keyed->next_ms[first]))
				first = i;
		if (first == NO_INDEX)
			break;
		if (keyed->has_key[first])
			keyed_leaves(keyed, first);
		else
			keyed_comes(keyed, first);
	}
	for (uint32_t i = 0; i < KEYED_THREADS; i++)
		end_ms = -keyed->next_ms[i] > end_ms ? -keyed->next_ms[i] : end_ms;
	return end_ms;
}

/* The same as a sketch, in which a first thread starts all others and joins them. */
static inline double keyed_sketch(struct keyed *keyed, struct sketch *sketch)
{
	struct keyed alone = *keyed;
	double end_ms = keyed_run(&alone), joined_ms = 0.6;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	for (uint32_t i = 0; i < KEYED_THREADS; i++)
		sketch_thread(sketch, "user", 1 + i * 0.1, -alone.next_ms[i]);
	for (uint32_t i = 0; i < KEYED_THREADS; i++)
		sketch_link(sketch, 0, LINK_SPAWN, "", 0.5, 0, sketch->rec.threads[i + 1].op);
	for (uint32_t i = 0; i < KEYED_THREADS; i++) {
		double to_ms = -alone.next_ms[i] > joined_ms ? -alone.next_ms[i] : joined_ms;

		sketch_wait(sketch, 0, REASON_JOIN, "", joined_ms, to_ms,
			    sketch->rec.threads[i + 1].op);
		joined_ms = to_ms;
	}
	keyed->sketch = sketch;
	return keyed_run(keyed);
}

#endif

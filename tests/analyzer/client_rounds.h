/* SPDX-License-Identifier: Apache-2.0 */
/* A server that answers in rounds, and what is at the end of its clients. */
#ifndef WCPROF_TESTS_CLIENT_ROUNDS_H
#define WCPROF_TESTS_CLIENT_ROUNDS_H

#include "client_server.h"
#include "random.h"

#include <math.h>

enum { CONNECTIONS = 8, ROUNDS = 180, LONE = 100, TOGETHER = 140, REST_US = 200 };

/* A server that reads all that its poll found, syncs, and answers all, the last one first. */
struct rounds {
	bool is_one;    /* a thread has all connections; else each thinks for itself */
	bool is_own;    /* the server reads by number of the connection */
	double work_us; /* for a question; a client of its own thinks for up to 20 times that */
	double back_us; /* so long it takes the thread to be back from a rest */
	double sync_us; /* at least, and up to twice as long */
	/* The server takes so long to be back from its poll, after rounds of one connection alone;
	 * 0: there are no such rounds. */
	double wake_us;
};

static inline double rounds_part(uint64_t *state)
{
	return (double)random_number(state, 1000) / 1000;
}

static inline const char *rounds_name(unsigned connection)
{
	static char names[CONNECTIONS][40];

	snprintf(names[connection], sizeof(names[connection]), "tcp 1.2.3.4:80>1.2.3.4:%u",
		 5000 + connection);
	return names[connection];
}

/* Which of those that have sent comes next; CONNECTIONS = none. */
static inline unsigned rounds_next(const struct rounds *rounds, const double *sent_us,
				   double until_us)
{
	unsigned next = CONNECTIONS;

	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (sent_us[i] <= until_us &&
		    (next == CONNECTIONS || (!rounds->is_own && sent_us[i] < sent_us[next])))
			next = i;
	return next;
}

static inline double rounds_first_us(const double *sent_us)
{
	double first = INFINITY;

	for (unsigned i = 0; i < CONNECTIONS; i++)
		first = fmin(first, sent_us[i]);
	return first;
}

/* Returns how long all took. */
static inline double rounds_sketch(struct sketch *sketch, const struct rounds *rounds)
{
	double sent_us[CONNECTIONS], left_us = 0, now_us = 0;
	uint64_t state = 3;

	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 100000);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		sent_us[i] = i;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned found[CONNECTIONS], count = 0;
		double poll_us = now_us, found_us = now_us + 9;

		if (rounds_first_us(sent_us) > found_us)
			found_us =
				rounds_first_us(sent_us) + (round < TOGETHER ? 0 : rounds->wake_us);

		now_us = found_us;
		for (unsigned i = 0; i < CONNECTIONS && round == TOGETHER; i++)
			if (isinf(sent_us[i]))
				sent_us[i] = rounds_first_us(sent_us);
		uint32_t poll = sketch->rec.op_count;

		served_poll(sketch, 0, 1, poll_us / 1e3, now_us / 1e3);
		for (unsigned i; (i = rounds_next(rounds, sent_us, found_us)) < CONNECTIONS;) {
			served_call(sketch, 0, "read", rounds_name(i), 10, now_us / 1e3,
				    (now_us + 1) / 1e3);
			now_us += 2;
			found[count++] = i;
			sent_us[i] = INFINITY;
		}
		sketch->rec.extras[poll].amount = count;
		double sync_us = rounds->sync_us * (1 + rounds_part(&state));

		sketch_io(sketch, 0, "sync", "file /x", 1, now_us / 1e3, (now_us + sync_us) / 1e3);
		now_us += sync_us;
		while (count--) {
			unsigned i = found[count];
			double own_us = 20 * rounds->work_us * rounds_part(&state);

			served_call(sketch, 0, "write", rounds_name(i), 20, now_us / 1e3,
				    (now_us + 4) / 1e3);
			now_us += 5;
			if (now_us > left_us + REST_US)
				left_us = now_us + rounds->back_us;
			left_us = fmax(left_us, now_us) + rounds->work_us;
			sent_us[i] = rounds->is_one ? left_us : now_us + own_us;
			if (i && rounds->wake_us > 0 && round >= LONE && round < TOGETHER)
				sent_us[i] = INFINITY;
		}
	}
	sketch->rec.extras[0].open = true;
	sketch->rec.open_op_count = 1;
	sketch_end(sketch);
	return now_us / 1e3;
}

#endif

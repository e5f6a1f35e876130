/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why NEW takes longer, or shorter: NEW replayed with one class after the other put back to what it
 * cost in OLD.
 *
 * A class has two parts: the length of one op, and their number per unit. The effect of a part is
 * the mean of what it brings alone, and of what it brings beside the other part. Classes that
 * are the same time, or a part of each other, do not add up: together they are put back once.
 *
 * Read-only once built. One thread.
 */
#ifndef WCPROF_CAUSES_H
#define WCPROF_CAUSES_H

#include "base/emit.h"
#include "compare.h"

enum { CAUSES_REASON_BYTES = 512 };

/* The part of the difference of a unit's time that is due to something, by the replay. */
struct cause_effect {
	double p50_ns; /* of requests; of a run the makespan */
	double p99_ns; /* of requests, else 0 */
};

enum cause_sort {
	CAUSE_NEW,    /* OLD has no such class */
	CAUSE_LENGTH, /* one op takes so many times as long */
	CAUSE_NUMBER, /* there are so many times as many ops */
	CAUSE_TIME    /* of what is not counted: it takes so many times as long */
};

struct cause {
	const struct difference *row; /* of the class, its time */
	enum cause_sort sort;
	uint32_t hypothesis; /* of the analysis */
	double times;        /* NEW's / OLD's; 0 = it is new */
	double factor;       /* that puts all of the class back */
	struct cause_effect effect;
	bool is_together; /* its class is among those that are put back together */
};

struct causes {
	struct cause *rows; /* the largest effect first */
	size_t count;
	struct cause_effect measured; /* NEW's minus OLD's */
	struct cause_effect together;
	bool is_withheld;
	char reason[CAUSES_REASON_BYTES]; /* of that */
};

/* By the replay of `analysis`, a recording of NEW with its answers. */
void causes_build(struct causes *causes, const struct comparison *comparison,
		  const struct analysis *analysis);
void causes_free(struct causes *causes);

void causes_print(const struct causes *causes, const struct comparison *comparison,
		  struct emit *emit);

#endif

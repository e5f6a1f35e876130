/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analysis of 600 requests of which a hundredth is slow, for the tests of their tail.
 *
 * tailing_make() ... tailing_free().
 */
#ifndef WCPROF_TESTS_TAILING_H
#define WCPROF_TESTS_TAILING_H

#include "format.h"
#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

enum { TAILING_COUNT = 600, TAILING_WORK = 0, TAILING_LOCK = 1, TAILING_ASK = 2 };

/* Requests of 1 us, each hundredth of 5 us more in a lock. They begin in reverse order. */
struct tailing {
	struct sketch sketch;
	struct script script;
	struct options options;
	struct analysis analysis;
	struct request requests[TAILING_COUNT + 1];
	size_t first[TAILING_COUNT + 2];
	uint32_t part[2 * TAILING_COUNT + 2];
	uint64_t ns[2 * TAILING_COUNT + 2];
};

static inline void tailing_make(struct tailing *tailing)
{
	*tailing = (struct tailing){ .options = { .top = 20, .tail = "" } };
	struct analysis *analysis = &tailing->analysis;
	size_t parts = 0;
	sketch_begin(&tailing->sketch);
	sketch_thread(&tailing->sketch, "main", 0, 100);
	sketch_thread(&tailing->sketch, "holder", 0, 100);
	uint32_t hold = sketch_hold(&tailing->sketch, 1, "table", 1, 0, 6);
	uint32_t wait = sketch_wait(&tailing->sketch, 0, REASON_MUTEX, "table", 1, 6, hold);
	tailing->sketch.rec.waits[wait].ident = sketch_string(&tailing->sketch, "table");
	sketch_sleep(&tailing->sketch, 0, "nap", 6, 8);
	uint32_t table = sketch_string(&tailing->sketch, "table");
	sketch_end(&tailing->sketch);
	path_parts_begin(&analysis->paths.parts);
	path_parts_add(&analysis->paths.parts, PATH_CPU, 0, 0);
	path_parts_add(&analysis->paths.parts, PATH_LOCK, table, 0);
	path_parts_add(&analysis->paths.parts, PATH_DOWNSTREAM, 0, 0);
	for (size_t i = 0; i < TAILING_COUNT; i++) {
		bool is_slow = i % 100 == 0;
		tailing->first[i] = parts;
		tailing->part[parts] = TAILING_WORK;
		tailing->ns[parts++] = 1000 + i % 3;
		if (is_slow) {
			tailing->part[parts] = TAILING_LOCK;
			tailing->ns[parts++] = 5000;
		}
		tailing->requests[i] =
			(struct request){ .start_ns = (TAILING_COUNT - i) * 10000,
					  .taken_ns = (is_slow ? 6000 : 1000) + i % 3,
					  .thread = NO_INDEX,
					  .of = NO_INDEX };
	}
	tailing->first[TAILING_COUNT] = tailing->first[TAILING_COUNT + 1] = parts;
	analysis->recording = &tailing->sketch.rec;
	analysis->options = &tailing->options;
	analysis->classes = tailing->sketch.classes;
	script_build(&tailing->script, &tailing->sketch.rec, &analysis->classes,
		     &(const struct script_options){ 0 });
	analysis->script = tailing->script;
	analysis->script.requests =
		(struct requests){ .requests = tailing->requests, .count = TAILING_COUNT };
	analysis->paths.first = tailing->first;
	analysis->paths.part = tailing->part;
	analysis->paths.ns = tailing->ns;
	analysis->paths.count = TAILING_COUNT;
	analysis->has_paths = true;
}

static inline void tailing_free(struct tailing *tailing)
{
	script_free(&tailing->script);
	path_parts_free(&tailing->analysis.paths.parts);
	sketch_free(&tailing->sketch);
}

#endif

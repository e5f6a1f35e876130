/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences of two recordings besides the change of the program: another machine, another load,
 * other libraries, other settings of the recorder.
 *
 * One thread; analyses are only read.
 */
#ifndef WCPROF_SETTINGS_H
#define WCPROF_SETTINGS_H

#include "compare.h"
#include "report/analysis.h"

enum { SETTINGS_LINES_MAX = 24, SETTINGS_LINE_BYTES = 240 };

struct settings {
	char lines[SETTINGS_LINES_MAX][SETTINGS_LINE_BYTES];
	size_t count;
	/* Line that says why the two cannot be compared at all, "" = they can. */
	char refusal[SETTINGS_LINE_BYTES];
	/* Line that says why one recording of each says nothing of chance, "" = it does. */
	char disturbed[SETTINGS_LINE_BYTES];
};

/* Names of OLD are as `mapping` has them. */
void settings_compare(struct settings *settings, const struct analysis *old_analysis,
		      const struct analysis *new_analysis, const struct mapping *mapping);

/* Name of the first process's program, and whether a recording has one of that name; "" = unknown,
 * which all have. */
const char *settings_program(const struct recording *recording);
bool settings_has_program(const struct recording *recording, const char *name);

/* Of any recording: a dump that is not whole. `side` is its name. */
void settings_add_losses(struct settings *settings, const struct recording *recording,
			 const char *side);

/* Units come in another number per second. */
void settings_add_load(struct settings *settings, const struct costs *old_costs,
		       const struct costs *new_costs);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of probed functions that were left out of the recording: too short ones, and those for
 * which a condition did not hold.
 *
 * Figures of the others are not those of all. Built once, read-only afterwards.
 */
#ifndef WCPROF_LEFTOUT_H
#define WCPROF_LEFTOUT_H

#include "recording/classes.h"
#include "recording/recording.h"

/* Probes of one name, in all processes. */
struct leftout_row {
	uint32_t name;  /* string id */
	uint32_t class; /* NO_INDEX = all its calls were left out */
	uint32_t when;  /* string id: a condition on what the thread is in, if they have one */
	uint64_t recorded;
	uint64_t calls, brief, unmet; /* as struct rec_probe has them */
	bool is_counted;              /* else how many were left out is in no dump */
};

struct leftout_table {
	struct leftout_row *rows;
	size_t count;
};

void leftout_table_build(struct leftout_table *, const struct recording *,
			 const struct class_table *);
void leftout_table_free(struct leftout_table *);

/* "`parse`: 90 of 100 calls were left out (80 by request>p95, 10 too short)" */
enum { LEFTOUT_TEXT_BYTES = 320 };
void leftout_text(const struct leftout_row *, const struct recording *,
		  char text[LEFTOUT_TEXT_BYTES]);

#endif

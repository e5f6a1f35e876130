/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were left out; leftout.h has the contract.
 *
 * The ops of a probe that leaves calls out say so. How many there were its process's dump says, but
 * for one that was recovered after the process had died. One thread. A pass over all ops.
 */
#include "leftout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

static struct leftout_row *row_of(struct leftout_table *table, size_t *room, uint32_t name)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].name == name)
			return &table->rows[i];
	table->rows = memory_grow(table->rows, room, table->count + 1, sizeof(*table->rows));
	table->rows[table->count] = (struct leftout_row){ .name = name, .class = NO_INDEX };
	return &table->rows[table->count++];
}

static void add_probes(struct leftout_table *table, size_t *room, const struct recording *rec)
{
	for (size_t i = 0; i < rec->probe_count; i++) {
		const struct rec_probe *probe = &rec->probes[i];
		struct leftout_row *row = row_of(table, room, probe->name);

		row->calls += probe->calls;
		row->brief += probe->brief;
		row->unmet += probe->unmet;
		if (probe->when)
			row->when = probe->when;
	}
}

/* By class: one name has one. */
static void add_ops(struct leftout_table *table, size_t *room, const struct recording *rec,
		    const struct class_table *classes)
{
	uint64_t *counts = memory_new(classes->count, sizeof(*counts));

	for (size_t i = 0; rec->extras && i < rec->op_count; i++) {
		struct leftout_row *row;

		if (!rec->extras[i].chosen || counts[classes->of_op[i]]++)
			continue;
		row = row_of(table, room, rec->ops[i].name);
		row->class = classes->of_op[i];
	}
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].class != NO_INDEX)
			table->rows[i].recorded = counts[table->rows[i].class];
	free(counts);
}

void leftout_table_build(struct leftout_table *table, const struct recording *recording,
			 const struct class_table *classes)
{
	size_t room = 0, kept = 0;

	*table = (struct leftout_table){ .rows = NULL };
	add_probes(table, &room, recording);
	add_ops(table, &room, recording, classes);
	for (size_t i = 0; i < table->count; i++) {
		struct leftout_row *row = &table->rows[i];

		row->is_counted = row->calls >= row->recorded && row->calls > 0;
		if (row->class != NO_INDEX || row->brief + row->unmet > 0)
			table->rows[kept++] = *row;
	}
	table->count = kept;
}

void leftout_table_free(struct leftout_table *table)
{
	free(table->rows);
	*table = (struct leftout_table){ .rows = NULL };
}

void leftout_text(const struct leftout_row *row, const struct recording *recording,
		  char text[LEFTOUT_TEXT_BYTES])
{
	const char *name = recording->strings[row->name];
	const char *when = row->when ? recording->strings[row->when] : "its condition";
	char unmet[120] = "", brief[40] = "";

	if (!row->is_counted) {
		snprintf(text, LEFTOUT_TEXT_BYTES,
			 "`%.100s`: calls were left out, and no dump says how many", name);
		return;
	}
	if (row->unmet)
		snprintf(unmet, sizeof(unmet), "%" PRIu64 " by %.80s", row->unmet, when);
	if (row->brief)
		snprintf(brief, sizeof(brief), "%s%" PRIu64 " too short", row->unmet ? ", " : "",
			 row->brief);
	snprintf(text, LEFTOUT_TEXT_BYTES,
		 "`%.100s`: %" PRIu64 " of %" PRIu64 " calls were left out%s%s%s%s", name,
		 row->brief + row->unmet, row->calls, unmet[0] || brief[0] ? " (" : "", unmet,
		 brief, unmet[0] || brief[0] ? ")" : "");
}

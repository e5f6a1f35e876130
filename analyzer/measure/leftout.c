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

struct building {
	struct leftout_table *table;
	const struct recording *rec;
	size_t room;
	uint32_t *places; /* by string: one more than the place of that name's row */
};

static struct leftout_row *row_of(struct building *building, uint32_t name)
{
	struct leftout_table *table = building->table;

	if (!building->places[name]) {
		table->rows = memory_grow(table->rows, &building->room, table->count + 1,
					  sizeof(*table->rows));
		table->rows[table->count++] =
			(struct leftout_row){ .name = name, .class = NO_INDEX };
		building->places[name] = (uint32_t)table->count;
	}
	return &table->rows[building->places[name] - 1];
}

static void add_probes(struct building *building)
{
	for (size_t i = 0; i < building->rec->probe_count; i++) {
		const struct rec_probe *probe = &building->rec->probes[i];
		struct leftout_row *row = row_of(building, probe->name);

		row->calls += probe->calls;
		row->brief += probe->brief;
		row->unmet += probe->unmet;
		if (probe->when)
			row->when = probe->when;
	}
}

/* By class: one name has one. */
static void add_ops(struct building *building, const struct class_table *classes)
{
	const struct recording *rec = building->rec;
	struct leftout_table *table = building->table;
	uint64_t *counts = memory_new(classes->count, sizeof(*counts));

	for (size_t i = 0; rec->extras && i < rec->op_count; i++)
		if (rec->extras[i].chosen && counts[classes->of_op[i]]++ == 0)
			row_of(building, rec->ops[i].name)->class = classes->of_op[i];
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].class != NO_INDEX)
			table->rows[i].recorded = counts[table->rows[i].class];
	free(counts);
}

void leftout_table_build(struct leftout_table *table, const struct recording *recording,
			 const struct class_table *classes)
{
	struct building building = { .table = table, .rec = recording };
	size_t kept = 0;

	*table = (struct leftout_table){ .rows = NULL };
	building.places = memory_new(recording->string_count, sizeof(*building.places));
	add_probes(&building);
	add_ops(&building, classes);
	for (size_t i = 0; i < table->count; i++) {
		struct leftout_row *row = &table->rows[i];

		row->is_counted = row->calls >= row->recorded && row->calls > 0;
		if (row->class != NO_INDEX || row->brief + row->unmet > 0)
			table->rows[kept++] = *row;
	}
	table->count = kept;
	free(building.places);
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

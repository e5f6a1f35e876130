/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: what was not seen, in the words of the report, and what recording left out or lost.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "page.h"
#include "report/report.h"

/* The lines that the report of what was not seen has below its heading. */
static void put_lines(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "line" } };
	char *text = NULL, *rest;
	size_t length = 0;
	struct emit words;
	FILE *file = memory_stream(&text, &length);
	emit_table_begin(emit, "lines", EMIT_VALUES, columns, 1);
	emit_begin(&words, file, EMIT_TEXT, 0, false);
	report_coverage(analysis, &words);
	emit_end(&words);
	fclose(file);
	const char *line = text ? strtok_r(text, "\n", &rest) : NULL; /* the heading */
	while (line && (line = strtok_r(NULL, "\n", &rest))) {
		emit_row_begin(emit);
		emit_cell_text(emit, line);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	free(text);
}

/* Sums over all processes, of counters that are not nothing. */
static void put_counters(const struct recording *recording, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "name" },
						      { .key = "value" },
						      { .key = "meaning" } };
	uint64_t *sums = memory_new(recording->string_count, sizeof(*sums));
	for (size_t i = 0; i < recording->counter_count; i++)
		sums[recording->counters[i].name] += recording->counters[i].value;
	emit_table_begin(emit, "counters", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < recording->counter_count; i++) {
		uint32_t name = recording->counters[i].name;
		const char *meaning = report_counter_meaning(recording->strings[name]);
		if (sums[name] == 0)
			continue;
		emit_row_begin(emit);
		emit_cell_text(emit, recording->strings[name]);
		emit_cell_count(emit, sums[name]);
		emit_cell_text(emit, meaning ? meaning : "");
		emit_row_end(emit);
		sums[name] = 0;
	}
	emit_table_end(emit);
	free(sums);
}

void page_unseen(const struct analysis *analysis, struct emit *emit)
{
	put_lines(analysis, emit);
	put_counters(analysis->recording, emit);
}

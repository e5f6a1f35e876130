/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what would a fix buy? Every class that was tried, with what it would save at each factor.
 */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"

enum { FACTOR_BYTES = 32, FIXED_COLUMNS = 4 };

_Static_assert(FIXED_COLUMNS + FACTORS_MAX <= EMIT_COLUMNS_MAX, "every factor has its column");

/* Heads and keys of the columns of the factors. */
struct factor_names {
	char keys[FACTORS_MAX][FACTOR_BYTES];
	char heads[FACTORS_MAX][FACTOR_BYTES + 8];
};

static size_t whatif_columns(const struct factor_list *list, struct factor_names *names,
			     struct emit_column columns[EMIT_COLUMNS_MAX])
{
	size_t count = 0;
	columns[count++] =
		(struct emit_column){ .key = "class", .head = "class", .is_flexible = true };
	columns[count++] = (struct emit_column){ .key = "kind", .head = "kind" };
	columns[count++] =
		(struct emit_column){ .key = "total_self_ns", .head = "self", .align = EMIT_RIGHT };
	columns[count++] =
		(struct emit_column){ .key = "count", .head = "ops", .align = EMIT_RIGHT };
	for (size_t i = 0; i < list->count; i++) {
		snprintf(names->keys[i], sizeof(names->keys[i]), "%.15g", list->factors[i]);
		snprintf(names->heads[i], sizeof(names->heads[i]), "saved x%s", names->keys[i]);
		columns[count++] = (struct emit_column){ .key = names->keys[i],
							 .head = names->heads[i],
							 .align = EMIT_RIGHT,
							 .group = "saved_ns" };
	}
	return count;
}

static void emit_saving(const struct analysis *analysis, struct emit *emit, double saved_ns)
{
	char time[EMIT_DURATION_BYTES], text[2 * EMIT_DURATION_BYTES];
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	if (emit->format == EMIT_JSON) {
		emit_cell_ns(emit, saved_ns);
		return;
	}
	emit_format_duration(time, saved_ns);
	snprintf(text, sizeof(text), "%s %5.1f%%", time,
		 baseline_ns > 0 ? 100 * saved_ns / baseline_ns : 0);
	emit_cell_text(emit, text);
}

void report_whatif(const struct analysis *analysis, struct emit *emit)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct factor_list *list = &analysis->options->factors;
	struct factor_names *names = memory_new(1, sizeof(*names));
	struct emit_column columns[EMIT_COLUMNS_MAX];
	size_t column_count = whatif_columns(list, names, columns);
	emit_heading(emit,
		     "What would a fix buy? (time saved if a class's self time is multiplied)");
	if (whatif->row_count == 0)
		emit_line(emit,
			  "No class has enough self time; --min-self sets how much is enough.");
	emit_table_begin(emit, "what_if", EMIT_OBJECTS, columns, column_count);
	for (size_t i = 0; i < whatif->row_count && i < analysis->options->top; i++) {
		uint32_t class = whatif->rows[i].class;
		emit_row_begin(emit);
		emit_cell_text(emit, analysis_class_name(analysis, class));
		emit_cell_text(emit, analysis_class_kind(analysis, class));
		emit_cell_ns(emit, (double)analysis_class_self_ns(analysis, class));
		emit_cell_count(emit, analysis_class_op_count(analysis, class));
		for (size_t f = 0; f < list->count; f++)
			emit_saving(analysis, emit, whatif->rows[i].saved_ns[f]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	if (whatif->row_count > analysis->options->top)
		emit_line(emit, "... and %zu more; --top shows them.",
			  whatif->row_count - analysis->options->top);
	free(names);
}

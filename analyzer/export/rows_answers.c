/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as rows: each class at each factor, then what was asked. None where they are withheld. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/facts.h"
#include "report/requestfigures.h"
#include "report/shortening.h"
#include "rows_parts.h"

static const struct {
	enum request_figure figure;
	const char *column;
} figures[] = { { REQUEST_P50, "p50_saved_ns" }, { REQUEST_P99, "p99_saved_ns" } };

/* NAN = it is not known, or not to be shown. */
static double request_saving(const struct analysis *analysis,
			     const struct request_figures *recorded, enum request_figure figure,
			     const struct estimate *estimate)
{
	char cause[SHORTENING_CAUSE_BYTES];
	const struct shortened *saved = &estimate->requests[figure];
	return saved->is_known && shortening_is_given(analysis, recorded, figure, cause)
		       ? saved->saved_ns
		       : NAN;
}

void rows_put_saving(struct rows *rows, const struct estimate *estimate)
{
	const struct analysis *analysis = rows->analysis;
	struct request_figures recorded;
	bool has_one = estimate && !estimate->is_none;
	request_figures_judged(&recorded, &analysis->script.requests);
	row_ns(rows, "saved_ns", has_one ? estimate->saved_ns : NAN);
	row_ns(rows, "lo_ns", has_one ? estimate->least_ns : NAN);
	row_ns(rows, "hi_ns", has_one ? estimate->most_ns : NAN);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		row_ns(rows, figures[i].column,
		       has_one ? request_saving(analysis, &recorded, figures[i].figure, estimate)
			       : NAN);
}

struct answer {
	const char *kind;
	const char *class;
	const char *package;
	double factor; /* NAN = of a question */
	const struct estimate *estimate;
	uint32_t next_class; /* NO_INDEX = not known */
};

static void write_answer(struct rows *rows, const struct answer *answer)
{
	const struct analysis *analysis = rows->analysis;
	bool has_next = answer->next_class != NO_INDEX;
	row_begin(rows, ROWS_WHATIF);
	row_text(rows, "kind", answer->kind);
	row_text(rows, "class", answer->class);
	row_text(rows, "package", answer->package);
	row_number(rows, "factor", answer->factor);
	rows_put_saving(rows, answer->estimate);
	row_text(rows, "next_limit",
		 has_next ? facts_class_name(analysis, answer->next_class) : "");
	row_end(rows);
}

static void write_class(struct rows *rows, const struct whatif_row *row)
{
	const struct analysis *analysis = rows->analysis;
	for (size_t f = 0; f < rows->options->factors.count; f++)
		write_answer(rows, &(const struct answer){
					   .kind = facts_class_kind(analysis, row->class),
					   .class = facts_class_name(analysis, row->class),
					   .package = facts_class_package(analysis, row->class),
					   .factor = rows->options->factors.factors[f],
					   .estimate = &row->estimates[f],
					   .next_class = row->next_class,
				   });
}

void rows_of_answers(struct rows *rows)
{
	const struct analysis *analysis = rows->analysis;
	if (analysis->checks.is_withheld)
		return;
	for (size_t i = 0; i < analysis->whatif.row_count; i++)
		write_class(rows, &analysis->whatif.rows[i]);
	for (size_t i = 0; i < analysis->asked.count; i++) {
		const struct asked_answer *asked = &analysis->asked.answers[i];
		if (!asked->estimate.is_none)
			write_answer(rows, &(const struct answer){
						   .kind = "question",
						   .class = asked->text,
						   .package = "",
						   .factor = NAN,
						   .estimate = &asked->estimate,
						   .next_class = NO_INDEX,
					   });
	}
}

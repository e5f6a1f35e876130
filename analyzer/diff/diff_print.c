/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a comparison: what is compared, what speaks against it, the verdict, the tables.
 */
#include "diff.h"
#include "tables.h"

static void print_head(const struct diff *diff, struct emit *emit)
{
	const struct costs *of_old = &diff->costs[DIFF_OLD], *of_new = &diff->costs[DIFF_NEW];
	emit_text(emit, "old", "OLD", diff->options->paths[DIFF_OLD]);
	emit_text(emit, "new", "NEW", diff->options->paths[DIFF_NEW]);
	emit_text(emit, "unit", NULL, diff->unit == UNIT_REQUEST ? "request" : "run");
	emit_text(emit, "request", NULL, diff->request);
	emit_count(emit, "old_recordings", NULL, of_old->recordings);
	emit_count(emit, "new_recordings", NULL, of_new->recordings);
	emit_count(emit, "old_requests", NULL, of_old->request_count);
	emit_count(emit, "new_requests", NULL, of_new->request_count);
	if (emit->format == EMIT_JSON)
		return;
	if (diff->unit == UNIT_REQUEST)
		emit_labelled(emit, "Per request",
			      "that begins with `%s`: %zu of OLD (%zu unfinished), %zu of NEW "
			      "(%zu)",
			      diff->request, of_old->request_count, of_old->unfinished,
			      of_new->request_count, of_new->unfinished);
	else
		emit_labelled(emit, "Per run", "%zu of OLD, %zu of NEW", of_old->recordings,
			      of_new->recordings);
}

static void print_settings(const struct settings *settings, struct emit *emit)
{
	static const struct emit_column column = { .key = "line" };
	if (emit->format == EMIT_JSON) {
		emit_table_begin(emit, "warnings", EMIT_VALUES, &column, 1);
		for (size_t i = 0; i < settings->count; i++) {
			emit_row_begin(emit);
			emit_cell_text(emit, settings->lines[i]);
			emit_row_end(emit);
		}
		emit_table_end(emit);
		emit_text(emit, "refusal", NULL, settings->refusal);
		return;
	}
	for (size_t i = 0; i < settings->count; i++)
		emit_strong_line(emit, "Warning: %s", settings->lines[i]);
	if (settings->refusal[0])
		emit_strong_line(emit, "Cannot tell: %s", settings->refusal);
}

static void print_verdict(const struct diff *diff, struct emit *emit)
{
	static const char *const words[] = { [DIFF_NOT_WORSE] = "not worse",
					     [DIFF_WORSE] = "worse",
					     [DIFF_UNSURE] = "cannot tell",
					     [DIFF_UNTOLD] = "cannot tell" };
	bool differs = diff->comparison.found_count > 0 || diff->outcome == DIFF_UNTOLD;
	emit_text(emit, "verdict", NULL, differs ? words[diff->outcome] : "no difference");
	emit_text(emit, "disturbed", NULL, diff->settings.disturbed);
	if (emit->format == EMIT_JSON || diff->outcome == DIFF_UNTOLD)
		return;
	if (diff->outcome == DIFF_UNSURE)
		emit_strong_line(emit, "Cannot tell: %s", diff->settings.disturbed);
	else
		emit_strong_line(emit, "%s",
				 diff->outcome == DIFF_WORSE ? "NEW is worse."
				 : differs                   ? "NEW differs, and is not worse."
					   : "No difference was found that is more than chance.");
}

void diff_print(const struct diff *diff, struct emit *emit)
{
	emit->is_screen = true; /* sentences end where lines do */
	if (diff->outcome != DIFF_UNTOLD)
		print_head(diff, emit);
	print_settings(&diff->settings, emit);
	print_verdict(diff, emit);
	if (diff->outcome == DIFF_UNTOLD)
		return;
	tables_print(&diff->comparison, emit, diff->options->top);
	causes_print(&diff->causes, &diff->comparison, emit);
}

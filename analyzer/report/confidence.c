/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the checks up; confidence.h has the contract.
 */
#include "confidence.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "recording/samples.h"
#include "report.h"
#include "served.h"
#include "verdict.h"

static const double SURELY = 3; /* standard errors from nothing */
/* Of the run. Half of that either way would be another answer to most questions. */
static const double WIDE_PERCENT = 10;

const char *confidence_word(enum confidence confidence)
{
	static const char *const words[] = { [CONFIDENCE_SURE] = "sure",
					     [CONFIDENCE_FAIR] = "fair",
					     [CONFIDENCE_WITHHELD] = "withheld" };
	assert(confidence < sizeof(words) / sizeof(words[0]));
	return words[confidence];
}

static void add(char why[CONFIDENCE_BYTES], const char *text, const char *between)
{
	size_t length = strlen(why);
	snprintf(why + length, CONFIDENCE_BYTES - length, "%s%s", length ? between : "", text);
}

/* A thread may have spun for another one, for so long that it matters. */
static bool may_spin(const struct analysis *analysis)
{
	const struct thread_table *threads = &analysis->threads;
	double limit_ns =
		verdict_withheld_above(CHECK_SPINNING) / 100 * facts_recorded_ns(analysis);
	bool is_long = false;
	if (!analysis->has_script || analysis->checks.rows[CHECK_SPINNING].state != CHECK_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < threads->count; i++)
		is_long |= (double)threads->rows[i].cpu_ns > limit_ns;
	return is_long && threads->count > 1;
}

const struct whatif_row *confidence_best(const struct analysis *analysis, size_t factor)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct whatif_row *best = NULL;
	double most_ns = 0;
	for (size_t i = 0; i < whatif->row_count; i++) {
		double own_ns = whatif_own_ns(whatif, &whatif->rows[i], factor);
		if (report_is_repeated(analysis, i) || (best && own_ns <= most_ns))
			continue;
		best = &whatif->rows[i];
		most_ns = own_ns;
	}
	return best;
}

bool confidence_is_wide(const struct analysis *analysis, const struct whatif_row *row,
			size_t factor)
{
	const struct estimate *estimate = &row->estimates[factor];
	return estimate->most_ns - estimate->least_ns >=
	       WIDE_PERCENT / 100 * (double)analysis->whatif.baseline.makespan_ns;
}

/* Of a server the best answer is not about the run. */
static bool is_best_wide(const struct analysis *analysis)
{
	struct served served;
	if (!analysis->whatif.row_count)
		return false;
	size_t factor = report_sentence_factor(&analysis->options->factors);
	const struct whatif_row *best = confidence_best(analysis, factor);
	if (!best || !confidence_is_wide(analysis, best, factor))
		return false;
	if (!served_find(analysis, &served))
		return true;
	served_free(&served);
	return false;
}

enum confidence confidence_of(const struct analysis *analysis, char why[CONFIDENCE_BYTES])
{
	const struct checks *checks = &analysis->checks;
	why[0] = '\0';
	if (checks->gravest != CHECK_COUNT) {
		add(why, checks->rows[checks->gravest].line, "");
		if (verdict_advice(checks->gravest)[0])
			add(why, verdict_advice(checks->gravest), "; ");
		return CONFIDENCE_WITHHELD;
	}
	for (enum check_id id = 0; id < CHECK_COUNT; id++)
		if (checks->rows[id].state >= CHECK_FAILED) /* of requests, it withholds these */
			add(why, verdict_check_name(id), ", ");
	if (!analysis->actual_makespan_ns)
		add(why, "nothing was recorded", ", ");
	if (may_spin(analysis))
		add(why,
		    samples_outside(analysis->recording, NULL)
			    ? "samples on a condition: spinning is not known"
			    : "no samples: spinning is not known",
		    ", ");
	if (is_best_wide(analysis))
		add(why, "a wide range", ", ");
	return why[0] ? CONFIDENCE_FAIR : CONFIDENCE_SURE;
}

const struct variation_row *confidence_other_answer(const struct analysis *analysis)
{
	const struct variation *variation = &analysis->variation;
	const struct variation_row *best = NULL;
	double limit_ns =
		verdict_failed_above(CHECK_SENSITIVITY) / 100 * facts_recorded_ns(analysis);
	for (size_t i = 0; i < variation->row_count; i++) {
		const struct variation_row *row = &variation->rows[i];
		bool is_new = analysis->checks.is_withheld || row->apart_ns > limit_ns;
		if (is_new && row->saved_ns - SURELY * row->error_ns > limit_ns &&
		    (!best || row->saved_ns > best->saved_ns))
			best = row;
	}
	return best;
}

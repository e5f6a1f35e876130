/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes whose replays come to no end, or only by force; whatif.h has the contract.
 *
 * Method. A class that takes no time at all may need another order of events than the recorded one.
 * A smaller change of it may not. So a factor without an answer has that of the next one above it,
 * as what is saved at least. The most is what the whole change saves in the same measure.
 */
#include "whatif_parts.h"

#include <math.h>
#include <string.h>

static bool has_ended(const struct whatif_row *row, size_t factor)
{
	return !row->answers[factor].ran_away && !row->estimates[factor].is_none;
}

/* The least of the factors between that one and 1 that have an answer; NO_INDEX: none has. */
static size_t nearest_answer(const struct whatif_row *row, const struct whatif_options *options,
			     size_t factor)
{
	size_t nearest = NO_INDEX;
	for (size_t f = 0; f < options->factor_count; f++)
		if (!row->is_none[f] && options->factors[f] > options->factors[factor] &&
		    options->factors[f] < 1 &&
		    (nearest == NO_INDEX || options->factors[f] < options->factors[nearest]))
			nearest = f;
	return nearest;
}

static void take_nearest(struct whatif *whatif, struct whatif_row *row,
			 const struct whatif_options *options, size_t factor, size_t nearest)
{
	double more = (1 - options->factors[factor]) / (1 - options->factors[nearest]);
	struct estimate *estimate = &row->estimates[factor];
	size_t threads = whatif->finish_count;
	row->answers[factor] = row->answers[nearest];
	memcpy(row->finish_ns + factor * threads, row->finish_ns + nearest * threads,
	       threads * sizeof(*row->finish_ns));
	*estimate = row->estimates[nearest];
	estimate->most_ns = fmax(estimate->most_ns, more * estimate->most_ns);
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		struct shortened *figure = &estimate->requests[i];
		figure->most_ns = fmax(figure->most_ns, more * figure->most_ns);
	}
}

static void endless_note(struct whatif *whatif, const struct whatif_row *row, size_t factor)
{
	if (whatif->endless_count++ > 0)
		return;
	whatif->endless_class = row->class;
	whatif->endless_place = row->answers[factor].stuck;
}

/* False: the row has no answer. */
static bool row_complete(struct whatif *whatif, struct whatif_row *row,
			 const struct whatif_options *options)
{
	for (size_t f = 0; f < options->factor_count; f++) {
		if (row->is_none[f] || has_ended(row, f))
			continue;
		if (!row->is_endless)
			endless_note(whatif, row, f);
		row->is_endless = row->is_none[f] = true;
	}
	for (size_t f = 0; row->is_endless && f < options->factor_count; f++) {
		size_t nearest = nearest_answer(row, options, f);
		if (row->is_none[f] && nearest == NO_INDEX)
			return false;
		if (row->is_none[f])
			take_nearest(whatif, row, options, f, nearest);
	}
	return true;
}

void whatif_complete(struct whatif *whatif, const struct whatif_options *options)
{
	size_t kept = 0;
	for (size_t i = 0; i < whatif->row_count; i++)
		if (row_complete(whatif, &whatif->rows[i], options))
			whatif->rows[kept++] = whatif->rows[i];
	whatif->row_count = kept;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: when locks were waited for, how long, and whose holds made others wait.
 */
#include "measure/contention.h"
#include "page.h"

enum { PAIRS_SHOWN = 64 /* of a lock */ };

static void put_names(const struct analysis *analysis, const struct contention *contention,
		      struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "name" } };
	emit_table_begin(emit, "names", EMIT_VALUES, columns, 1);
	for (uint32_t i = 0; i < contention->lock_count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, analysis->recording->strings[analysis->locks.rows[i].name]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* Cells in which somebody waited. */
static void put_heat(const struct contention *contention, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "lock" }, { .key = "slot" }, { .key = "wait_ns" }, { .key = "most" }
	};
	emit_table_begin(emit, "heat", EMIT_ARRAYS, columns, 4);
	for (uint32_t i = 0; i < contention->lock_count * CONTENTION_SLOTS; i++) {
		const struct contention_cell *cell = &contention->cells[i];
		if (!cell->most)
			continue;
		emit_row_begin(emit);
		emit_cell_count(emit, i / CONTENTION_SLOTS);
		emit_cell_count(emit, i % CONTENTION_SLOTS);
		emit_cell_count(emit, cell->wait_ns);
		emit_cell_count(emit, cell->most);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void put_bins(const struct contention *contention, struct emit *emit, const char *key,
		     const uint32_t *bins)
{
	static const struct emit_column columns[] = {
		{ .key = "lock" }, { .key = "from_ns" }, { .key = "to_ns" }, { .key = "count" }
	};
	emit_table_begin(emit, key, EMIT_ARRAYS, columns, 4);
	for (uint32_t i = 0; i < contention->lock_count * CONTENTION_BINS; i++) {
		uint32_t bin = i % CONTENTION_BINS;
		if (!bins[i])
			continue;
		emit_row_begin(emit);
		emit_cell_count(emit, i / CONTENTION_BINS);
		emit_cell_count(emit, contention_bin_ns(bin));
		emit_cell_count(emit, bin + 1 < CONTENTION_BINS ? contention_bin_ns(bin + 1)
								: UINT64_MAX);
		emit_cell_count(emit, bins[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void put_pairs(const struct analysis *analysis, const struct contention *contention,
		      struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "lock" },  { .key = "holder" },  { .key = "waiter" },
		{ .key = "count" }, { .key = "wait_ns" },
	};
	size_t shown = 0;
	emit_table_begin(emit, "pairs", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < contention->pair_count; i++) {
		const struct contention_pair *pair = &contention->pairs[i];
		shown = i > 0 && pair->lock == pair[-1].lock ? shown + 1 : 0;
		if (shown >= PAIRS_SHOWN)
			continue;
		emit_row_begin(emit);
		emit_cell_count(emit, pair->lock);
		emit_cell_text(emit, analysis->recording->strings[pair->holder_site]);
		emit_cell_text(emit, analysis->recording->strings[pair->waiter_site]);
		emit_cell_count(emit, pair->count);
		emit_cell_count(emit, pair->wait_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

void page_locks(const struct analysis *analysis, struct emit *emit)
{
	const struct labels none = { 0 };
	const struct labels *labels = analysis->labels ? analysis->labels : &none;
	struct contention contention;
	contention_build(&contention, &analysis->locks, analysis->recording, labels->ops,
			 labels->waits, labels->sites, analysis->graph.start_ns,
			 analysis->graph.end_ns);
	emit_count(emit, "slots", NULL, CONTENTION_SLOTS);
	put_names(analysis, &contention, emit);
	put_heat(&contention, emit);
	put_bins(&contention, emit, "waits", contention.wait_bins);
	put_bins(&contention, emit, "holds", contention.hold_bins);
	put_pairs(analysis, &contention, emit);
	contention_free(&contention);
}

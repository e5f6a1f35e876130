/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: which locks were waited for, who held them, and who waited?
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

enum { SITES_SHOWN = 3, INSTANCES_SHOWN = 3 };

static const char *site_text(const struct analysis *analysis, const struct lock_site *sites,
			     uint32_t count)
{
	return count > 0 && sites->site ? analysis->recording->strings[sites->site] : "";
}

static void emit_lock(const struct analysis *analysis, struct emit *emit,
		      const struct lock_class *row)
{
	emit_row_begin(emit);
	emit_cell_text(emit, analysis->recording->strings[row->name]);
	emit_cell_count(emit, row->address_count);
	emit_cell_count(emit, row->acquisitions);
	emit_cell_count(emit, row->contended);
	emit_cell_count(emit, row->timed_out);
	emit_cell_count(emit, row->holder_known);
	emit_cell_count(emit, row->owner_died);
	emit_cell_count(emit, row->relocks);
	emit_cell_ns(emit, (double)row->relock_ns);
	emit_cell_ns(emit, (double)row->wait.total_ns);
	emit_cell_ns(emit, (double)row->wait.p50_ns);
	emit_cell_ns(emit, (double)row->wait.p95_ns);
	emit_cell_ns(emit, (double)row->wait.max_ns);
	emit_cell_ns(emit, (double)row->hold.total_ns);
	emit_cell_ns(emit, (double)row->hold.p50_ns);
	emit_cell_ns(emit, (double)row->hold.p95_ns);
	emit_cell_ns(emit, (double)row->hold.max_ns);
	emit_cell_text(emit, site_text(analysis, row->holders, row->holder_count));
	emit_cell_text(emit, site_text(analysis, row->waiters, row->waiter_count));
	emit_row_end(emit);
}

/* Text: those that somebody waited for, which come first. */
static size_t count_shown(const struct lock_table *locks, enum emit_format format)
{
	size_t count = locks->count;
	while (format == EMIT_TEXT && count > 0 && locks->rows[count - 1].contended == 0)
		count--;
	return count;
}

static void emit_locks(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "lock", .head = "lock", .is_flexible = true },
		{ .key = "locks", .head = "locks", .align = EMIT_RIGHT, .yields = 4 },
		{ .key = "acquisitions", .head = "acquired", .align = EMIT_RIGHT },
		{ .key = "contended", .head = "waits", .align = EMIT_RIGHT },
		{ .key = "timed_out", .head = NULL },
		{ .key = "holder_known", .head = NULL },
		{ .key = "owner_died", .head = NULL },
		{ .key = "relocks", .head = NULL },
		{ .key = "relock_total_ns", .head = NULL },
		{ .key = "wait_total_ns", .head = "wait time", .align = EMIT_RIGHT },
		{ .key = "wait_p50_ns", .head = "p50 wait", .align = EMIT_RIGHT, .yields = 3 },
		{ .key = "wait_p95_ns", .head = "p95 wait", .align = EMIT_RIGHT },
		{ .key = "wait_max_ns", .head = NULL },
		{ .key = "hold_total_ns", .head = "hold time", .align = EMIT_RIGHT },
		{ .key = "hold_p50_ns", .head = "p50 hold", .align = EMIT_RIGHT, .yields = 6 },
		{ .key = "hold_p95_ns", .head = "p95 hold", .align = EMIT_RIGHT, .yields = 5 },
		{ .key = "hold_max_ns", .head = NULL },
		{ .key = "top_holder", .head = "top holder", .is_flexible = true, .yields = 2 },
		{ .key = "top_waiter", .head = NULL },
	};
	const struct lock_table *locks = &analysis->locks;
	size_t count = count_shown(locks, emit->format);
	emit_table_begin(emit, "locks", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < count && i < analysis->options->top; i++)
		emit_lock(analysis, emit, &locks->rows[i]);
	emit_table_end(emit);
	if (count > analysis->options->top)
		emit_line(emit, "... and %zu more; --top shows them.",
			  count - analysis->options->top);
	if (count < locks->count)
		emit_line(emit, "%zu more were acquired, and never waited for.",
			  (size_t)locks->count - count);
}

static void emit_sites(const struct analysis *analysis, struct emit *emit,
		       const struct lock_class *row, const struct lock_site *sites, uint32_t count,
		       const char *role)
{
	const struct recording *recording = analysis->recording;
	for (uint32_t i = 0; i < count && i < SITES_SHOWN; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, recording->strings[row->name]);
		emit_cell_text(emit, role);
		emit_cell_text(emit, site_text(analysis, &sites[i], 1));
		emit_cell_count(emit, sites[i].count);
		emit_cell_ns(emit, (double)sites[i].total_ns);
		emit_cell_ns(emit, (double)sites[i].caused_ns);
		emit_row_end(emit);
	}
}

static void emit_all_sites(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "lock", .head = "lock", .is_flexible = true },
		{ .key = "role", .head = "role" },
		{ .key = "site", .head = "where", .is_flexible = true },
		{ .key = "count", .head = "times", .align = EMIT_RIGHT },
		{ .key = "total_ns", .head = "time", .align = EMIT_RIGHT },
		{ .key = "caused_ns", .head = "waits caused", .align = EMIT_RIGHT },
	};
	const struct lock_table *locks = &analysis->locks;
	emit_table_begin(emit, "lock_sites", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < locks->count && i < analysis->options->top; i++) {
		const struct lock_class *row = &locks->rows[i];
		if (row->contended == 0)
			continue;
		emit_sites(analysis, emit, row, row->holders, row->holder_count, "holds");
		emit_sites(analysis, emit, row, row->waiters, row->waiter_count, "waits");
	}
	emit_table_end(emit);
}

static void emit_instance(const struct analysis *analysis, struct emit *emit,
			  const struct lock_class *row, const struct lock_instance *instance)
{
	char address[48];
	if (instance->address & SHARED_ADDRESS)
		snprintf(address, sizeof(address), "shared object %" PRIu64,
			 instance->address & ~SHARED_ADDRESS);
	else
		snprintf(address, sizeof(address), "0x%" PRIx64, instance->address);
	emit_row_begin(emit);
	emit_cell_text(emit, analysis->recording->strings[row->name]);
	emit_cell_text(emit, address);
	emit_cell_count(emit, instance->acquisitions);
	emit_cell_count(emit, instance->contended);
	emit_cell_ns(emit, (double)instance->wait_ns);
	emit_cell_ns(emit, (double)instance->hold_ns);
	emit_row_end(emit);
}

/* Of classes with several locks, those that were waited for most. */
static void emit_instances(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "lock", .head = "lock", .is_flexible = true },
		{ .key = "address", .head = "address" },
		{ .key = "acquisitions", .head = "acquired", .align = EMIT_RIGHT },
		{ .key = "contended", .head = "waits", .align = EMIT_RIGHT },
		{ .key = "wait_total_ns", .head = "wait time", .align = EMIT_RIGHT },
		{ .key = "hold_total_ns", .head = "hold time", .align = EMIT_RIGHT },
	};
	const struct lock_table *locks = &analysis->locks;
	emit_table_begin(emit, "lock_instances", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < locks->count && i < analysis->options->top; i++) {
		const struct lock_class *row = &locks->rows[i];
		for (uint32_t k = 0; row->address_count > 1 && row->contended > 0 &&
				     k < row->address_count && k < INSTANCES_SHOWN;
		     k++)
			emit_instance(analysis, emit, row, &row->instances[k]);
	}
	emit_table_end(emit);
}

void report_locks(const struct analysis *analysis, struct emit *emit)
{
	emit_heading(emit, "Which locks were contended?");
	if (analysis->locks.count == 0)
		emit_line(emit, "None; no holds were recorded.");
	if (analysis->recording->unseen_holds)
		emit_line(
			emit,
			"%zu holds of locks made of futexes are not recorded, as nobody waited: "
			"the calls in them tell of these. Of several locks, which one it was is a "
			"guess.",
			analysis->recording->unseen_holds);
	if (analysis->has_script && analysis->script.key_count)
		emit_line(emit,
			  "Threads wait on conditions for keys that are not recorded: the replay "
			  "has %zu, as many as make the recorded share wait, and which thread has "
			  "which is a guess.",
			  analysis->script.key_count);
	emit_locks(analysis, emit);
	emit_all_sites(analysis, emit);
	emit_instances(analysis, emit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines and their clocks in words; machines.h has the contract.
 */
#include "machines.h"

#include <math.h>
#include <stdio.h>

enum { WORDS_BYTES = 200, WARNING_BYTES = 400 };

static const char *host_of(const struct recording *recording, uint32_t clock)
{
	const char *host = recording->strings[recording->clocks[clock].host];
	return *host ? host : "a machine without a name";
}

static const char *ways_of(const struct rec_clock_pair *pair)
{
	return pair->has_least && pair->has_most   ? "both"
	       : pair->has_least || pair->has_most ? "one"
						   : "none";
}

static void emit_clocks(const struct recording *recording, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "host" },      { .key = "boot_id" },   { .key = "processes" },
		{ .key = "group" },     { .key = "offset_ns" }, { .key = "error_ns" },
		{ .key = "drift_ppm" },
	};
	emit_table_begin(emit, "clocks", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < recording->clock_count; i++) {
		const struct rec_clock *clock = &recording->clocks[i];
		uint64_t processes = 0;
		for (size_t p = 0; p < recording->process_count; p++)
			processes += recording->processes[p].clock == i;
		emit_row_begin(emit);
		emit_cell_text(emit, recording->strings[clock->host]);
		emit_cell_text(emit, recording->strings[clock->boot]);
		emit_cell_count(emit, processes);
		emit_cell_count(emit, clock->group);
		emit_cell_ns(emit, clock->offset_ns);
		emit_cell_ns(emit, clock->error_ns);
		emit_cell_number(emit, clock->drift * 1e6);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_pairs(const struct recording *recording, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "from" },          { .key = "to" },
		{ .key = "offset_ns" },     { .key = "error_ns" },
		{ .key = "drift_ppm" },     { .key = "ways" },
		{ .key = "connections" },   { .key = "unmatched" },
		{ .key = "messages" },      { .key = "guessed" },
		{ .key = "contradictory" }, { .key = "used" },
	};
	emit_table_begin(emit, "clock_pairs", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < recording->clock_pair_count; i++) {
		const struct rec_clock_pair *pair = &recording->clock_pairs[i];
		emit_row_begin(emit);
		emit_cell_text(emit, recording->strings[recording->clocks[pair->from].host]);
		emit_cell_text(emit, recording->strings[recording->clocks[pair->to].host]);
		emit_cell_ns(emit, pair->offset_ns);
		emit_cell_ns(emit, pair->error_ns);
		emit_cell_number(emit, pair->drift * 1e6);
		emit_cell_text(emit, ways_of(pair));
		emit_cell_count(emit, pair->connections);
		emit_cell_count(emit, pair->unmatched);
		emit_cell_count(emit, pair->messages);
		emit_cell_flag(emit, pair->is_guessed);
		emit_cell_flag(emit, pair->is_contradictory);
		emit_cell_flag(emit, pair->is_used);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* How exactly a pair's offset is known. */
static void put_error(const struct rec_clock_pair *pair, char words[WORDS_BYTES])
{
	char error[EMIT_DURATION_BYTES];
	if (isinf(pair->error_ns)) {
		snprintf(words, WORDS_BYTES, "%s (bytes went one way only)",
			 (pair->offset_ns < 0) == pair->has_most ? "at least" : "at most");
		return;
	}
	emit_format_duration(error, pair->error_ns);
	snprintf(words, WORDS_BYTES, "+- %s", error);
}

static void say_pair(const struct recording *recording, const struct rec_clock_pair *pair,
		     struct emit *emit)
{
	char offset[EMIT_DURATION_BYTES], error[WORDS_BYTES];
	emit_format_duration(offset, fabs(pair->offset_ns));
	put_error(pair, error);
	emit_labelled(emit, "Clocks", "%s is %s %s %s, %s, by %zu message%s of %zu connection%s%s",
		      host_of(recording, pair->to), offset,
		      pair->offset_ns < 0 ? "ahead of" : "behind", host_of(recording, pair->from),
		      error, pair->messages, pair->messages == 1 ? "" : "s", pair->connections,
		      pair->connections == 1 ? "" : "s",
		      pair->is_guessed ? " (none was recorded from its beginning)" : "");
}

static bool is_contradictory(const struct recording *recording, uint32_t clock)
{
	for (size_t i = 0; i < recording->clock_pair_count; i++) {
		const struct rec_clock_pair *pair = &recording->clock_pairs[i];
		if (pair->is_contradictory && (pair->from == clock || pair->to == clock))
			return true;
	}
	return false;
}

/* False: nothing is wrong with it. */
static bool put_warning(const struct recording *recording, uint32_t clock, char line[WARNING_BYTES])
{
	const char *host = host_of(recording, clock);
	if (recording->clocks[clock].group == 0) {
		bool is_open = isinf(recording->clocks[clock].error_ns);
		if (is_open)
			snprintf(
				line, WARNING_BYTES,
				"bytes from or to %.64s went one way only: its clock may be off by "
				"more than is known, and so may latencies between machines",
				host);
		return is_open;
	}
	snprintf(line, WARNING_BYTES,
		 is_contradictory(recording, clock)
			 ? "the clock of %.64s was set while it was recorded: nothing is told of "
			   "what went between it and %.64s"
			 : "no bytes between %.64s and %.64s were recorded at both ends: their "
			   "times are by wall clocks, and what one waited for at the other is not "
			   "known (are addresses translated on the way?)",
		 host, host_of(recording, 0));
	return true;
}

void machines_emit(const struct recording *recording, struct emit *emit)
{
	if (emit->format == EMIT_JSON) {
		emit_clocks(recording, emit);
		emit_pairs(recording, emit);
		return;
	}
	for (size_t i = 0; i < recording->clock_pair_count; i++)
		if (recording->clock_pairs[i].is_used)
			say_pair(recording, &recording->clock_pairs[i], emit);
	for (uint32_t i = 1; i < recording->clock_count; i++) {
		char line[WARNING_BYTES];
		if (put_warning(recording, i, line))
			emit_strong_line(emit, "warning: %s", line);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of probes: calls, and values of slow ones beside those of the others; top_view.h has
 * the contract.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "probe_code.h"
#include "top_values.h"
#include "top_view.h"
#include "visible.h"

/* --- calls --- */

static void bits_text(const struct top_state *state, uint32_t type, uint64_t bits, char *to,
		      size_t size)
{
	char text[TOP_LABEL_BYTES / 2];

	if (type == PROBE_STRING) {
		top_labels_string(state->labels, (uint32_t)bits, text, sizeof(text));
		snprintf(to, size, "\"%s\"", text);
	} else if (type == PROBE_SIGNED) {
		snprintf(to, size, "%" PRId64, (int64_t)bits);
	} else if (type == PROBE_REAL) {
		snprintf(to, size, "%.6g", top_value_real(bits));
	} else {
		snprintf(to, size, type == PROBE_HEXADECIMAL ? "%#" PRIx64 : "%" PRIu64, bits);
	}
}

void top_values_text(const struct top_state *state, uint64_t op, char *to, size_t size)
{
	enum { VALUES_MAX = 8 };
	struct top_value values[VALUES_MAX];
	size_t count = top_calls_values(&state->sums->calls, op, values, VALUES_MAX);
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < count && used < size; i++) {
		char name[TOP_LABEL_BYTES / 2], text[TOP_LABEL_BYTES];

		top_labels_string(state->labels, values[i].name, name, sizeof(name));
		bits_text(state, values[i].type, values[i].bits, text, sizeof(text));
		used += (size_t)snprintf(to + used, size - used, "%s%s=%s", i ? " " : "", name,
					 text);
	}
}

/* Of a probe that was not called in the window: that it is there, and what was left out. */
static void quiet_probe(const struct top_state *state, const char *probe,
			const struct top_call_sum *sums, size_t count, struct top_lines *lines)
{
	char name[TOP_LABEL_BYTES] = "", called[TOP_LABEL_BYTES];
	uint64_t calls = 0, brief = 0, unmet = 0;

	(void)client_string(probe, "name", name, sizeof(name));
	(void)client_number(probe, "calls", &calls);
	(void)client_number(probe, "brief", &brief);
	(void)client_number(probe, "unmet", &unmet);
	for (size_t i = 0; i < count; i++) {
		top_labels_string(state->labels, sums[i].name, called, sizeof(called));
		if (strcmp(called, name) == 0)
			return;
	}
	if (top_is_wanted(state, name))
		top_line_add(lines, TOP_PLAIN,
			     "%s: none in the window; %" PRIu64 " calls before, %" PRIu64
			     " of them too short and %" PRIu64 " not as the condition says",
			     visible(name), calls, brief, unmet);
}

static void quiet_probes(const struct top_state *state, const struct top_call_sum *sums,
			 size_t count, struct top_lines *lines)
{
	const char *at = state->probes ? client_array(state->probes, "probes") : NULL;
	char *probe;

	at = at ? at + 1 : NULL;
	while (at && (probe = client_next(&at))) {
		quiet_probe(state, probe, sums, count, lines);
		free(probe);
	}
}

/* Narrower lines have the values rather than all percentiles. */
enum { WIDE_CALL_COLUMNS = 110 };

static int call_name_width(const struct top_state *state)
{
	return top_name_width(state) / 2 + 10;
}

static void call_line(const struct top_state *state, const struct top_call_sum *sum,
		      const char *name, double seconds, struct top_lines *lines)
{
	char values[TOP_LINE_BYTES / 2], middle[32] = "", rate[16], p50[16], p95[16], p99[16],
					 max[16];
	char cell[TOP_CELL_BYTES];
	int wide = call_name_width(state);

	if (state->columns >= WIDE_CALL_COLUMNS)
		snprintf(middle, sizeof(middle), " %9s %9s",
			 top_time_text((double)sum->p50_ns, p50),
			 top_time_text((double)sum->p95_ns, p95));
	top_values_text(state, sum->slowest, values, sizeof(values));
	top_line_add(lines, TOP_PLAIN, "%s %8s%s %9s %9s %s",
		     visible_fit(name, (size_t)wide, cell, sizeof(cell)),
		     top_rate_text((double)sum->count / seconds, rate), middle,
		     top_time_text((double)sum->p99_ns, p99),
		     top_time_text((double)sum->most_ns, max), values);
}

/* Of which there are calls: where they are many, the last ones fill less than the window. */
static double call_seconds(const struct top_state *state, uint64_t since_ns)
{
	uint64_t kept_ns = top_calls_since_ns(&state->sums->calls);

	return kept_ns > since_ns && kept_ns < state->now_ns
		       ? (double)(state->now_ns - kept_ns) / 1e9
		       : top_view_seconds(state->sums, state->view, state->now_ns);
}

static void table_calls(const struct top_state *state, size_t most, struct top_lines *lines)
{
	uint64_t since_ns = top_view_since_ns(state->sums, state->view, state->now_ns);
	double seconds = call_seconds(state, since_ns);
	size_t count, shown = 0, before = lines->count;
	struct top_call_sum *sums = top_calls_list(&state->sums->calls, since_ns, &count);
	bool is_wide = state->columns >= WIDE_CALL_COLUMNS;
	int wide = call_name_width(state);

	top_line_add(lines, TOP_HEADING, "%-*s %8s%s %9s %9s %s", wide, "CALL", "PER S",
		     is_wide ? "       P50       P95" : "", "P99", "MAX", "VALUES OF THE SLOWEST");
	for (size_t i = 0; sums && i < count && shown < most; i++) {
		char name[TOP_LABEL_BYTES];

		top_labels_string(state->labels, sums[i].name, name, sizeof(name));
		if (!top_is_wanted(state, name))
			continue;
		shown++;
		call_line(state, &sums[i], name, seconds, lines);
	}
	if (sums)
		quiet_probes(state, sums, count, lines);
	if (lines->count == before + 1)
		top_line_add(
			lines, TOP_PLAIN,
			"no probes: p asks for a function, as parse_query(len, text:str) if len > "
			"100");
	free(sums);
}

/* --- values --- */

static void range_text(const struct top_state *state, uint32_t type, const struct top_range *range,
		       char *to, size_t size)
{
	char median[TOP_LABEL_BYTES], least[32], most[32];

	bits_text(state, type, range->median, median, sizeof(median));
	if (!range->count) {
		snprintf(to, size, "-");
	} else if (type == PROBE_STRING) {
		snprintf(to, size, "%s (%zu of %zu)", median, range->frequent_count, range->count);
	} else {
		bits_text(state, type, range->least, least, sizeof(least));
		bits_text(state, type, range->most, most, sizeof(most));
		snprintf(to, size, "%s (%s..%s)", median, least, most);
	}
}

bool top_value_label(const struct top_state *state, const struct top_value_row *row,
		     char label[2 * TOP_LABEL_BYTES])
{
	char call[TOP_LABEL_BYTES], name[TOP_LABEL_BYTES / 2];

	top_labels_string(state->labels, row->call, call, sizeof(call));
	top_labels_string(state->labels, row->name, name, sizeof(name));
	snprintf(label, 2 * TOP_LABEL_BYTES, "%s(%s)", call, name);
	return top_is_wanted(state, call);
}

static void table_values(const struct top_state *state, size_t most, struct top_lines *lines)
{
	int wide = top_name_width(state);
	int half = (int)state->columns > wide ? ((int)state->columns - wide) / 2 - 1 : 0;
	struct top_value_rows rows;
	size_t shown = 0;

	half = half < TOP_CELL_COLUMNS_MAX ? half : TOP_CELL_COLUMNS_MAX;
	top_values_build(&rows, &state->sums->calls, &state->sums->requests,
			 top_view_since_ns(state->sums, state->view, state->now_ns));
	for (size_t i = 0; i < rows.count && shown + 1 < most; i++) {
		const struct top_value_row *row = &rows.rows[i];
		char cell[TOP_CELL_BYTES], other[TOP_CELL_BYTES];
		char label[2 * TOP_LABEL_BYTES], slow[2 * TOP_LABEL_BYTES],
			usual[2 * TOP_LABEL_BYTES];

		if (!top_value_label(state, row, label))
			continue;
		if (shown++ == 0)
			top_line_add(lines, TOP_HEADING, "%-*s %-*s %s", wide,
				     "VALUE: MEDIAN, RANGE", half,
				     rows.is_of_requests ? "IN SLOW REQUESTS" : "IN SLOW CALLS",
				     "IN THE OTHERS");
		range_text(state, row->type, &row->slow, slow, sizeof(slow));
		range_text(state, row->type, &row->usual, usual, sizeof(usual));
		top_line_add(lines, TOP_PLAIN, "%s %s %s",
			     visible_fit(label, (size_t)wide, cell, sizeof(cell)),
			     visible_fit(slow, (size_t)half, other, sizeof(other)), usual);
	}
	top_values_free(&rows);
}

void top_table_probes(const struct top_state *state, size_t most, struct top_lines *lines)
{
	size_t before = lines->count;

	table_calls(state, most, lines);
	if (lines->count - before <= most)
		table_values(state, most + 1 - (lines->count - before), lines);
}

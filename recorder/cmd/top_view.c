/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of top that stand above each table, and words of all; top_view.h has the contract.
 */
#include "top_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "visible.h"

/* --- words --- */

void top_line_add(struct top_lines *lines, enum top_style style, const char *format, ...)
{
	va_list arguments;

	if (lines->count == TOP_LINES_MAX)
		return;
	struct top_line *line = &lines->lines[lines->count++];

	line->style = style;
	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
}

/* Where a line may end so that it has at most so many columns: at a space, if there is one. */
static size_t line_end(const char *text, size_t columns)
{
	size_t most = visible_bytes_in(text, columns), at = most;

	while (text[most] && at > 0 && text[at] != ' ')
		at--;
	return at > 0 ? at : most;
}

void top_line_wrap(struct top_lines *lines, enum top_style style, unsigned columns,
		   const char *text)
{
	const char *indent = "";
	size_t bytes;

	while (*text && (bytes = line_end(text, columns - strlen(indent))) > 0) {
		top_line_add(lines, style, "%s%.*s", indent, (int)bytes, text);
		text += bytes + strspn(text + bytes, " ");
		indent = "  ";
	}
}

const char *top_time_text(double ns, char to[TOP_WORD_BYTES])
{
	if (!(ns > 0))
		snprintf(to, 16, "-");
	else if (ns >= 1e9)
		snprintf(to, 16, "%.2f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(to, 16, "%.*f ms", ns >= 1e8 ? 0 : ns >= 1e7 ? 1 : 2, ns / 1e6);
	else
		snprintf(to, 16, "%.1f us", ns / 1e3);
	return to;
}

const char *top_rate_text(double rate, char to[TOP_WORD_BYTES])
{
	if (rate >= 1e6)
		snprintf(to, 16, "%.1fM", rate / 1e6);
	else if (rate >= 1e4)
		snprintf(to, 16, "%.1fk", rate / 1e3);
	else
		snprintf(to, 16, "%.*f", rate >= 100 ? 0 : 1, rate);
	return to;
}

bool top_is_wanted(const struct top_state *state, const char *name)
{
	return !state->filter[0] || strstr(name, state->filter);
}

/* --- the head --- */

struct latencies {
	double per_second, p50_ns, p99_ns, most_ns;
	size_t count;
};

static struct latencies latencies_of(const struct top_state *state, double seconds)
{
	struct latencies found = { .count = 0 };
	struct top_request *list = top_requests_list(
		&state->sums->requests, top_view_since_ns(state->sums, state->view, state->now_ns),
		&found.count);

	found.per_second = top_weighted(state->sums, state->sums->requests.by_second[TOP_OF_ALL],
					state->view) /
			   seconds;
	if (list && found.count) {
		found.p50_ns = (double)list[found.count / 2].taken_ns;
		found.p99_ns = (double)list[found.count / 100].taken_ns;
		found.most_ns = (double)list[0].taken_ns;
	}
	free(list);
	return found;
}

static void view_words(const struct top_state *state, char to[32])
{
	if (state->view.seconds)
		snprintf(to, 32, "last %u s", state->view.seconds);
	else
		snprintf(to, 32, "decaying, half in %d s", TOP_HALF_LIFE_S);
}

/* ", memory 12% full"; empty: not known. */
static void memory_words(const struct top_state *state, char to[32])
{
	uint64_t events = 0, most = 0;

	to[0] = '\0';
	if (state->status && client_number(state->status, "events", &events) &&
	    client_number(state->status, "events_max", &most) && most)
		snprintf(to, 32, ", memory %.0f%% full", 100 * (double)events / (double)most);
}

static void settings_line(const struct top_state *state, struct top_lines *lines)
{
	char when[128] = "", holds[16] = "?", thread[64] = "", recording[16] = "?", port[40] = "",
	     kept[48] = "";
	char line[TOP_LINE_BYTES];
	uint64_t hz = 0, min_io = 0, port_number = 0, keep_s = 0;

	(void)client_string(state->status, "recording", recording, sizeof(recording));
	(void)client_string(state->status, "holds", holds, sizeof(holds));
	(void)client_string(state->status, "thread", thread, sizeof(thread));
	(void)client_string(state->status, "sample_when", when, sizeof(when));
	(void)client_number(state->status, "sample_hz", &hz);
	(void)client_number(state->status, "min_io_ns", &min_io);
	(void)client_number(state->status, "port", &port_number);
	(void)client_number(state->status, "keep_s", &keep_s);
	if (port_number)
		snprintf(port, sizeof(port), ", port %" PRIu64, port_number);
	if (keep_s)
		snprintf(kept, sizeof(kept), ", last %" PRIu64 " s", keep_s);
	snprintf(line, sizeof(line),
		 "recording %s: holds %s, %" PRIu64 " samples/s%s%s, io from %" PRIu64
		 " us%s%s%s%s",
		 recording, holds, hz, when[0] ? " when " : "", when[0] ? visible(when) : "",
		 min_io / 1000, thread[0] ? ", threads " : "", thread[0] ? visible(thread) : "",
		 port, kept);
	top_line_wrap(lines, TOP_PLAIN, state->columns, line);
}

/* The cost of watching: to the process, by its own account, and of top. */
static void cost_line(const struct top_state *state, struct top_lines *lines)
{
	char costs[64] = "", time[TOP_WORD_BYTES], line[128];

	if (state->cost && state->cost->is_known)
		snprintf(costs, sizeof(costs), "costs it %s of CPU a second (%.2f%% of its own); ",
			 top_time_text(state->cost->per_s_ns, time), 100 * state->cost->share);
	snprintf(line, sizeof(line), "%stop takes %.1f%% of a CPU", costs, 100 * state->own_cpu);
	top_line_wrap(lines, TOP_PLAIN, state->columns, line);
}

/* Reasons not to believe the tables, and the last change. */
static void warning_lines(const struct top_state *state, struct top_lines *lines)
{
	uint64_t events = 0, most = 0;
	char full[16] = "";

	(void)(state->status && client_number(state->status, "events", &events) &&
	       client_number(state->status, "events_max", &most) &&
	       client_string(state->status, "full", full, sizeof(full)));
	if (strcmp(full, "drop") == 0 && most && events >= most - most / 100)
		top_line_add(lines, TOP_WARNING,
			     "its memory is full, new events are dropped: d saves them, wcprof "
			     "reset or SET keep_s makes room");
	if (state->reader->missed)
		top_line_add(lines, TOP_WARNING,
			     "some events were gone before they were read: rates are too low");
	/* An error has more words than a line has room for. */
	if (state->note[0])
		top_line_wrap(lines, TOP_WARNING, state->columns, state->note);
}

static void living_lines(const struct top_state *state, double seconds, struct top_lines *lines)
{
	char events[TOP_WORD_BYTES];
	double threads = (double)state->cpu->count;
	double blocked = fmax(threads - state->cpu->run - state->cpu->queued, 0);

	top_line_add(
		lines, TOP_PLAIN,
		"%.0f threads: %.2f on a CPU, %.2f in the run queue, %.2f blocked; %s events/s",
		threads, state->cpu->run, state->cpu->queued, blocked,
		top_rate_text(top_weighted(state->sums, state->sums->events, state->view) / seconds,
			      events));
	if (state->status)
		settings_line(state, lines);
	cost_line(state, lines);
}

void top_view_head(const struct top_state *state, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	struct latencies latencies = latencies_of(state, seconds);
	char view[32], memory[32], rate[16], p50[16], p99[16], most[16];

	view_words(state, view);
	memory_words(state, memory);
	top_line_add(lines, TOP_TITLE, "wcprof top: %s %d, %s%s%s%s", visible(state->program),
		     (int)state->pid, view, memory,
		     !state->is_frozen        ? ""
		     : state->is_being_dumped ? ", frozen, being dumped"
					      : ", frozen",
		     state->ended ? ", has ended" : "");
	if (latencies.count)
		top_line_add(
			lines, TOP_PLAIN, "%s requests/s, %s: p50 %s, p99 %s, max %s",
			top_rate_text(latencies.per_second, rate),
			state->sums->requests.source == TOP_MARKED ? "as the program marks them"
								   : "from read to write",
			top_time_text(latencies.p50_ns, p50), top_time_text(latencies.p99_ns, p99),
			top_time_text(latencies.most_ns, most));
	else
		top_line_add(lines, TOP_PLAIN, "no requests seen");
	if (state->ended)
		top_line_add(lines, TOP_WARNING, "%s", state->ended);
	else
		living_lines(state, seconds, lines);
	warning_lines(state, lines);
}

void top_view_table(const struct top_state *state, enum top_kind kind, size_t rows,
		    struct top_lines *lines)
{
	switch (kind) {
	case TOP_CLASSES:
		top_table_classes(state, rows, lines);
		break;
	case TOP_LOCKS:
		top_table_locks(state, rows, lines);
		break;
	case TOP_REQUESTS:
		top_table_requests(state, rows, lines);
		break;
	case TOP_THREADS:
		top_table_threads(state, rows, lines);
		break;
	case TOP_ICICLE:
		top_table_icicle(state, rows, lines);
		break;
	case TOP_PROBES:
		top_table_probes(state, rows, lines);
		break;
	case TOP_WHATIF:
	case TOP_KINDS:
		top_table_whatif(state, rows, lines);
		break;
	}
}

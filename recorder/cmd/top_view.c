/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of top; top_view.h has the contract.
 *
 * Rows are the entries of a table that happened in the view, the most time first. Rates are by
 * second of the view, however long that has been seen yet.
 */
#include "top_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocked.h"
#include "client.h"
#include "visible.h"

/* --- words --- */

static __attribute__((format(printf, 3, 4))) void line_add(struct top_lines *lines,
							   enum top_style style, const char *format,
							   ...)
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

/* In 8 columns. */
static const char *time_text(double ns, char to[16])
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

static const char *rate_text(double rate, char to[16])
{
	if (rate >= 1e6)
		snprintf(to, 16, "%.1fM", rate / 1e6);
	else if (rate >= 1e4)
		snprintf(to, 16, "%.1fk", rate / 1e3);
	else
		snprintf(to, 16, "%.*f", rate >= 100 ? 0 : 1, rate);
	return to;
}

/* --- rows --- */

struct row {
	const struct top_entry *entry;
	double key;
};

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? 1 : -1;
	return (a->entry > b->entry) - (a->entry < b->entry);
}

/* The caller frees them. */
static struct row *rows_of(const struct top_state *state, const struct top_table *table,
			   enum top_series series, size_t *count)
{
	struct row *rows = malloc((table->count + 1) * sizeof(*rows));

	*count = 0;
	for (size_t i = 0; rows && i < table->count; i++) {
		const struct top_entry *entry = &table->entries[i];
		struct top_sum sum = top_sum_of(state->sums, entry, TOP_TAKEN, state->view);
		double key = sum.ns, happened = sum.count;

		if (series == TOP_WAITED) {
			struct top_sum waited =
				top_sum_of(state->sums, entry, TOP_WAITED, state->view);

			key = waited.ns * 1e6 + sum.ns;
			happened += waited.count;
		}
		if (happened > 0)
			rows[(*count)++] = (struct row){ entry, key };
	}
	if (rows && *count)
		qsort(rows, *count, sizeof(*rows), compare_rows);
	return rows;
}

static bool is_wanted(const struct top_state *state, const char *name)
{
	return !state->filter[0] || strstr(name, state->filter);
}

/* --- what is waited for --- */

bool top_waiting_find(struct top_waiting_list *list, const struct top_reader *reader)
{
	struct remains remains = reader->remains;
	struct blocked_list threads;
	pid_t pid = remains_pid(&remains);

	*list = (struct top_waiting_list){ NULL, 0 };
	if (pid <= 0 || blocked_read(&threads, (uint32_t)pid, remains.arena) != 0)
		return false;
	list->rows = calloc(threads.count + 1, sizeof(*list->rows));
	for (uint32_t i = 0; list->rows && i < threads.count; i++) {
		const struct blocked_thread *thread = &threads.threads[i];
		size_t at = 0;

		if (thread->on.type != RECORD_WAIT)
			continue;
		while (at < list->count && list->rows[at].address != thread->on.value)
			at++;
		list->count += at == list->count;
		struct top_waiting *row = &list->rows[at];

		row->address = thread->on.value;
		row->waiters++;
		if (thread->wait_ns > row->longest_ns)
			row->longest_ns = thread->wait_ns;
		if (thread->holder) {
			row->holder = (pid_t)thread->holder;
			row->held_ns = thread->held_ns;
		}
	}
	blocked_free(&threads);
	return list->rows != NULL;
}

void top_waiting_free(struct top_waiting_list *list)
{
	free(list->rows);
	*list = (struct top_waiting_list){ NULL, 0 };
}

static const struct top_waiting *waiting_at(const struct top_waiting_list *list, uint64_t address)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->rows[i].address == address)
			return &list->rows[i];
	return NULL;
}

/* --- the head --- */

struct latencies {
	double per_second, p50_ns, p99_ns, most_ns;
	size_t count;
};

static struct latencies latencies_of(const struct top_state *state, double seconds)
{
	struct latencies found = { .count = 0 };
	struct top_request *list =
		top_requests_list(state->sums, state->view, state->now_ns, &found.count);

	found.per_second = top_requests_of(state->sums, state->view) / seconds;
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

static void settings_line(const struct top_state *state, struct top_lines *lines)
{
	char holds[16] = "?", thread[64] = "", recording[16] = "?";
	uint64_t hz = 0, min_io = 0, port = 0, own = 0, cpu = 0, events = 0, most = 1;

	if (!state->status)
		return;
	(void)client_string(state->status, "recording", recording, sizeof(recording));
	(void)client_string(state->status, "holds", holds, sizeof(holds));
	(void)client_string(state->status, "thread", thread, sizeof(thread));
	(void)client_number(state->status, "sample_hz", &hz);
	(void)client_number(state->status, "min_io_ns", &min_io);
	(void)client_number(state->status, "port", &port);
	(void)client_number(state->status, "own_window_ns", &own);
	(void)client_number(state->status, "cpu_ns", &cpu);
	(void)client_number(state->status, "events", &events);
	(void)client_number(state->status, "events_max", &most);
	line_add(lines, TOP_PLAIN,
		 "recording %s: holds %s, %" PRIu64 " samples/s, io from %" PRIu64
		 " us%s%s%s; took about %.1f%% of the CPU time; memory %.0f%% full",
		 recording, holds, hz, min_io / 1000, thread[0] ? ", threads " : "",
		 thread[0] ? visible(thread) : "", port ? ", one port" : "",
		 cpu ? 100 * (double)own / (double)cpu : 0,
		 most ? 100 * (double)events / (double)most : 0);
}

void top_view_head(const struct top_state *state, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	struct latencies latencies = latencies_of(state, seconds);
	char view[32], rate[16], p50[16], p99[16], most[16], events[16];

	view_words(state, view);
	line_add(lines, TOP_TITLE, "wcprof top: %s %d, %s%s%s", visible(state->program),
		 (int)state->pid, view, state->is_frozen ? ", frozen" : "",
		 state->has_ended ? ", has ended" : "");
	if (latencies.count)
		line_add(lines, TOP_PLAIN, "%s requests/s: p50 %s, p99 %s, max %s",
			 rate_text(latencies.per_second, rate), time_text(latencies.p50_ns, p50),
			 time_text(latencies.p99_ns, p99), time_text(latencies.most_ns, most));
	else
		line_add(lines, TOP_PLAIN, "no requests seen");
	double threads = (double)state->cpu->count;
	double blocked = fmax(threads - state->cpu->run - state->cpu->queued, 0);

	line_add(lines, TOP_PLAIN,
		 "%.0f threads: %.2f on a CPU, %.2f in the run queue, %.2f blocked; %s events/s%s",
		 threads, state->cpu->run, state->cpu->queued, blocked,
		 rate_text(top_events_of(state->sums, state->view) / seconds, events),
		 state->reader->missed ? ", some missed" : "");
	settings_line(state, lines);
	if (state->note[0])
		line_add(lines, TOP_WARNING, "%s", state->note);
}

/* --- tables --- */

/* Columns for names: the numbers have the others. */
static int name_width(const struct top_state *state)
{
	enum { NUMBERS = 50, LEAST = 20, MOST = 100 };
	int columns = (int)state->columns - NUMBERS;

	return columns < LEAST ? LEAST : columns > MOST ? MOST : columns;
}

static void classes_table(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	size_t count, shown = 0;
	struct row *rows = rows_of(state, &state->sums->classes, TOP_TAKEN, &count);
	int wide = name_width(state);

	line_add(lines, TOP_HEADING, "%-*s %-6s %8s %10s %10s %10s", wide, "CLASS", "KIND", "PER S",
		 "TIME/S", "MEAN", "MAX");
	for (size_t i = 0; i < count && shown < most; i++) {
		struct top_sum sum = top_sum_of(state->sums, rows[i].entry, TOP_TAKEN, state->view);
		char name[TOP_LABEL_BYTES], rate[16], time[16], mean[16], max[16];

		top_labels_class(state->labels, rows[i].entry, name, sizeof(name));
		if (!is_wanted(state, name))
			continue;
		shown++;
		line_add(lines, TOP_PLAIN, "%-*.*s %-6s %8s %10s %10s %10s", wide, wide, name,
			 top_labels_kind(rows[i].entry), rate_text(sum.count / seconds, rate),
			 time_text(sum.ns / seconds, time), time_text(sum.ns / sum.count, mean),
			 time_text(sum.max_ns, max));
	}
	free(rows);
}

static void holder_text(const struct top_state *state, const struct top_waiting *now, char *to,
			size_t size)
{
	const struct top_cpu_thread *thread =
		now && now->holder ? top_cpu_find(state->cpu, now->holder) : NULL;
	char held[16];

	if (!now || !now->holder)
		snprintf(to, size, "-");
	else
		snprintf(to, size, "%s %d, %s", thread ? visible(thread->name) : "?",
			 (int)now->holder, time_text((double)now->held_ns, held));
}

static void locks_table(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	size_t count, shown = 0;
	struct row *rows = rows_of(state, &state->sums->locks, TOP_WAITED, &count);
	struct top_waiting_list waiting;

	(void)top_waiting_find(&waiting, state->reader);
	line_add(lines, TOP_HEADING, "%-26s %8s %8s %9s %9s %9s %4s %s", "LOCK", "TAKEN/S",
		 "WAITED/S", "WAIT/S", "MAX WAIT", "HELD MEAN", "NOW", "HOLDER, SINCE");
	for (size_t i = 0; i < count && shown < most; i++) {
		const struct top_entry *entry = rows[i].entry;
		struct top_sum taken = top_sum_of(state->sums, entry, TOP_TAKEN, state->view);
		struct top_sum waited = top_sum_of(state->sums, entry, TOP_WAITED, state->view);
		const struct top_waiting *now = waiting_at(&waiting, entry->key[0]);
		char name[TOP_LABEL_BYTES], a[16], b[16], c[16], d[16], e[16], holder[80];

		top_labels_lock(state->labels, entry->key[0], entry->ident, name, sizeof(name));
		if (!is_wanted(state, name))
			continue;
		shown++;
		holder_text(state, now, holder, sizeof(holder));
		line_add(lines, TOP_PLAIN, "%-26.26s %8s %8s %9s %9s %9s %4u %s", name,
			 rate_text(taken.count / seconds, a), rate_text(waited.count / seconds, b),
			 time_text(waited.ns / seconds, c), time_text(waited.max_ns, d),
			 time_text(taken.count > 0 ? taken.ns / taken.count : 0, e),
			 now ? now->waiters : 0, holder);
	}
	if (!count)
		line_add(lines, TOP_PLAIN, "no lock was waited for (h records all holds)");
	top_waiting_free(&waiting);
	free(rows);
}

static void requests_table(const struct top_state *state, size_t most, struct top_lines *lines)
{
	size_t count, shown = 0;
	struct top_request *list =
		top_requests_list(state->sums, state->view, state->now_ns, &count);

	line_add(lines, TOP_HEADING, "%9s %6s %9s %9s %9s %9s %9s %s", "TOOK", "AGO", "CODE", "IO",
		 "LOCKS", "SLEEP", "OTHER", "CONNECTION, KIND");
	for (size_t i = 0; list && i < count && shown < most; i++) {
		const struct top_request *request = &list[i];
		char name[TOP_LABEL_BYTES], kind[64] = "", a[16], b[16], c[16], d[16], e[16], f[16];
		double parts = 0;

		top_labels_string(state->labels, request->ident, name, sizeof(name));
		if (request->kind)
			top_labels_string(state->labels, request->kind, kind, sizeof(kind));
		if (!is_wanted(state, name) && !is_wanted(state, kind))
			continue;
		shown++;
		for (size_t p = 0; p < TOP_PARTS; p++)
			parts += (double)request->parts_ns[p];
		line_add(lines, TOP_PLAIN, "%9s %5.1fs %9s %9s %9s %9s %9s %s%s%s",
			 time_text((double)request->taken_ns, a),
			 (double)(state->now_ns - request->end_ns) / 1e9,
			 time_text((double)request->taken_ns - parts, b),
			 time_text((double)request->parts_ns[TOP_IO], c),
			 time_text((double)request->parts_ns[TOP_LOCK], d),
			 time_text((double)request->parts_ns[TOP_SLEEP], e),
			 time_text((double)(request->parts_ns[TOP_POLL] +
					    request->parts_ns[TOP_OTHER]),
				   f),
			 name, kind[0] ? " " : "", kind);
	}
	if (!count)
		line_add(lines, TOP_PLAIN,
			 "no requests seen: a question read on an accepted "
			 "connection, and its answer");
	free(list);
}

/* The entry of a thread, by the number that the arena has for it; NULL: it did nothing. */
static const struct top_entry *thread_entry(const struct top_state *state, uint32_t number)
{
	for (size_t i = 0; i < state->sums->threads.count; i++)
		if (state->sums->threads.entries[i].key[0] == number)
			return &state->sums->threads.entries[i];
	return NULL;
}

static int compare_busy(const void *left, const void *right)
{
	const struct top_cpu_thread *const *a = left, *const *b = right;
	double one = (*a)->run + (*a)->queued, two = (*b)->run + (*b)->queued;

	if (one != two)
		return one < two ? 1 : -1;
	return ((*a)->tid > (*b)->tid) - ((*a)->tid < (*b)->tid);
}

static void threads_table(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	const struct top_cpu_thread **order = malloc((state->cpu->count + 1) * sizeof(*order));
	size_t shown = 0;

	line_add(lines, TOP_HEADING, "%8s %-16s %6s %6s %6s %6s %6s %6s %6s", "TID", "THREAD",
		 "CPU", "QUEUE", "IO", "POLL", "LOCKS", "SLEEP", "OTHER");
	for (size_t i = 0; order && i < state->cpu->count; i++)
		order[i] = &state->cpu->threads[i];
	if (order)
		qsort(order, state->cpu->count, sizeof(*order), compare_busy);
	for (size_t i = 0; order && i < state->cpu->count && shown < most; i++) {
		const struct top_cpu_thread *thread = order[i];
		uint32_t number = top_reader_thread(state->reader, thread->tid);
		const struct top_entry *entry = number ? thread_entry(state, number) : NULL;
		double part[TOP_PARTS] = { 0 };

		if (!is_wanted(state, thread->name))
			continue;
		shown++;
		for (enum top_part p = 0; entry && p < TOP_PARTS; p++)
			part[p] = 100 * top_part_of(state->sums, entry, p, state->view) /
				  (seconds * 1e9);
		line_add(lines, TOP_PLAIN,
			 "%8d %-16.16s %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%%",
			 (int)thread->tid, visible(thread->name), 100 * thread->run,
			 100 * thread->queued, part[TOP_IO], part[TOP_POLL], part[TOP_LOCK],
			 part[TOP_SLEEP], part[TOP_OTHER]);
	}
	free(order);
}

static void whatif_table(const struct top_state *state, size_t most, struct top_lines *lines)
{
	const char *text = state->whatif;

	if (!text) {
		line_add(lines, TOP_PLAIN, "the first answer is being worked out (every 5 s)");
		return;
	}
	line_add(lines, TOP_HEADING, "WHAT WOULD A FIX BUY? as of %.0f s ago",
		 (double)(state->now_ns - state->whatif_ns) / 1e9);
	for (size_t i = 0; *text && i < most; i++) {
		size_t length = strcspn(text, "\n");

		line_add(lines, TOP_PLAIN, "%.*s", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

void top_view_table(const struct top_state *state, enum top_kind kind, size_t rows,
		    struct top_lines *lines)
{
	switch (kind) {
	case TOP_CLASSES:
		classes_table(state, rows, lines);
		break;
	case TOP_LOCKS:
		locks_table(state, rows, lines);
		break;
	case TOP_REQUESTS:
		requests_table(state, rows, lines);
		break;
	case TOP_THREADS:
		threads_table(state, rows, lines);
		break;
	case TOP_WHATIF:
	case TOP_KINDS:
		whatif_table(state, rows, lines);
		break;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of top; top_view.h has the contract.
 *
 * Rows are the entries of a table that happened in the view, the most time first. Rates are by
 * second of the view, however long that has been seen yet.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_view.h"
#include "visible.h"

enum { LOCK_COLUMNS = 26, LOCK_COLUMNS_NARROW = 20, THREAD_COLUMNS = 16 };

/* --- rows --- */

static int compare_locks(const void *left, const void *right)
{
	const struct top_lock *a = left, *b = right;

	if (a->waited.ns != b->waited.ns)
		return a->waited.ns < b->waited.ns ? 1 : -1;
	if (a->waiters != b->waiters)
		return a->waiters < b->waiters ? 1 : -1;
	if (a->taken.ns != b->taken.ns)
		return a->taken.ns < b->taken.ns ? 1 : -1;
	return (a->address > b->address) - (a->address < b->address);
}

static void add_waits(const struct top_state *state, struct top_lock *lock)
{
	const struct top_waiting *now = top_open_lock(state->open, lock->address);

	if (!now)
		return;
	lock->ident = lock->ident ? lock->ident : now->ident;
	lock->waiters = now->waiters;
	lock->holder = now->holder;
	lock->held_ns = now->held_ns;
	for (size_t i = 0; i < state->open->count; i++) {
		const struct top_open_thread *thread = &state->open->threads[i];

		if (thread->lock != lock->address || thread->since_ns >= state->now_ns)
			continue;
		lock->waited.ns += top_view_overlap_ns(state->sums, state->view, thread->since_ns,
						       state->now_ns);
		lock->waited.max_ns =
			fmax(lock->waited.max_ns, (double)(state->now_ns - thread->since_ns));
	}
}

static bool is_listed(const struct top_lock *locks, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (locks[i].address == address)
			return true;
	return false;
}

struct top_lock *top_locks_of(const struct top_state *state, size_t *count)
{
	const struct top_table *table = &state->sums->locks;
	size_t room = table->count + state->open->lock_count + 1;
	struct top_lock *locks = malloc(room * sizeof(*locks));

	*count = 0;
	for (size_t i = 0; locks && i < table->count; i++) {
		const struct top_entry *entry = &table->entries[i];
		const struct top_lock lock = {
			.address = entry->key[0],
			.ident = entry->ident,
			.taken = top_sum_of(state->sums, entry, TOP_TAKEN, state->view),
			.waited = top_sum_of(state->sums, entry, TOP_WAITED, state->view),
		};

		if (lock.taken.count + lock.waited.count > 0)
			locks[(*count)++] = lock;
	}
	for (size_t i = 0; locks && i < state->open->lock_count; i++) {
		uint64_t address = state->open->locks[i].address;

		if (!is_listed(locks, *count, address))
			locks[(*count)++] = (struct top_lock){ .address = address };
	}
	for (size_t i = 0; locks && i < *count; i++)
		add_waits(state, &locks[i]);
	if (locks && *count)
		qsort(locks, *count, sizeof(*locks), compare_locks);
	return locks;
}

static int compare_names(const void *left, const void *right)
{
	const struct top_class *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->kind, b->kind);
}

static int compare_times(const void *left, const void *right)
{
	const struct top_class *a = left, *b = right;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns < b->sum.ns ? 1 : -1;
	return compare_names(left, right);
}

/* Of a list in the order of names; how many are left. */
static size_t merge(struct top_class *classes, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct top_class *last = kept ? &classes[kept - 1] : NULL;

		if (!last || compare_names(last, &classes[i]) != 0) {
			classes[kept++] = classes[i];
			continue;
		}
		last->sum.count += classes[i].sum.count;
		last->sum.ns += classes[i].sum.ns;
		last->sum.max_ns = fmax(last->sum.max_ns, classes[i].sum.max_ns);
	}
	return kept;
}

struct top_class *top_classes_of(const struct top_state *state, size_t *count)
{
	const struct top_table *table = &state->sums->classes;
	struct top_class *classes = malloc((table->count + 1) * sizeof(*classes));

	*count = 0;
	for (size_t i = 0; classes && i < table->count; i++) {
		const struct top_entry *entry = &table->entries[i];
		struct top_class *class = &classes[*count];

		class->sum = top_sum_of(state->sums, entry, TOP_TAKEN, state->view);
		if (!(class->sum.count > 0))
			continue;
		top_labels_class(state->labels, entry, class->name, sizeof(class->name));
		class->kind = top_labels_kind(entry);
		++*count;
	}
	if (classes && *count) {
		qsort(classes, *count, sizeof(*classes), compare_names);
		*count = merge(classes, *count);
		qsort(classes, *count, sizeof(*classes), compare_times);
	}
	return classes;
}

int top_name_width(const struct top_state *state)
{
	enum { NUMBERS = 50, LEAST = 20, MOST = TOP_CELL_COLUMNS_MAX };
	int columns = (int)state->columns - NUMBERS;

	return columns < LEAST ? LEAST : columns > MOST ? MOST : columns;
}

void top_table_classes(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	size_t count, shown = 0;
	struct top_class *classes = top_classes_of(state, &count);
	int wide = top_name_width(state);

	top_line_add(lines, TOP_HEADING, "%-*s %-6s %8s %10s %10s %10s", wide, "CLASS", "KIND",
		     "PER S", "TIME/S", "MEAN", "MAX");
	for (size_t i = 0; i < count && shown < most; i++) {
		const struct top_class *class = &classes[i];
		char rate[16], time[16], mean[16], max[16], cell[TOP_CELL_BYTES];

		if (!top_is_wanted(state, class->name))
			continue;
		shown++;
		top_line_add(lines, TOP_PLAIN, "%s %-6s %8s %10s %10s %10s",
			     visible_fit(class->name, (size_t)wide, cell, sizeof(cell)),
			     class->kind, top_rate_text(class->sum.count / seconds, rate),
			     top_time_text(class->sum.ns / seconds, time),
			     top_time_text(class->sum.ns / class->sum.count, mean),
			     top_time_text(class->sum.max_ns, max));
	}
	free(classes);
}

/* "worker 123, 1.25 s" */
static void holder_text(const struct top_state *state, const struct top_lock *lock, char *to,
			size_t size)
{
	const struct top_cpu_thread *thread =
		lock->holder ? top_cpu_find(state->cpu, lock->holder) : NULL;
	char held[TOP_WORD_BYTES];

	if (!lock->holder)
		snprintf(to, size, "-");
	else
		snprintf(to, size, "%s %d%s%s", thread ? visible(thread->name) : "?",
			 (int)lock->holder, lock->held_ns ? ", " : "",
			 lock->held_ns ? top_time_text((double)lock->held_ns, held) : "");
}

static void lock_heading(bool is_wide, struct top_lines *lines)
{
	if (is_wide)
		top_line_add(lines, TOP_HEADING, "%-*s %8s %8s %9s %9s %9s %4s %s", LOCK_COLUMNS,
			     "LOCK", "TAKEN/S", "WAITED/S", "WAIT/S", "MAX WAIT", "HELD MEAN",
			     "NOW", "HOLDER, SINCE");
	else
		top_line_add(lines, TOP_HEADING, "%-*s %8s %9s %9s %4s %s", LOCK_COLUMNS_NARROW,
			     "LOCK", "WAITED/S", "WAIT/S", "MAX WAIT", "NOW", "HOLDER, SINCE");
}

/* The holder is more to the point than how the lock was held before. */
static void lock_line(const struct top_state *state, const struct top_lock *lock, const char *name,
		      double seconds, struct top_lines *lines)
{
	const struct top_sum *taken = &lock->taken, *waited = &lock->waited;
	char a[16], b[16], c[16], d[16], e[16], holder[80], cell[TOP_CELL_BYTES];

	holder_text(state, lock, holder, sizeof(holder));
	top_rate_text(waited->count / seconds, a);
	top_time_text(waited->ns / seconds, b);
	top_time_text(waited->max_ns, c);
	if (state->columns >= TOP_COLUMNS_WIDE)
		top_line_add(lines, TOP_PLAIN, "%s %8s %8s %9s %9s %9s %4u %s",
			     visible_fit(name, LOCK_COLUMNS, cell, sizeof(cell)),
			     top_rate_text(taken->count / seconds, d), a, b, c,
			     top_time_text(taken->count > 0 ? taken->ns / taken->count : 0, e),
			     lock->waiters, holder);
	else
		top_line_add(lines, TOP_PLAIN, "%s %8s %9s %9s %4u %s",
			     visible_fit(name, LOCK_COLUMNS_NARROW, cell, sizeof(cell)), a, b, c,
			     lock->waiters, holder);
}

void top_table_locks(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	size_t count, shown = 0;
	struct top_lock *locks = top_locks_of(state, &count);

	lock_heading(state->columns >= TOP_COLUMNS_WIDE, lines);
	for (size_t i = 0; i < count && shown < most; i++) {
		char name[TOP_LABEL_BYTES];

		top_labels_lock(state->labels, locks[i].address, locks[i].ident, name,
				sizeof(name));
		if (!top_is_wanted(state, name))
			continue;
		shown++;
		lock_line(state, &locks[i], name, seconds, lines);
	}
	if (!count)
		top_line_add(lines, TOP_PLAIN,
			     "no lock was waited for: h records the holds of all");
	free(locks);
}

/* The entry of a thread, by the number that the arena has for it; NULL: it did nothing. */
const struct top_entry *top_thread_entry(const struct top_state *state, uint32_t number)
{
	for (size_t i = 0; i < state->sums->threads.count; i++)
		if (state->sums->threads.entries[i].key[0] == number)
			return &state->sums->threads.entries[i];
	return NULL;
}

double top_thread_ns(const struct top_state *state, pid_t tid, enum top_part part)
{
	uint32_t number = top_reader_thread(state->reader, tid);
	const struct top_entry *entry = number ? top_thread_entry(state, number) : NULL;
	const struct top_open_thread *open = top_open_find(state->open, tid);
	double ns = entry ? top_part_of(state->sums, entry, part, state->view) : 0;

	if (open && open->part == part)
		ns += top_view_overlap_ns(state->sums, state->view, open->since_ns, state->now_ns);
	return ns;
}

static int compare_busy(const void *left, const void *right)
{
	const struct top_cpu_thread *const *a = left, *const *b = right;
	double one = (*a)->run + (*a)->queued, two = (*b)->run + (*b)->queued;

	if (one != two)
		return one < two ? 1 : -1;
	return ((*a)->tid > (*b)->tid) - ((*a)->tid < (*b)->tid);
}

void top_table_threads(const struct top_state *state, size_t most, struct top_lines *lines)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);
	const struct top_cpu_thread **order = malloc((state->cpu->count + 1) * sizeof(*order));
	size_t shown = 0;

	top_line_add(lines, TOP_HEADING, "%8s %-*s %6s %6s %6s %6s %6s %6s %6s", "TID",
		     THREAD_COLUMNS, "THREAD", "CPU", "QUEUE", "IO", "POLL", "LOCKS", "SLEEP",
		     "OTHER");
	for (size_t i = 0; order && i < state->cpu->count; i++)
		order[i] = &state->cpu->threads[i];
	if (order)
		qsort(order, state->cpu->count, sizeof(*order), compare_busy);
	for (size_t i = 0; order && i < state->cpu->count && shown < most; i++) {
		const struct top_cpu_thread *thread = order[i];
		double part[TOP_PARTS];
		char cell[TOP_CELL_BYTES];

		if (!top_is_wanted(state, thread->name))
			continue;
		shown++;
		for (enum top_part p = 0; p < TOP_PARTS; p++)
			part[p] = 100 * top_thread_ns(state, thread->tid, p) / (seconds * 1e9);
		top_line_add(lines, TOP_PLAIN,
			     "%8d %s %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%%",
			     (int)thread->tid,
			     visible_fit(visible(thread->name), THREAD_COLUMNS, cell, sizeof(cell)),
			     100 * thread->run, 100 * thread->queued, part[TOP_IO], part[TOP_POLL],
			     part[TOP_LOCK], part[TOP_SLEEP], part[TOP_OTHER]);
	}
	free(order);
}

/* "the first answer is being worked out, for 3 s, of the last 1.2 s"; empty: nobody is at it. */
static void progress_text(const struct top_state *state, const char *which, char *to, size_t size)
{
	const struct top_whatif *whatif = state->whatif;
	double since_s = state->now_ns > whatif->asked_ns
				 ? (double)(state->now_ns - whatif->asked_ns) / 1e9
				 : 0;

	if (whatif->child > 0)
		snprintf(to, size, "the %s answer is being worked out, for %.0f s, of %.1f s",
			 which, since_s, (double)whatif->last_ns / 1e9);
	else
		to[0] = '\0';
}

void top_table_whatif(const struct top_state *state, size_t most, struct top_lines *lines)
{
	const struct top_whatif *whatif = state->whatif;
	const char *text = whatif->answer;
	char progress[128];

	progress_text(state, text ? "next" : "first", progress, sizeof(progress));
	if (whatif->problem[0])
		top_line_add(lines, TOP_WARNING, "%s", whatif->problem);
	if (!text && state->ended) {
		top_line_add(lines, TOP_PLAIN, "there was no answer before the process ended");
		return;
	}
	if (!text) {
		top_line_add(lines, TOP_PLAIN, "%s",
			     progress[0] ? progress : "an answer is worked out soon");
		top_line_add(lines, TOP_PLAIN,
			     "(the analyzer has a CPU when nobody else wants one)");
		return;
	}
	top_line_add(lines, TOP_HEADING, "WHAT WOULD A FIX BUY? in the %.1f s until %.0f s ago",
		     (double)whatif->answer_last_ns / 1e9,
		     (double)(state->now_ns - whatif->answer_ns) / 1e9);
	if (progress[0])
		top_line_add(lines, TOP_PLAIN, "(%s)", progress);
	for (size_t i = 0; *text && i + 1 < most; i++) {
		size_t length = strcspn(text, "\n");

		top_line_add(lines, TOP_PLAIN, "%.*s", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

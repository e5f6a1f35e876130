/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the last line: ids become indexes, and times get their common epoch.
 *
 * Open waits that a later dump finished, and ops that are their own ancestors, only show when all
 * is there. Both are looked for here. One thread.
 */
#include "reading.h"

#include "recording/samples.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static uint32_t op_index(const struct reading *reading, uint32_t id)
{
	assert(id == NO_INDEX || id < reading->op_of_count);
	if (id == NO_INDEX || reading->op_of[id] == NO_INDEX)
		return NO_INDEX;
	return reading->op_of[id] & ~READ_OPEN_OP;
}

static bool is_unknown(uint32_t id, uint32_t index)
{
	return id != NO_INDEX && index == NO_INDEX;
}

static void resolve_ops(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->op_count; i++) {
		struct rec_op *op = &recording->ops[i];
		uint32_t parent = op_index(reading, op->parent);

		recording->unknown_parents += is_unknown(op->parent, parent);
		op->parent = parent;
		op->start_ns += shift_ns;
		op->end_ns += shift_ns;
		assert(op->start_ns <= op->end_ns);
	}
}

static void resolve_waits(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->wait_count; i++) {
		struct rec_wait *wait = &recording->waits[i];
		uint32_t waiter = op_index(reading, wait->waiter);
		uint32_t target = op_index(reading, wait->target);

		recording->unknown_parents += is_unknown(wait->waiter, waiter);
		recording->unknown_targets += is_unknown(wait->target, target);
		wait->waiter = waiter;
		wait->target = target;
		wait->start_ns += shift_ns;
		wait->end_ns += shift_ns;
		assert(wait->start_ns <= wait->end_ns);
	}
}

static void resolve_links(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->link_count; i++) {
		struct rec_link *link = &recording->links[i];
		uint32_t to = op_index(reading, link->to);

		recording->unknown_targets += is_unknown(link->to, to);
		link->from = op_index(reading, link->from);
		link->to = to;
		link->at_ns += shift_ns;
	}
}

static void resolve_samples(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->sample_count; i++) {
		recording->samples[i].op = op_index(reading, recording->samples[i].op);
		recording->samples[i].at_ns += shift_ns;
	}
}

static int compare_contexts(const void *left, const void *right)
{
	const struct rec_context *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void resolve_contexts(struct recording *recording, uint64_t shift_ns)
{
	for (size_t i = 0; i < recording->context_count; i++)
		recording->contexts[i].at_ns += shift_ns;
	if (recording->context_count > 0)
		qsort(recording->contexts, recording->context_count, sizeof(*recording->contexts),
		      compare_contexts);
}

static int compare_idles(const void *left, const void *right)
{
	const struct rec_idle *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Each dump of a process has all of them so far. */
static void resolve_idles(struct recording *recording, uint64_t shift_ns)
{
	struct rec_idle *idles = recording->idles;
	size_t kept = 0;

	for (size_t i = 0; i < recording->idle_count; i++)
		idles[i].at_ns += shift_ns;
	if (recording->idle_count)
		qsort(idles, recording->idle_count, sizeof(*idles), compare_idles);
	for (size_t i = 0; i < recording->idle_count; i++)
		if (!kept || compare_idles(&idles[kept - 1], &idles[i]) != 0)
			idles[kept++] = idles[i];
	recording->idle_count = kept;
}

static int compare_windows(const void *left, const void *right)
{
	const struct rec_window *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Dumps that follow each other at once have one window in parts. */
static void resolve_windows(struct recording *recording, uint64_t shift_ns)
{
	struct rec_window *windows = recording->windows;
	size_t kept = 0;

	for (size_t i = 0; i < recording->window_count; i++) {
		windows[i].from_ns += shift_ns;
		windows[i].to_ns += shift_ns;
	}
	if (recording->window_count)
		qsort(windows, recording->window_count, sizeof(*windows), compare_windows);
	for (size_t i = 0; i < recording->window_count; i++) {
		struct rec_window *last = kept ? &windows[kept - 1] : NULL;

		if (!last || last->process != windows[i].process ||
		    last->to_ns < windows[i].from_ns)
			windows[kept++] = windows[i];
		else if (last->to_ns < windows[i].to_ns) {
			last->to_ns = windows[i].to_ns;
			last->was_turned_off = windows[i].was_turned_off;
		}
	}
	recording->window_count = kept;
}

/* Which ops are open is known only when all dumps are read. */
static void mark_open_ops(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t id;

	if (!recording->extras || recording->open_op_count == 0)
		return;
	for (id = 0; id < reading->op_of_count; id++)
		if (reading->op_of[id] != NO_INDEX && reading->op_of[id] & READ_OPEN_OP)
			recording->extras[reading->op_of[id] & ~READ_OPEN_OP].open = true;
}

static int compare_window_ends(const void *left, const void *right)
{
	const struct rec_window *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

/* Recording was turned off at that moment. */
static bool is_cut_off(const struct recording *recording, uint32_t thread, uint64_t end_ns)
{
	struct rec_window key = { .to_ns = end_ns }, *found;

	if (thread == NO_INDEX || recording->window_count == 0)
		return false;
	key.process = recording->threads[thread].process;
	found = bsearch(&key, recording->windows, recording->window_count, sizeof(key),
			compare_window_ends);
	return found && found->was_turned_off;
}

/* An op or wait that ended between the end of its window and the dump is recorded as cut off at the
 * former. It is as open as those that had not ended at the dump either. Windows are in order. */
static void mark_cut_off(struct recording *recording)
{
	for (size_t i = 0; i < recording->wait_count; i++) {
		struct rec_wait *wait = &recording->waits[i];

		wait->open |= is_cut_off(recording, wait->thread, wait->end_ns);
	}
	for (uint32_t i = 0; recording->extras && i < recording->op_count; i++) {
		struct rec_op_extra *extra = &recording->extras[i];
		bool is_cut = !extra->open && is_cut_off(recording, recording->ops[i].thread,
							 recording->ops[i].end_ns);

		extra->open |= is_cut;
		recording->open_op_count += is_cut;
	}
}

/* A process that was handed a connection cannot tell that it was accepted. The accept can. */
static bool mark_accepted(struct reading *reading)
{
	struct recording *recording = reading->recording;
	bool *is_accepted;

	if (!recording->extras)
		return true;
	is_accepted = calloc(recording->string_count + 1, sizeof(*is_accepted));
	if (!is_accepted)
		return reading_fail_memory(reading);
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (recording->extras[i].other_ident &&
		    strncmp(recording->strings[recording->ops[i].name], "accept", 6) == 0)
			is_accepted[recording->extras[i].other_ident] = true;
	for (uint32_t i = 0; i < recording->op_count; i++)
		recording->extras[i].accepted |= is_accepted[recording->ops[i].ident];
	free(is_accepted);
	return true;
}

static void resolve_owners(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->thread_count; i++)
		recording->threads[i].op = op_index(reading, recording->threads[i].op);
	for (i = 0; i < recording->process_count; i++)
		recording->processes[i].op = op_index(reading, recording->processes[i].op);
}

/* The same wait: one op (known by its index among the ids) on one thread begins no two at one time.
 */
static int compare_waits(const struct rec_wait *a, const struct rec_wait *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->waiter != b->waiter)
		return a->waiter < b->waiter ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return 0;
}

/* Equal ones by length, the longest first. */
static int compare_open_waits(const void *a, const void *b)
{
	const struct rec_wait *wait_a = a;
	const struct rec_wait *wait_b = b;
	int order = compare_waits(wait_a, wait_b);

	if (order != 0)
		return order;
	return (wait_a->end_ns < wait_b->end_ns) - (wait_a->end_ns > wait_b->end_ns);
}

/* Takes the open waits out of the recording, in order and each once. */
static struct rec_wait *take_open_waits(struct reading *reading, size_t *count)
{
	struct recording *recording = reading->recording;
	struct rec_wait *open = malloc(reading->open_wait_count * sizeof(*open));
	size_t kept = 0, taken = 0, i;

	*count = 0;
	if (!open)
		return NULL;
	for (i = 0; i < recording->wait_count; i++) {
		if (recording->waits[i].open)
			open[taken++] = recording->waits[i];
		else
			recording->waits[kept++] = recording->waits[i];
	}
	assert(taken == reading->open_wait_count);
	recording->wait_count = kept;
	qsort(open, taken, sizeof(*open), compare_open_waits);
	for (i = 0; i < taken; i++)
		if (*count == 0 || compare_waits(&open[*count - 1], &open[i]) != 0)
			open[(*count)++] = open[i];
	return open;
}

static struct rec_wait *find_open_wait(struct rec_wait *open, size_t count,
				       const struct rec_wait *wait)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_waits(&open[middle], wait);

		if (order == 0)
			return &open[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Open waits that are finished in another dump, or open in two, are kept once. */
static bool merge_open_waits(struct reading *reading)
{
	struct recording *recording = reading->recording;
	struct rec_wait *open, *found;
	size_t count, i;

	if (reading->open_wait_count == 0 || recording->dump_count < 2)
		return true;
	open = take_open_waits(reading, &count);
	if (!open)
		return reading_fail_memory(reading);
	for (i = 0; i < recording->wait_count; i++) {
		found = find_open_wait(open, count, &recording->waits[i]);
		if (found)
			found->open = false;
	}
	for (i = 0; i < count; i++)
		if (open[i].open)
			recording->waits[recording->wait_count++] = open[i];
	free(open);
	return true;
}

static bool fail_cycle(struct reading *reading, uint32_t op)
{
	uint32_t line = reading->op_lines[op];
	size_t file = reading->file_count - 1;

	while (file > 0 && reading->files[file].first_line > line)
		file--;
	reading_fail(reading, -EBADMSG, line - reading->files[file].first_line + 1,
		     "op %" PRIu64 " is its own ancestor; leave this line out and try again",
		     reading->recording->ops[op].dump_id);
	reading->error->file = reading->files[file].path;
	return false;
}

/*
 * From each op upwards until an op that was visited before: if that was on this same way up, it is
 * a circle. `visits` holds the op at which the way began that came by first.
 */
static bool check_ancestors(struct reading *reading)
{
	const struct recording *recording = reading->recording;
	uint32_t *visits = malloc((recording->op_count + 1) * sizeof(*visits));
	uint32_t start, op = NO_INDEX;

	if (!visits)
		return reading_fail_memory(reading);
	memset(visits, 0xff, (recording->op_count + 1) * sizeof(*visits));
	for (start = 0; start < recording->op_count; start++) {
		for (op = start; op != NO_INDEX && visits[op] == NO_INDEX;
		     op = recording->ops[op].parent)
			visits[op] = start;
		if (op != NO_INDEX && visits[op] == start)
			break;
	}
	free(visits);
	return start == recording->op_count || fail_cycle(reading, op);
}

bool read_resolve(struct reading *reading)
{
	struct recording *recording = reading->recording;
	uint64_t shift_ns = (uint64_t)-reading->offset_min_ns;

	if (!merge_open_waits(reading))
		return false;
	resolve_ops(reading, shift_ns);
	resolve_waits(reading, shift_ns);
	resolve_links(reading, shift_ns);
	resolve_samples(reading, shift_ns);
	resolve_contexts(recording, shift_ns);
	resolve_idles(recording, shift_ns);
	resolve_windows(recording, shift_ns);
	resolve_owners(reading);
	read_share(reading, shift_ns);
	mark_open_ops(reading);
	mark_cut_off(recording);
	if (!mark_accepted(reading))
		return false;
	recording->end_ns += shift_ns;
	recording->epoch_unix_ns = reading->first_epoch_unix_ns - shift_ns;
	if (!samples_sort(recording))
		return reading_fail_memory(reading);
	if (!read_place_modules(reading, shift_ns))
		return false;
	return check_ancestors(reading);
}

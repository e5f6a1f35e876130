/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a recording window by window; parts.h has the contract.
 *
 * Method. Each event has a span in which it is needed. Spans are sorted by their begin, and those
 * that have begun and not ended are kept from one window to the next. A sample's span is from the
 * sample before to the next one of its thread, as both ends of a window need those around them.
 */
#include "parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

struct span {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t index; /* of the event */
};

/* Through all events of one sort. */
struct sweep {
	struct span *spans; /* by begin */
	size_t count;
	size_t next;     /* from here on they have not begun */
	struct span *on; /* go on behind the window */
	size_t on_count;
	uint32_t *found; /* in the window, in the recording's order */
	size_t found_count;
};

struct parts {
	struct recording *recording;
	struct recording whole; /* its events are of all windows, and owned; the rest is old */
	struct sweep ops, waits, links, samples, idles;
	uint32_t *new_index; /* per op: where it is in the window, NO_INDEX = nowhere */
};

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_indexes(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static struct sweep sweep_new(size_t count)
{
	return (struct sweep){
		.spans = memory_new(count, sizeof(struct span)),
		.on = memory_new(count, sizeof(struct span)),
		.found = memory_new(count, sizeof(uint32_t)),
		.count = count,
	};
}

static void sweep_free(struct sweep *sweep)
{
	free(sweep->spans);
	free(sweep->on);
	free(sweep->found);
}

static void sweep_begin(struct sweep *sweep)
{
	if (sweep->count)
		qsort(sweep->spans, sweep->count, sizeof(*sweep->spans), compare_spans);
}

static void sweep_look_at(struct sweep *sweep, const struct span *span, const struct window *window)
{
	if (span->to_ns >= window->from_ns)
		sweep->found[sweep->found_count++] = span->index;
	if (span->to_ns > window->to_ns)
		sweep->on[sweep->on_count++] = *span;
}

static void sweep_to(struct sweep *sweep, const struct window *window)
{
	size_t before = sweep->on_count;
	sweep->found_count = sweep->on_count = 0;
	for (size_t i = 0; i < before; i++) {
		const struct span span = sweep->on[i];
		sweep_look_at(sweep, &span, window);
	}
	for (; sweep->next < sweep->count && sweep->spans[sweep->next].from_ns <= window->to_ns;
	     sweep->next++)
		sweep_look_at(sweep, &sweep->spans[sweep->next], window);
	if (sweep->found_count)
		qsort(sweep->found, sweep->found_count, sizeof(*sweep->found), compare_indexes);
}

/* --- The spans ------------------------------------------------------------------------------- */

static struct sweep sweep_of_ops(const struct recording *recording)
{
	struct sweep sweep = sweep_new(recording->op_count);
	for (uint32_t i = 0; i < recording->op_count; i++)
		sweep.spans[i] =
			(struct span){ recording->ops[i].start_ns, recording->ops[i].end_ns, i };
	sweep_begin(&sweep);
	return sweep;
}

static struct sweep sweep_of_waits(const struct recording *recording)
{
	struct sweep sweep = sweep_new(recording->wait_count);
	for (uint32_t i = 0; i < recording->wait_count; i++)
		sweep.spans[i] = (struct span){ recording->waits[i].start_ns,
						recording->waits[i].end_ns, i };
	sweep_begin(&sweep);
	return sweep;
}

/* Initialisers name what is used afterwards. */
static struct sweep sweep_of_links(const struct recording *recording)
{
	struct sweep sweep = sweep_new(recording->link_count);
	for (uint32_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		sweep.spans[i] =
			(struct span){ link->at_ns,
				       link->kind == LINK_INIT ? UINT64_MAX : link->at_ns, i };
	}
	sweep_begin(&sweep);
	return sweep;
}

static struct sweep sweep_of_samples(const struct recording *recording)
{
	struct sweep sweep = sweep_new(recording->sample_count);
	for (uint32_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		bool has_before = i > 0 && sample[-1].thread == sample->thread;
		bool has_next =
			i + 1 < recording->sample_count && sample[1].thread == sample->thread;
		sweep.spans[i] = (struct span){ sample[has_before ? -1 : 0].at_ns,
						sample[has_next].at_ns, i };
	}
	sweep_begin(&sweep);
	return sweep;
}

static struct sweep sweep_of_idles(const struct recording *recording)
{
	struct sweep sweep = sweep_new(recording->idle_count);
	for (uint32_t i = 0; i < recording->idle_count; i++) {
		const struct rec_idle *idle = &recording->idles[i];
		bool has_before = i > 0 && idle[-1].process == idle->process;
		bool has_next = i + 1 < recording->idle_count && idle[1].process == idle->process;
		sweep.spans[i] =
			(struct span){ idle[has_before ? -1 : 0].at_ns, idle[has_next].at_ns, i };
	}
	sweep_begin(&sweep);
	return sweep;
}

/* --- The events of a window ------------------------------------------------------------------ */

/* Those that were found, in an array of their own. */
static void *copy_found(const struct sweep *sweep, const void *all, size_t element_bytes)
{
	char *copy = memory_new(sweep->found_count, element_bytes);
	for (size_t i = 0; i < sweep->found_count; i++)
		memcpy(copy + i * element_bytes,
		       (const char *)all + sweep->found[i] * element_bytes, element_bytes);
	return copy;
}

static void *copy_all(const void *all, size_t count, size_t element_bytes)
{
	void *copy = memory_new(count, element_bytes);
	return count ? memcpy(copy, all, count * element_bytes) : copy;
}

static void free_events(struct recording *recording)
{
	free(recording->ops);
	free(recording->extras);
	free(recording->waits);
	free(recording->links);
	free(recording->samples);
	free(recording->idles);
	free(recording->threads);
	free(recording->processes);
}

static void copy_events(struct parts *parts)
{
	struct recording *to = parts->recording;
	const struct recording *from = &parts->whole;
	to->ops = copy_found(&parts->ops, from->ops, sizeof(*to->ops));
	to->extras =
		from->extras ? copy_found(&parts->ops, from->extras, sizeof(*to->extras)) : NULL;
	to->waits = copy_found(&parts->waits, from->waits, sizeof(*to->waits));
	to->links = copy_found(&parts->links, from->links, sizeof(*to->links));
	to->samples = copy_found(&parts->samples, from->samples, sizeof(*to->samples));
	to->idles = copy_found(&parts->idles, from->idles, sizeof(*to->idles));
	to->threads = copy_all(from->threads, from->thread_count, sizeof(*to->threads));
	to->processes = copy_all(from->processes, from->process_count, sizeof(*to->processes));
	to->op_count = parts->ops.found_count;
	to->wait_count = parts->waits.found_count;
	to->link_count = parts->links.found_count;
	to->sample_count = parts->samples.found_count;
	to->idle_count = parts->idles.found_count;
	to->open_op_count = from->open_op_count;
	to->end_ns = from->end_ns;
}

static uint32_t index_in(const struct parts *parts, uint32_t op)
{
	return op == NO_INDEX ? NO_INDEX : parts->new_index[op];
}

/* An op whose parent is not in the window has the nearest ancestor that is. */
static uint32_t parent_in(const struct parts *parts, uint32_t op)
{
	do
		op = parts->whole.ops[op].parent;
	while (op != NO_INDEX && parts->new_index[op] == NO_INDEX);
	return index_in(parts, op);
}

static void put_indexes_right(const struct parts *parts)
{
	struct recording *recording = parts->recording;
	for (size_t i = 0; i < recording->op_count; i++)
		recording->ops[i].parent = parent_in(parts, parts->ops.found[i]);
	for (size_t i = 0; i < recording->wait_count; i++) {
		struct rec_wait *wait = &recording->waits[i];
		wait->waiter = index_in(parts, wait->waiter);
		wait->target = index_in(parts, wait->target);
	}
	for (size_t i = 0; i < recording->link_count; i++) {
		struct rec_link *link = &recording->links[i];
		link->from = index_in(parts, link->from);
		link->to = index_in(parts, link->to);
	}
	for (size_t i = 0; i < recording->sample_count; i++)
		recording->samples[i].op = index_in(parts, recording->samples[i].op);
	for (size_t i = 0; i < recording->thread_count; i++)
		recording->threads[i].op = index_in(parts, recording->threads[i].op);
	for (size_t i = 0; i < recording->process_count; i++)
		recording->processes[i].op = index_in(parts, recording->processes[i].op);
}

struct parts *parts_begin(struct recording *recording)
{
	struct parts *parts = memory_new(1, sizeof(*parts));
	parts->recording = recording;
	parts->whole = *recording;
	parts->ops = sweep_of_ops(recording);
	parts->waits = sweep_of_waits(recording);
	parts->links = sweep_of_links(recording);
	parts->samples = sweep_of_samples(recording);
	parts->idles = sweep_of_idles(recording);
	parts->new_index = memory_new(recording->op_count, sizeof(*parts->new_index));
	for (size_t i = 0; i < recording->op_count; i++)
		parts->new_index[i] = NO_INDEX;
	copy_events(parts);
	return parts;
}

void parts_go_to(struct parts *parts, const struct window *window)
{
	for (size_t i = 0; i < parts->ops.found_count; i++)
		parts->new_index[parts->ops.found[i]] = NO_INDEX;
	sweep_to(&parts->ops, window);
	sweep_to(&parts->waits, window);
	sweep_to(&parts->links, window);
	sweep_to(&parts->samples, window);
	sweep_to(&parts->idles, window);
	for (uint32_t i = 0; i < parts->ops.found_count; i++)
		parts->new_index[parts->ops.found[i]] = i;
	free_events(parts->recording);
	copy_events(parts);
	put_indexes_right(parts);
}

void parts_end(struct parts *parts)
{
	free_events(&parts->whole);
	sweep_free(&parts->ops);
	sweep_free(&parts->waits);
	sweep_free(&parts->links);
	sweep_free(&parts->samples);
	sweep_free(&parts->idles);
	free(parts->new_index);
	free(parts);
}

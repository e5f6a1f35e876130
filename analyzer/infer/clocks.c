/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One time axis for several machines; clocks.h has the contract.
 *
 * Method. Two machines that bytes went between have an offset, and an error of it (crossings.h,
 * clockfit.h). Of these the ones with the smallest errors that connect all machines are used: a
 * spanning tree. From the first machine on, offsets and errors add up along it. Machines that it
 * does not reach keep their wall clocks. The others' times are moved, each by its own line.
 *
 * One thread.
 */
#include "clocks.h"

#include "base/memory.h"
#include "crossings.h"

#include <math.h>
#include <stdlib.h>

/* Offset over time: of that clock's times, from the middle of the recording. */
struct line {
	double offset_ns;
	double drift;
	double error_ns;
};

struct aligning {
	struct recording *rec;
	double middle_ns;
	struct line *lines; /* by clock: to the first one of its group */
};

/* --- pairs --- */

static struct rec_clock_pair pair_of(struct crossing *crossing, double middle_ns)
{
	struct rec_clock_pair pair = { .from = crossing->from,
				       .to = crossing->to,
				       .connections = crossing->connections,
				       .unmatched = crossing->unmatched,
				       .messages = crossing->least_count + crossing->most_count,
				       .is_guessed = crossing->is_guessed,
				       .has_least = crossing->least_count > 0,
				       .has_most = crossing->most_count > 0 };
	struct clock_fit fit;

	pair.is_contradictory = !pair.messages && pair.unmatched;
	if (!pair.messages)
		return pair;
	clock_fit_find(&fit, crossing->least, crossing->least_count, crossing->most,
		       crossing->most_count);
	pair.is_contradictory = fit.is_contradictory;
	pair.offset_ns = fit.offset_ns + fit.drift * (middle_ns - fit.middle_ns);
	pair.drift = fit.drift;
	pair.error_ns = fit.error_ns;
	return pair;
}

static bool is_usable(const struct rec_clock_pair *pair)
{
	return pair->messages && !pair->is_contradictory;
}

/* Those that cannot be used last, else the smallest error first. */
static int compare_pairs(const void *left, const void *right)
{
	const struct rec_clock_pair *a = left, *b = right;

	if (is_usable(a) != is_usable(b))
		return is_usable(a) ? -1 : 1;
	if (a->error_ns != b->error_ns)
		return a->error_ns < b->error_ns ? -1 : 1;
	return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
				  : (a->to > b->to) - (a->to < b->to);
}

static void pairs_find(struct aligning *aligning)
{
	struct recording *rec = aligning->rec;
	struct crossings crossings;

	crossings_find(&crossings, rec);
	rec->clock_pairs = memory_new(crossings.count, sizeof(*rec->clock_pairs));
	rec->clock_pair_count = crossings.count;
	for (size_t i = 0; i < crossings.count; i++)
		rec->clock_pairs[i] = pair_of(&crossings.crossings[i], aligning->middle_ns);
	if (crossings.count)
		qsort(rec->clock_pairs, crossings.count, sizeof(*rec->clock_pairs), compare_pairs);
	crossings_free(&crossings);
}

/* --- the tree --- */

static void groups_join(struct recording *rec, uint32_t one, uint32_t other)
{
	uint32_t first = one < other ? one : other, last = one < other ? other : one;

	for (size_t i = 0; i < rec->clock_count; i++)
		if (rec->clocks[i].group == last)
			rec->clocks[i].group = first;
}

static void tree_find(struct recording *rec)
{
	for (uint32_t i = 0; i < rec->clock_count; i++)
		rec->clocks[i].group = i;
	for (size_t i = 0; i < rec->clock_pair_count && is_usable(&rec->clock_pairs[i]); i++) {
		struct rec_clock_pair *pair = &rec->clock_pairs[i];
		uint32_t from = rec->clocks[pair->from].group, to = rec->clocks[pair->to].group;

		pair->is_used = from != to;
		if (pair->is_used)
			groups_join(rec, from, to);
	}
}

/* From one end of a used pair to the other: `to`'s times are moved to `from`'s, or back. */
static struct line step_of(const struct rec_clock_pair *pair, bool is_back)
{
	if (!is_back)
		return (struct line){ pair->offset_ns, pair->drift, pair->error_ns };
	return (struct line){ -(pair->offset_ns - pair->drift * pair->offset_ns), -pair->drift,
			      pair->error_ns };
}

/* First by `step`, and what comes of that by `next`. */
static struct line line_after(struct line step, struct line next)
{
	return (struct line){ step.offset_ns + next.offset_ns + next.drift * step.offset_ns,
			      step.drift + next.drift, step.error_ns + next.error_ns };
}

/* All clocks that the tree leads to from this one. */
static void lines_find(struct aligning *aligning, uint32_t clock, const struct rec_clock_pair *came)
{
	const struct recording *rec = aligning->rec;

	for (size_t i = 0; i < rec->clock_pair_count; i++) {
		const struct rec_clock_pair *pair = &rec->clock_pairs[i];
		bool is_back = pair->to == clock;

		if (!pair->is_used || pair == came || (pair->from != clock && !is_back))
			continue;
		uint32_t next = is_back ? pair->from : pair->to;

		aligning->lines[next] = line_after(step_of(pair, is_back), aligning->lines[clock]);
		lines_find(aligning, next, pair);
	}
}

/* --- times --- */

struct moving {
	const struct aligning *aligning;
	double more_ns; /* so that no time is before 0 */
};

static uint64_t moved(const struct moving *moving, uint32_t clock, uint64_t at_ns)
{
	const struct line *line = &moving->aligning->lines[clock];
	double by_ns = line->offset_ns +
		       line->drift * ((double)at_ns - moving->aligning->middle_ns) +
		       moving->more_ns;

	return at_ns + (uint64_t)(int64_t)llround(by_ns);
}

static uint32_t clock_of_thread(const struct recording *rec, uint32_t thread)
{
	return thread == NO_INDEX ? 0 : rec->processes[rec->threads[thread].process].clock;
}

static void move_ops(const struct moving *moving, struct recording *rec)
{
	uint32_t *clocks = memory_new(rec->op_count, sizeof(*clocks));

	for (size_t i = 0; i < rec->op_count; i++)
		clocks[i] = clock_of_thread(rec, rec->ops[i].thread);
	for (size_t i = 0; i < rec->process_count; i++)
		if (rec->processes[i].op != NO_INDEX)
			clocks[rec->processes[i].op] = rec->processes[i].clock;
	for (size_t i = 0; i < rec->op_count; i++) {
		struct rec_op *op = &rec->ops[i];

		op->start_ns = moved(moving, clocks[i], op->start_ns);
		op->end_ns = moved(moving, clocks[i], op->end_ns);
	}
	free(clocks);
}

static void move_events(const struct moving *moving, struct recording *rec)
{
	for (size_t i = 0; i < rec->wait_count; i++) {
		struct rec_wait *wait = &rec->waits[i];
		uint32_t clock = clock_of_thread(rec, wait->thread);

		wait->start_ns = moved(moving, clock, wait->start_ns);
		wait->end_ns = moved(moving, clock, wait->end_ns);
	}
	for (size_t i = 0; i < rec->link_count; i++)
		rec->links[i].at_ns = moved(moving, clock_of_thread(rec, rec->links[i].thread),
					    rec->links[i].at_ns);
	for (size_t i = 0; i < rec->sample_count; i++)
		rec->samples[i].at_ns = moved(moving, clock_of_thread(rec, rec->samples[i].thread),
					      rec->samples[i].at_ns);
	for (size_t i = 0; i < rec->context_count; i++)
		rec->contexts[i].at_ns =
			moved(moving, clock_of_thread(rec, rec->contexts[i].thread),
			      rec->contexts[i].at_ns);
}

static void move_of_processes(const struct moving *moving, struct recording *rec)
{
	for (size_t i = 0; i < rec->idle_count; i++)
		rec->idles[i].at_ns = moved(moving, rec->processes[rec->idles[i].process].clock,
					    rec->idles[i].at_ns);
	for (size_t i = 0; i < rec->window_count; i++) {
		struct rec_window *window = &rec->windows[i];
		uint32_t clock = rec->processes[window->process].clock;

		window->from_ns = moved(moving, clock, window->from_ns);
		window->to_ns = moved(moving, clock, window->to_ns);
	}
	for (size_t i = 0; i < rec->module_count; i++) {
		struct rec_module *module = &rec->modules[i];
		uint32_t clock = rec->processes[module->process].clock;

		if (module->loaded_ns)
			module->loaded_ns = moved(moving, clock, module->loaded_ns);
		if (module->unloaded_ns)
			module->unloaded_ns = moved(moving, clock, module->unloaded_ns);
	}
}

/* The last of all events; a dump without any has its own end among the windows. */
static uint64_t end_ns_of(const struct recording *rec)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < rec->op_count; i++)
		end_ns = rec->ops[i].end_ns > end_ns ? rec->ops[i].end_ns : end_ns;
	for (size_t i = 0; i < rec->wait_count; i++)
		end_ns = rec->waits[i].end_ns > end_ns ? rec->waits[i].end_ns : end_ns;
	for (size_t i = 0; i < rec->link_count; i++)
		end_ns = rec->links[i].at_ns > end_ns ? rec->links[i].at_ns : end_ns;
	for (size_t i = 0; i < rec->sample_count; i++)
		end_ns = rec->samples[i].at_ns > end_ns ? rec->samples[i].at_ns : end_ns;
	for (size_t i = 0; i < rec->window_count; i++)
		end_ns = rec->windows[i].to_ns > end_ns ? rec->windows[i].to_ns : end_ns;
	return end_ns;
}

static void times_move(const struct aligning *aligning)
{
	struct recording *rec = aligning->rec;
	struct moving moving = { .aligning = aligning };

	for (size_t i = 0; i < rec->clock_count; i++) {
		const struct line *line = &aligning->lines[i];
		double first_ns = line->offset_ns - line->drift * aligning->middle_ns;

		moving.more_ns = fmax(moving.more_ns, ceil(-first_ns));
	}
	move_ops(&moving, rec);
	move_events(&moving, rec);
	move_of_processes(&moving, rec);
	rec->end_ns = end_ns_of(rec);
	rec->epoch_unix_ns -= (uint64_t)moving.more_ns;
}

void clocks_align(struct recording *rec)
{
	struct aligning aligning = { .rec = rec, .middle_ns = (double)rec->end_ns / 2 };

	if (rec->clock_count < 2 || rec->clock_pairs || !rec->extras)
		return;
	pairs_find(&aligning);
	tree_find(rec);
	aligning.lines = memory_new(rec->clock_count, sizeof(*aligning.lines));
	for (uint32_t i = 0; i < rec->clock_count; i++)
		if (rec->clocks[i].group == i)
			lines_find(&aligning, i, NULL);
	for (size_t i = 0; i < rec->clock_count; i++) {
		rec->clocks[i].offset_ns = aligning.lines[i].offset_ns;
		rec->clocks[i].drift = aligning.lines[i].drift;
		rec->clocks[i].error_ns = aligning.lines[i].error_ns;
	}
	times_move(&aligning);
	free(aligning.lines);
}

double clocks_error_ns(const struct recording *rec, uint32_t process, uint32_t other)
{
	uint32_t from = rec->processes[process].clock, to = rec->processes[other].clock;

	if (from == to)
		return 0;
	if (rec->clocks[from].group != rec->clocks[to].group)
		return INFINITY;
	for (size_t i = 0; i < rec->clock_pair_count; i++) {
		const struct rec_clock_pair *pair = &rec->clock_pairs[i];

		if (pair->is_used && ((pair->from == from && pair->to == to) ||
				      (pair->from == to && pair->to == from)))
			return pair->error_ns;
	}
	return rec->clocks[from].error_ns + rec->clocks[to].error_ns;
}

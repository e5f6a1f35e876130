/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds loops that end by the clock; clockreads.h has the contract.
 *
 * Method. A loop that asks for the time in each turn is left right after a call. Nothing of what a
 * turn does is done after it. That is so, too, of a loop that measures its turns, and of one that
 * another thread tells to end. But people end loops after round times. So the time from an earlier
 * call of the process to the loop's end must be round. A round time was not over at the last call
 * but one, and was at the last one. How likely is that by chance? It is the turn's length over the
 * distance of round times, for each call that may be the begin. Threads that run one loop side by
 * side must all be done at that time. Those that share out work end within a turn of each other in
 * any case. So the chance is that of the shortest turn, and each further thread makes it half as
 * large, not by its own turn's part.
 */
#include "clockreads.h"

#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

enum { CALLS_LEAST = 5 }; /* fewer turns are no loop */

static const uint64_t ROUND_LEAST_NS = 50000000; /* nobody runs a loop for less */
static const uint64_t MINUTE_NS = UINT64_C(60000000000);
static const uint64_t LATE_NS = 10000; /* a call is noted so long after its answer, at most */
static const double LEFT_SHARE = 0.01; /* of its life that a thread has left to end in */

/* The last turn of a place, as known while loops are looked for. */
struct turn {
	uint64_t longest_ns; /* op of the last turn */
	uint32_t class;      /* of that; NO_INDEX = there is none */
	bool goes_on;        /* it is done after the last call, too */
	/* Its waits, but for locks: turns before ended by a timeout, or by another thread; it by
	 * another thread. */
	bool timed_out, was_woken, is_woken;
};

struct search {
	const struct recording *recording;
	const struct class_table *classes;
	const struct clock_reads *reads;
	struct turn *turns; /* by place */
};

static uint64_t at_ns(const struct recording *recording, uint32_t link)
{
	return recording->links[link].at_ns;
}

/* --- places --- */

static int compare_links(const void *left, const void *right, void *context)
{
	const uint32_t *a = left, *b = right;
	const struct rec_link *one = (const struct rec_link *)context + *a;
	const struct rec_link *two = (const struct rec_link *)context + *b;
	if (one->stack != two->stack)
		return one->stack < two->stack ? -1 : 1;
	if (one->thread != two->thread)
		return one->thread < two->thread ? -1 : 1;
	if (one->count != two->count)
		return one->count < two->count ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

static bool is_read(const struct rec_link *link)
{
	return link->kind == LINK_CLOCK && link->thread != NO_INDEX && link->stack;
}

static void place_take(struct clock_reads *reads, const struct recording *recording, uint32_t link)
{
	const struct rec_link *call = &recording->links[link];
	struct read_place *place = &reads->places[reads->place_count - (reads->place_count > 0)];
	if (!reads->place_count || place->stack != call->stack || place->thread != call->thread) {
		reads->places[reads->place_count++] =
			(struct read_place){ call->thread, call->stack, call->count,
					     link,         link,        link };
		return;
	}
	place->previous = place->last;
	place->last = link;
	place->count = call->count;
}

static void places_find(struct clock_reads *reads, const struct recording *recording)
{
	uint32_t *links = memory_new(recording->link_count, sizeof(*links));
	size_t count = 0;
	for (uint32_t i = 0; i < recording->link_count; i++)
		if (is_read(&recording->links[i]))
			links[count++] = i;
	qsort_r(links, count, sizeof(*links), compare_links, recording->links);
	reads->places = memory_new(count, sizeof(*reads->places));
	for (size_t i = 0; i < count; i++)
		place_take(reads, recording, links[i]);
	free(links);
}

static void places_deal(struct clock_reads *reads, const struct recording *recording)
{
	size_t *first = memory_new(recording->thread_count + 2, sizeof(*first));
	reads->places_of = memory_new(reads->place_count, sizeof(*reads->places_of));
	for (size_t i = 0; i < reads->place_count; i++)
		first[reads->places[i].thread + 2]++;
	for (size_t t = 0; t < recording->thread_count; t++)
		first[t + 2] += first[t + 1];
	for (uint32_t i = 0; i < reads->place_count; i++)
		reads->places_of[first[reads->places[i].thread + 1]++] = i;
	reads->first_of = first;
}

/* --- turns --- */

static void turn_see(struct search *search, uint32_t index, uint32_t op)
{
	const struct read_place *place = &search->reads->places[index];
	const struct rec_op *done = &search->recording->ops[op];
	struct turn *turn = &search->turns[index];
	uint64_t from_ns = at_ns(search->recording, place->previous);
	uint64_t to_ns = at_ns(search->recording, place->last);
	if (done->start_ns < from_ns || done->start_ns >= to_ns || done->end_ns > to_ns)
		return;
	if (turn->class == NO_INDEX || done->end_ns - done->start_ns > turn->longest_ns)
		*turn = (struct turn){ .longest_ns = done->end_ns - done->start_ns,
				       .class = search->classes->of_op[op] };
}

static void turn_compare(struct search *search, uint32_t index, uint32_t op)
{
	struct turn *turn = &search->turns[index];
	if (search->recording->ops[op].start_ns >=
	    at_ns(search->recording, search->reads->places[index].last))
		turn->goes_on |= turn->class == search->classes->of_op[op];
}

static void turn_waits(struct search *search, uint32_t index, const struct rec_wait *wait)
{
	const struct read_place *place = &search->reads->places[index];
	struct turn *turn = &search->turns[index];
	uint64_t previous_ns = at_ns(search->recording, place->previous);
	if (wait->end_ns < at_ns(search->recording, place->first) ||
	    wait->end_ns > at_ns(search->recording, place->last))
		return;
	turn->timed_out |= wait->timed_out && wait->end_ns <= previous_ns;
	turn->was_woken |= !wait->timed_out && wait->end_ns <= previous_ns;
	turn->is_woken |= !wait->timed_out && wait->end_ns > previous_ns;
}

static void waits_see(struct search *search)
{
	const struct recording *recording = search->recording;
	const struct clock_reads *reads = search->reads;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread == NO_INDEX ||
		    (wait->reason != REASON_COND && wait->reason != REASON_FUTEX &&
		     wait->reason != REASON_SEM))
			continue;
		for (size_t k = reads->first_of[wait->thread];
		     k < reads->first_of[wait->thread + 1]; k++)
			turn_waits(search, reads->places_of[k], wait);
	}
}

static void turns_find(struct search *search)
{
	const struct recording *recording = search->recording;
	const struct clock_reads *reads = search->reads;
	search->turns = memory_new(search->reads->place_count, sizeof(*search->turns));
	for (size_t i = 0; i < search->reads->place_count; i++)
		search->turns[i].class = NO_INDEX;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t op = 0; op < recording->op_count; op++) {
			uint32_t thread = recording->ops[op].thread;
			uint16_t kind = recording->ops[op].kind;
			if (thread == NO_INDEX || kind == KIND_THREAD || kind == KIND_PROCESS)
				continue;
			for (size_t i = reads->first_of[thread]; i < reads->first_of[thread + 1];
			     i++)
				(pass ? turn_compare : turn_see)(search, reads->places_of[i], op);
		}
	waits_see(search);
}

/* It was the first one that another thread cut short: that told it to end. */
static bool was_told(const struct turn *turn)
{
	return turn->is_woken && turn->timed_out && !turn->was_woken;
}

/* The last call put an end to turns. */
static bool is_left(const struct search *search, size_t index)
{
	const struct read_place *place = &search->reads->places[index];
	const struct recording *recording = search->recording;
	uint32_t life = recording->threads[place->thread].op;
	if (place->count < CALLS_LEAST || life == NO_INDEX || was_told(&search->turns[index]))
		return false;
	if (search->turns[index].class != NO_INDEX)
		return !search->turns[index].goes_on;
	uint64_t last_ns = at_ns(recording, place->last);
	double turn_ns = (double)(last_ns - at_ns(recording, place->previous));
	double left_ns = (double)recording->ops[life].end_ns - (double)last_ns;
	double lived_ns = (double)(last_ns - at_ns(recording, place->first));
	return left_ns <= fmax(turn_ns, LEFT_SHARE * lived_ns);
}

/* --- round times --- */

/* A time in which a loop ended, and how likely that is a round one by chance. */
struct span {
	uint64_t after_ns; /* not yet over */
	uint64_t by_ns;    /* over */
	double chance;     /* of all threads together */
	uint64_t round_ns; /* 0 = none */
};

/* The round times around that one are so far apart: 5% to 50% of it, or a minute. */
static uint64_t distance_ns(uint64_t ns)
{
	uint64_t power_ns = 1;
	while (ns / power_ns >= 10)
		power_ns *= 10;
	return power_ns / 2;
}

static uint64_t round_within(uint64_t after_ns, uint64_t by_ns)
{
	uint64_t minutes_ns = by_ns - by_ns % MINUTE_NS;
	uint64_t round_ns = by_ns - by_ns % distance_ns(by_ns);
	round_ns = minutes_ns > round_ns ? minutes_ns : round_ns;
	return by_ns >= ROUND_LEAST_NS && round_ns > after_ns ? round_ns : 0;
}

static int compare_times(const void *left, const void *right, void *context)
{
	const struct rec_link *links = context;
	const uint32_t *a = left, *b = right;
	if (links[*a].at_ns != links[*b].at_ns)
		return links[*a].at_ns < links[*b].at_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

/* The time from the moment on, or from each thread's own first call if that is NO_INDEX. */
static struct span span_of(const struct search *search, size_t first, size_t end, uint32_t begin)
{
	const struct recording *recording = search->recording;
	struct span span = { .by_ns = UINT64_MAX, .chance = 1 };
	double least = 1;
	for (size_t i = first; i < end; i++) {
		const struct read_place *place = &search->reads->places[i];
		uint32_t from = begin == NO_INDEX ? place->first : begin;
		uint64_t from_ns = at_ns(recording, from);
		uint64_t previous_ns = at_ns(recording, place->previous);
		uint64_t last_ns = at_ns(recording, place->last);
		if (!is_left(search, i))
			continue;
		if (previous_ns < from_ns || previous_ns == last_ns)
			return (struct span){ 0 };
		uint64_t after_ns = previous_ns - from_ns, by_ns = last_ns - from_ns + LATE_NS;
		span.after_ns = after_ns > span.after_ns ? after_ns : span.after_ns;
		span.by_ns = by_ns < span.by_ns ? by_ns : span.by_ns;
		double chance = fmin(1, (double)(by_ns - after_ns) / (double)distance_ns(by_ns));
		span.chance *= fmax(fmax(chance, least), assume.timed_together);
		least = fmin(least, chance);
	}
	span.chance *= least;
	if (span.by_ns != UINT64_MAX && span.after_ns < span.by_ns)
		span.round_ns = round_within(span.after_ns, span.by_ns);
	return span;
}

static void loops_add(struct timed_loop *loops, size_t *count, const struct search *search,
		      size_t first, size_t end, uint32_t begin, uint64_t length_ns)
{
	const struct read_place *places = search->reads->places;
	for (size_t i = first; i < end; i++)
		if (is_left(search, i))
			loops[(*count)++] =
				(struct timed_loop){ (uint32_t)i,
						     begin == NO_INDEX ? places[i].first : begin,
						     places[i].last, length_ns };
}

/* Calls before the loop that may be the begin of its time, in order, as links; to be freed. */
static uint32_t *begins_find(const struct search *search, size_t first, size_t end, size_t *count)
{
	const struct recording *recording = search->recording;
	const struct clock_reads *reads = search->reads;
	uint32_t process = recording->threads[reads->places[first].thread].process;
	uint32_t *begins = memory_new(reads->place_count, sizeof(*begins));
	uint64_t loop_ns = UINT64_MAX;
	*count = 0;
	for (size_t i = first; i < end; i++)
		if (at_ns(recording, reads->places[i].first) < loop_ns)
			loop_ns = at_ns(recording, reads->places[i].first);
	for (size_t i = 0; i < reads->place_count; i++)
		if (recording->threads[reads->places[i].thread].process == process &&
		    (i < first || i >= end) && at_ns(recording, reads->places[i].first) <= loop_ns)
			begins[(*count)++] = reads->places[i].first;
	qsort_r(begins, *count, sizeof(*begins), compare_times, recording->links);
	return begins;
}

/* As how many begins they count for chance: those closer together than a turn count in part. */
static double begins_count(const struct search *search, const uint32_t *begins, size_t count,
			   uint64_t turn_ns)
{
	double sum = 1;
	for (size_t i = 1; turn_ns && i < count; i++)
		sum += fmin(1, (double)(at_ns(search->recording, begins[i]) -
					at_ns(search->recording, begins[i - 1])) /
				       (double)turn_ns);
	return sum;
}

/* Places of one stack. Each call that came before may be the begin of the time. Of those that fit
 * as well it is the last one, as an end is computed just before the loop. */
static void group_judge(struct clock_reads *reads, const struct search *search, size_t first,
			size_t end)
{
	uint32_t best = NO_INDEX;
	size_t count;
	struct span span = span_of(search, first, end, NO_INDEX);
	uint32_t *begins = begins_find(search, first, end, &count);
	for (size_t i = 0; i < count; i++) {
		struct span other = span_of(search, first, end, begins[i]);
		bool is_own = best == NO_INDEX && span.round_ns;
		if (other.round_ns && (!span.round_ns || other.chance < span.chance ||
				       (!is_own && other.chance <= span.chance))) {
			span = other;
			best = begins[i];
		}
	}
	double chance =
		span.chance * begins_count(search, begins, count, span.by_ns - span.after_ns);
	if (span.round_ns && chance <= assume.timed_chance)
		loops_add(reads->loops, &reads->loop_count, search, first, end, best,
			  span.round_ns);
	else if (span.round_ns && chance <= assume.timed_doubt)
		loops_add(reads->doubts, &reads->doubt_count, search, first, end, best,
			  span.round_ns);
	free(begins);
}

static int compare_marks(const void *left, const void *right)
{
	const struct clock_mark *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->loop > b->loop) - (a->loop < b->loop);
}

static struct clock_mark mark_of(const struct recording *recording, uint32_t link, uint32_t loop,
				 bool is_end)
{
	return (struct clock_mark){ at_ns(recording, link), recording->links[link].thread, loop,
				    is_end };
}

static void marks_make(struct clock_reads *reads, const struct recording *recording)
{
	reads->marks = memory_new(2 * reads->loop_count, sizeof(*reads->marks));
	for (uint32_t i = 0; i < reads->loop_count; i++) {
		const struct timed_loop *loop = &reads->loops[i];
		reads->marks[reads->mark_count++] = mark_of(recording, loop->begins, i, false);
		reads->marks[reads->mark_count++] = mark_of(recording, loop->ends, i, true);
	}
	qsort(reads->marks, reads->mark_count, sizeof(*reads->marks), compare_marks);
}

void clock_reads_build(struct clock_reads *reads, const struct recording *recording,
		       const struct class_table *classes)
{
	struct search search = { recording, classes, reads, NULL };
	*reads = (struct clock_reads){ 0 };
	places_find(reads, recording);
	places_deal(reads, recording);
	reads->loops = memory_new(reads->place_count, sizeof(*reads->loops));
	reads->doubts = memory_new(reads->place_count, sizeof(*reads->doubts));
	turns_find(&search);
	for (size_t first = 0, end; first < reads->place_count; first = end) {
		for (end = first; end < reads->place_count &&
				  reads->places[end].stack == reads->places[first].stack;)
			end++;
		group_judge(reads, &search, first, end);
	}
	marks_make(reads, recording);
	free(search.turns);
}

void clock_reads_free(struct clock_reads *reads)
{
	free(reads->places);
	free(reads->places_of);
	free(reads->first_of);
	free(reads->loops);
	free(reads->doubts);
	free(reads->marks);
}

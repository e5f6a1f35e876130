/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares figures of the same requests; shortened.h has the contract.
 *
 * The widths of a percentile's two intervals give that of the difference, by the correlation of
 * being beyond it. A request that is unfinished in either replay is in the tail if it had already
 * taken longer than the percentile. Else it is left out.
 */
#include "shortened.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"

static const double NORMAL = 1.959964; /* deviations to either side that hold 95% */
static const double percents[REQUEST_FIGURES] = {
	[REQUEST_P50] = 50, [REQUEST_P95] = 95, [REQUEST_P99] = 99
};

/* Requests that both replays finished, in order of time. */
struct pairs {
	uint64_t *before_ns, *after_ns;
	uint64_t *room; /* for one of them in another order */
	size_t count;
	/* Those that one did not: so long they had taken at least. */
	uint64_t *cut_before_ns, *cut_after_ns;
	size_t cut_count;
};

/* Ranks of a percentile and of its interval. */
struct ranks {
	size_t least, value, most;
	bool is_known;
};

struct interval {
	double least, value, most;
};

/* Among `count` values, beyond which there are `more` of which nothing else is known. */
static struct ranks ranks_of(size_t count, size_t more, double percent, double together)
{
	double all = (double)(count + more), rank = floor(all * percent / 100);
	double off = NORMAL * sqrt(all * percent / 100 * (1 - percent / 100) * together);
	struct ranks ranks = { .value = (size_t)rank };
	ranks.is_known = rank - off >= 0 && ceil(rank + off) <= (double)count - 1;
	if (ranks.is_known) {
		ranks.least = (size_t)floor(rank - off);
		ranks.most = (size_t)ceil(rank + off);
	}
	return ranks;
}

double shortened_slower_percent(enum request_figure figure)
{
	return 100 - percents[figure];
}

size_t shortened_least_count(enum request_figure figure)
{
	size_t count = 2;
	while (figure != REQUEST_MEAN && !ranks_of(count, 0, percents[figure], 1).is_known)
		count++;
	return count;
}

static void select_ranks(const struct pairs *pairs, const uint64_t *values_ns,
			 const struct ranks *ranks, struct interval *interval)
{
	for (size_t i = 0; i < pairs->count; i++)
		pairs->room[i] = values_ns[i];
	/* all before a rank are not larger */
	interval->most = (double)percentile_select(pairs->room, pairs->count, ranks->most);
	interval->value = (double)percentile_select(pairs->room, ranks->most + 1, ranks->value);
	interval->least = (double)percentile_select(pairs->room, ranks->value + 1, ranks->least);
}

static size_t block_of(size_t count)
{
	return (size_t)(cbrt((double)count) + 0.5);
}

static size_t count_beyond(const uint64_t *values_ns, size_t count, double limit_ns)
{
	size_t beyond = 0;
	for (size_t i = 0; i < count; i++)
		beyond += (double)values_ns[i] > limit_ns;
	return beyond;
}

/* The variance of a share, divided by that of requests each on its own. */
static double togetherness(const uint64_t *values_ns, size_t count, double limit_ns)
{
	size_t block = block_of(count), blocks = count / block;
	double squares = 0, beyond = (double)count_beyond(values_ns, blocks * block, limit_ns);
	double share = beyond / (double)(blocks * block);
	for (size_t b = 0; b < blocks; b++) {
		double sum = (double)count_beyond(values_ns + b * block, block, limit_ns) -
			     share * (double)block;
		squares += sum * sum;
	}
	double alone = share * (1 - share) * (double)(blocks * block);
	return alone > 0 ? fmax(1, squares / alone) : 1;
}

/* Of being beyond one limit and beyond the other. */
static double correlation(const struct pairs *pairs, double before_ns, double after_ns)
{
	double both = 0, first = 0, second = 0, count = (double)pairs->count;
	for (size_t i = 0; i < pairs->count; i++) {
		bool is_first = (double)pairs->before_ns[i] > before_ns;
		bool is_second = (double)pairs->after_ns[i] > after_ns;
		both += is_first && is_second;
		first += is_first;
		second += is_second;
	}
	double deviations = sqrt(first * (count - first) * second * (count - second));
	return deviations > 0 ? (both * count - first * second) / deviations : 1;
}

/* Of the difference of two figures that go together so much. */
static double half_width(const struct interval *before, const struct interval *after,
			 double together)
{
	double one = (before->most - before->least) / 2, other = (after->most - after->least) / 2;
	return sqrt(fmax(one * one + other * other - 2 * together * one * other, 0));
}

/* With the values at the ranks; unset if these are not known. */
static bool select_both(const struct pairs *pairs, const struct ranks *ranks,
			struct interval *before, struct interval *after)
{
	if (!ranks->is_known)
		return false;
	select_ranks(pairs, pairs->before_ns, ranks, before);
	select_ranks(pairs, pairs->after_ns, ranks, after);
	return true;
}

static struct shortened shorten_percentile(const struct pairs *pairs, double percent)
{
	struct ranks ranks = ranks_of(pairs->count, 0, percent, 1);
	struct interval before, after;
	struct shortened result = { 0 };
	if (!select_both(pairs, &ranks, &before, &after))
		return result;
	double times = fmax(togetherness(pairs->before_ns, pairs->count, before.value),
			    togetherness(pairs->after_ns, pairs->count, after.value));
	size_t first = count_beyond(pairs->cut_before_ns, pairs->cut_count, before.value);
	size_t second = count_beyond(pairs->cut_after_ns, pairs->cut_count, after.value);
	ranks = ranks_of(pairs->count, first > second ? first : second, percent, times);
	result.is_known = select_both(pairs, &ranks, &before, &after);
	if (!result.is_known)
		return result;
	double off_ns = half_width(&before, &after, correlation(pairs, before.value, after.value));
	result.saved_ns = before.value - after.value;
	result.least_ns = result.saved_ns - off_ns;
	result.most_ns = result.saved_ns + off_ns;
	return result;
}

static struct shortened shorten_mean(const struct pairs *pairs)
{
	size_t block = block_of(pairs->count), blocks = pairs->count / block;
	double sum = 0, squares = 0;
	for (size_t i = 0; i < pairs->count; i++)
		sum += (double)pairs->before_ns[i] - (double)pairs->after_ns[i];
	double mean = sum / (double)pairs->count;
	for (size_t b = 0; b < blocks; b++) {
		double more = 0;
		for (size_t i = b * block; i < (b + 1) * block; i++)
			more += (double)pairs->before_ns[i] - (double)pairs->after_ns[i] - mean;
		squares += more * more;
	}
	double error = blocks > 1 ? sqrt(squares / (double)(blocks - 1) / (double)blocks) : 0;
	double off = NORMAL * error / (double)block;
	return (struct shortened){ mean, mean - off, mean + off, blocks > 1 };
}

void shortened_find(struct shortened shortened[REQUEST_FIGURES], const struct request_time *before,
		    const struct request_time *after, const uint32_t *order, size_t count)
{
	uint64_t *room = memory_new(5 * count, sizeof(*room));
	struct pairs pairs = { .before_ns = room,
			       .after_ns = room + count,
			       .room = room + 2 * count,
			       .cut_before_ns = room + 3 * count,
			       .cut_after_ns = room + 4 * count };
	for (size_t i = 0; i < count; i++) {
		const struct request_time *from = &before[order[i]], *to = &after[order[i]];
		if (from->is_unfinished || to->is_unfinished) {
			pairs.cut_before_ns[pairs.cut_count] = from->taken_ns;
			pairs.cut_after_ns[pairs.cut_count++] = to->taken_ns;
		} else {
			pairs.before_ns[pairs.count] = from->taken_ns;
			pairs.after_ns[pairs.count++] = to->taken_ns;
		}
	}
	for (enum request_figure figure = 0; figure < REQUEST_FIGURES; figure++)
		shortened[figure] = pairs.count < 2 ? (struct shortened){ 0 }
				    : figure == REQUEST_MEAN
					    ? shorten_mean(&pairs)
					    : shorten_percentile(&pairs, percents[figure]);
	free(room);
}

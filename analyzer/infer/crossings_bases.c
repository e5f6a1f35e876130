/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base of a connection: how many bytes one end lacks; crossings_parts.h has the contract.
 *
 * Method. Programs mostly ask and answer. So a read does not begin in the midst of what was written
 * in one piece. Bases are tried that put an end of a write at the first read, or of a read at the
 * first write. A later write for each read is a stricter bound. Two bases that are too late
 * contradict each other: an answer would come before its question. Of the others, those are taken
 * with the least time on the way, there and back. In that sum the clocks' offset cancels out.
 *
 * Other bases with the same sum have both directions be so many messages late. They contradict each
 * other at the first pause that is longer than others. Traffic that is as regular as a clock has
 * none. Of such bases the one is taken that is nearest to what the wall clocks say.
 *
 * One thread.
 */
#include "crossings_parts.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
	JUDGED_MESSAGES = 512, /* of each direction, to choose a base */
	BASES_MOST = 4096      /* that are tried, each way */
};
/* While a base is chosen, clocks may drift apart by that: few do by more than 100 millionths. */
static const double DRIFT_MOST = 200e-6;
/* Sums of times on the way that differ by less than this part of the time between two messages. */
static const double SAME_SUM = 0.25;

static size_t write_with(const struct stream *stream, int64_t byte)
{
	size_t low = 0, high = stream->write_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stream->writes[middle].end < byte)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct base crossing_base_judge(const struct stream *stream, int64_t bytes)
{
	struct base base = { .bytes = bytes, .late_ns = -INFINITY };
	size_t write = 0;
	double first_ns = 0, sum_ns = 0;

	for (size_t i = 0; i < stream->read_count && base.matched < JUDGED_MESSAGES; i++) {
		const struct message *read = &stream->reads[i];
		int64_t byte = read->end + bytes;

		if (byte <= 0)
			continue;
		if (!base.matched)
			write = write_with(stream, byte);
		while (write < stream->write_count && stream->writes[write].end < byte)
			write++;
		if (write == stream->write_count)
			break;
		first_ns = base.matched++ ? first_ns : read->at_ns;
		sum_ns += read->at_ns - stream->writes[write].at_ns;
		base.late_ns = fmax(base.late_ns, stream->writes[write].at_ns - read->at_ns);
		base.span_ns = read->at_ns - first_ns;
	}
	base.taken_ns = base.matched ? sum_ns / (double)base.matched : 0;
	return base;
}

/* Most of what one end has must be what the other one has, too. */
static bool is_likely(const struct stream *stream, const struct base *base)
{
	size_t fewer =
		stream->write_count < stream->read_count ? stream->write_count : stream->read_count;

	fewer = fewer < JUDGED_MESSAGES ? fewer : JUDGED_MESSAGES;
	return base->matched && 4 * base->matched >= 3 * fewer;
}

struct bases {
	struct base list[2 * BASES_MOST + 1]; /* in order: the later, the stricter */
	size_t count;
};

static void base_try(struct bases *bases, const struct stream *stream, int64_t bytes)
{
	struct base base = crossing_base_judge(stream, bytes);

	if (is_likely(stream, &base))
		bases->list[bases->count++] = base;
}

static void bases_find(struct bases *bases, const struct stream *stream)
{
	size_t reads = stream->read_count < BASES_MOST ? stream->read_count : BASES_MOST;
	size_t writes = stream->write_count < BASES_MOST ? stream->write_count : BASES_MOST;

	bases->count = 0;
	for (size_t i = reads; i-- > 0;)
		base_try(bases, stream, -stream->reads[i].end);
	base_try(bases, stream, 0);
	for (size_t i = 0; i < writes; i++)
		base_try(bases, stream, stream->writes[i].end);
}

bool crossing_fits(const struct base *there, const struct base *back, const struct range *range)
{
	double slack_ns = DRIFT_MOST * fmax(there->span_ns, back->span_ns);

	return there->late_ns + back->late_ns <= slack_ns &&
	       there->late_ns <= range->most_ns + slack_ns &&
	       -back->late_ns >= range->least_ns - slack_ns;
}

static double distance_of(const struct choice *choice)
{
	return fabs(choice->there.late_ns - choice->back.late_ns) / 2;
}

/* Less on the way; or as much, and nearer to the wall clocks. */
static bool is_better(const struct choice *choice, const struct choice *best)
{
	double between_ns = choice->there.span_ns / (double)choice->there.matched;

	if (fabs(choice->taken_ns - best->taken_ns) < SAME_SUM * between_ns)
		return distance_of(choice) < distance_of(best);
	return choice->taken_ns < best->taken_ns;
}

/* For each base of the one direction the strictest of the other that fits. */
static struct choice choose(const struct bases *there, const struct bases *back,
			    const struct range *range)
{
	struct choice best = { .taken_ns = INFINITY };
	size_t end = back->count;

	for (size_t i = 0; i < there->count; i++) {
		while (end > 0 && !crossing_fits(&there->list[i], &back->list[end - 1], range))
			end--;
		if (!end)
			break;
		struct choice choice = { there->list[i], back->list[end - 1], 0 };

		choice.taken_ns = choice.there.taken_ns + choice.back.taken_ns;
		if (is_better(&choice, &best))
			best = choice;
	}
	return best;
}

struct choice crossing_choose(const struct connection *connection, const struct range *range)
{
	struct bases *there = memory_new(2, sizeof(*there)), *back = there + 1;

	bases_find(there, &connection->streams[0]);
	bases_find(back, &connection->streams[1]);
	struct choice choice = choose(there, back, range);

	free(there);
	return choice;
}

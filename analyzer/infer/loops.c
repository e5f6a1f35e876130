/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds event loops, and cuts what they do into visits; loops.h has the contract.
 *
 * Method. A loop is a thread that polls several descriptors at once, and reads from some of them. A
 * poll found the flows whose data were there as it returned, as many as it says. A flow that some
 * poll found is a source, if no thread without polls reads it. A visit begins at each read from a
 * source, or at the poll before it.
 *
 * A write belongs to the visit before it. Some loops put writes off until all sources have been
 * read, or until there is room: these are visits of their own. Such a write belongs to the source
 * that was read in every turn in which it was written; else to that of its socket. A bell
 * asks for nothing: a write behind it is an answer to the question of its own socket.
 *
 * A loop may answer when a timer of its own has run: that visit comes so long after it has left the
 * connection. Or it opens a connection then, in place of one that it has closed: that is a visit of
 * the old one.
 *
 * Threads that read from the same source are one loop.
 *
 * One thread.
 */
#include "loops_parts.h"

#include "base/memory.h"
#include "base/percentile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- the ends of loops --- */

/* Which event of its thread it begins with, or comes before it: a poll has it behind. */
static size_t event_of(const struct finding *finding, const struct visit *visit)
{
	size_t low = finding->first[visit->thread], high = finding->first[visit->thread + 1];
	const struct rec_op *op = &finding->rec->ops[visit->op];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct loop_event *event = &finding->events[middle];

		if (event->op == visit->op && event->sort != EVENT_SHARED)
			return middle;
		if (event->at_ns < op->start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bytes moved in the visit at this event, up to `end`. */
static size_t transfers_count(const struct finding *finding, size_t event, size_t end)
{
	size_t count = 0;

	for (size_t i = event; i < end; i++)
		count += finding->events[i].sort == EVENT_TRANSFER;
	return count;
}

/*
 * The rest of the thread stands behind the loop's last visit. It is to come after all visits,
 * whichever is last then. The last visit moves bytes as often as the one before it of its source.
 */
static void end_find(struct finding *finding, uint32_t thread, size_t first_visit)
{
	struct loops *loops = finding->loops;
	size_t last = loops->visit_count, before, end = finding->first[thread + 1];

	while (last > first_visit && loops->visits[last - 1].flow == NO_INDEX)
		last--;
	for (before = last; before > first_visit + 1; before--)
		if (loops->visits[before - 2].flow == loops->visits[last - 1].flow &&
		    (loops->visits[before - 2].transfer == NO_INDEX) ==
			    (loops->visits[last - 1].transfer == NO_INDEX))
			break;
	if (last < first_visit + 2)
		return;
	before = before > first_visit + 1 ? before : last;
	while (loops->visits[before - 2].op == NO_INDEX)
		if (--before < first_visit + 2)
			return;
	size_t from = event_of(finding, &loops->visits[last - 1]);
	size_t next = before - 1;

	while (loops->visits[next].op == NO_INDEX)
		next++;
	size_t usual = transfers_count(finding, event_of(finding, &loops->visits[before - 2]),
				       event_of(finding, &loops->visits[next]));

	for (size_t i = from; i < end && usual; i++) {
		if (i > from && finding->events[i].sort == EVENT_POLL)
			break;
		if (finding->events[i].sort != EVENT_TRANSFER)
			continue;
		loops->end_op[thread] = finding->events[i].op;
		usual--;
	}
}

/* For waits that the recording does not have. */
static void latency_find(struct finding *finding)
{
	struct loops *loops = finding->loops;
	const struct flows *flows = finding->flows;
	uint64_t *latencies_ns =
		memory_new(loops->visit_count + flows->transfer_count, sizeof(*latencies_ns));
	size_t count = 0;

	for (size_t i = 0; i < loops->visit_count; i++)
		if (loops->visits[i].latency_ns != VISIT_HAS_NOT_WAITED &&
		    loops->visits[i].sort == VISIT_EVENT)
			latencies_ns[count++] = loops->visits[i].latency_ns;
	for (size_t i = 0; i < flows->transfer_count; i++)
		if (flows->transfers[i].has_waited && !flows->transfers[i].is_write)
			latencies_ns[count++] = flows->transfers[i].latency_ns;
	if (count)
		loops->latency_ns = percentile_select(latencies_ns, count, count / 2);
	free(latencies_ns);
}

/* The loop went on until then, whatever came: it may have been told to by the tick. */
static void last_ticks_bar(struct loops *loops, size_t first_visit)
{
	bool is_last = true;

	for (size_t i = loops->visit_count; i-- > first_visit;) {
		struct visit *visit = &loops->visits[i];

		is_last = visit->sort == VISIT_BARRIER || (is_last && visit->sort == VISIT_TICK);
		if (!is_last || visit->sort != VISIT_TICK)
			continue;
		visit->sort = VISIT_BARRIER;
		visit->latency_ns = VISIT_HAS_NOT_WAITED;
	}
}

static void visits_find(struct finding *finding)
{
	for (size_t i = 0; i < finding->flows->flow_count; i++)
		finding->of_flow[i].turn = NO_INDEX;
	for (uint32_t t = 0; t < finding->rec->thread_count; t++) {
		size_t end = finding->first[t + 1], first_visit = finding->loops->visit_count;

		for (size_t i = finding->first[t]; i < end; i = turn_end(finding, i, end))
			if (finding->events[i].sort == EVENT_POLL)
				loops_turn_visit(finding, i, turn_end(finding, i, end));
		if (finding->loops->loop_of_thread[t] == NO_INDEX)
			continue;
		end_find(finding, t, first_visit);
		last_ticks_bar(finding->loops, first_visit);
		finding->loops->end_visit[t] = loops_visit_add(
			finding, &(const struct visit){ .op = NO_INDEX,
							.thread = t,
							.flow = NO_INDEX,
							.transfer = NO_INDEX,
							.latency_ns = VISIT_HAS_NOT_WAITED,
							.sort = VISIT_BARRIER });
	}
}

void loops_build(struct loops *loops, const struct recording *rec, const struct timeline *timeline,
		 const struct flows *flows, const bool *puts)
{
	struct finding finding = { .loops = loops, .rec = rec, .flows = flows, .puts = puts };

	*loops = (struct loops){ 0 };
	loops->visit_of = memory_new(rec->op_count, sizeof(*loops->visit_of));
	memset(loops->visit_of, 0xff, rec->op_count * sizeof(*loops->visit_of));
	loops->end_visit = memory_new(rec->thread_count, sizeof(*loops->end_visit));
	loops->end_op = memory_new(rec->thread_count, sizeof(*loops->end_op));
	loops->loop_of_thread = memory_new(rec->thread_count, sizeof(*loops->loop_of_thread));
	loops->is_bell = memory_new(flows->flow_count, sizeof(*loops->is_bell));
	loops->flow_count = flows->flow_count;
	finding.parent = memory_new(rec->thread_count, sizeof(*finding.parent));
	finding.opener = memory_new(rec->string_count, sizeof(*finding.opener));
	memset(finding.opener, 0xff, rec->string_count * sizeof(*finding.opener));
	finding.source_of = memory_new(rec->string_count, sizeof(*finding.source_of));
	memset(finding.source_of, 0xff, rec->string_count * sizeof(*finding.source_of));
	finding.habits = memory_new(rec->thread_count, sizeof(*finding.habits));
	for (uint32_t t = 0; t < rec->thread_count; t++) {
		loops->end_visit[t] = loops->end_op[t] = NO_INDEX;
		finding.parent[t] = t;
		finding.habits[t].visited = finding.habits[t].first_ended = NO_INDEX;
	}
	finding.of_flow = memory_new(flows->flow_count, sizeof(*finding.of_flow));
	for (size_t i = 0; i < flows->flow_count; i++)
		finding.of_flow[i].reader = finding.of_flow[i].own = finding.of_flow[i].owner =
			NO_INDEX;
	loops_events_find(&finding, timeline);
	loops_sources_find(&finding);
	loops_timers_find(&finding);
	loops_habits_find(&finding);
	visits_find(&finding);
	latency_find(&finding);
	free(finding.events);
	free(finding.first);
	free(finding.of_flow);
	free(finding.parent);
	free(finding.habits);
	free(finding.opener);
	free(finding.source_of);
	free(finding.is_of_event);
	addresses_free(&finding.sites);
	free(finding.pair_writes);
	addresses_free(&finding.pairs);
}

void loops_free(struct loops *loops)
{
	free(loops->visits);
	free(loops->visit_of);
	free(loops->is_bell);
	free(loops->end_visit);
	free(loops->end_op);
	free(loops->loop_of_thread);
	*loops = (struct loops){ 0 };
}

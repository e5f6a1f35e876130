/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job each answer needs that an event loop gives for others, and more work that it puts.
 *
 * Method. A loop reads a question, and hands a job over in that visit (script_queued.h). Behind the
 * bell it goes on with each job that is done, in their order. It answers, or puts the next job of
 * the same connection. Or nobody sees what it does. Then the connection still waits for that job
 * when the loop goes on with it next.
 *
 * The recording must agree: an answer comes behind a job of its own connection. One that does not
 * shows that two connections were taken for each other, which is set right. Where answers mostly do
 * not agree, all stays what the loop does after the bell, in the recorded order. So it does for
 * jobs that go through a queue in another order.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_handovers.h"
#include "script_parts.h"
#include "script_queued.h"

#include <stdlib.h>

/* Jobs of a connection. */
struct asked {
	uint32_t first; /* that it still waits for, by `next`; NO_INDEX = none */
	uint32_t last;
	uint32_t silent;  /* that nothing came of, by `also_of_job` */
	bool is_answered; /* since it asked last */
};

/* A job that the loop put. */
struct finished {
	uint64_t at_ns;
	uint32_t job;
};

struct search {
	struct script *script;
	struct queued queued;
	uint32_t *owner;        /* by job: the flow of its connection, NO_INDEX = none */
	uint32_t *next;         /* by job: of the same connection */
	uint32_t *rank;         /* by job: in the order in which the loop finds them done */
	bool *is_over;          /* by job: the loop has gone on with it */
	struct asked *asked;    /* by flow */
	uint32_t *job_of_visit; /* by visit */
	size_t next_origin;     /* loops are looked at in order of steps */
};

/* --- one loop --- */

/* A loop on its way through its visits. */
struct way {
	struct finished *finished; /* in order of time */
	size_t count;
	size_t found;              /* number that it has found done; */
	size_t first;              /* and has gone on with so many, at least; */
	size_t due;                /* and these were done when it read from a bell last */
	const struct visit *visit; /* NULL = it has come to none */
	uint32_t piece; /* visit that goes on with a job which is not known yet; NO_INDEX = none */
	uint32_t owner; /* flow of the connection that it works for, NO_INDEX = none */
	uint32_t lock;  /* that it locks behind a bell, NO_INDEX = none */
	bool is_called; /* it has read from a bell, and from no connection since */
	uint64_t now_ns;
	size_t known;
	size_t unknown;
};

static void job_is_asked(struct search *search, uint32_t flow, uint32_t job)
{
	search->owner[job] = flow;
	if (flow == NO_INDEX)
		return;
	struct asked *asked = &search->asked[flow];

	search->next[job] = NO_INDEX;
	if (asked->first == NO_INDEX)
		asked->first = job;
	else
		search->next[asked->last] = job;
	asked->last = job;
}

/* The first job that a connection still waits for. */
static uint32_t job_awaited(const struct search *search, struct asked *asked)
{
	while (asked->first != NO_INDEX && search->is_over[asked->first])
		asked->first = search->next[asked->first];
	return asked->first;
}

static void way_finds(struct way *way)
{
	while (way->found < way->count && way->finished[way->found].at_ns <= way->now_ns)
		way->found++;
}

/* The first job that the loop found done, and has not gone on with. */
static uint32_t job_next(const struct search *search, struct way *way)
{
	if (way->lock == NO_INDEX)
		way_finds(way);
	while (way->first < way->found && search->is_over[way->finished[way->first].job])
		way->first++;
	return way->first < way->found ? way->finished[way->first].job : NO_INDEX;
}

/* The same, of those of a connection. */
static uint32_t job_next_of(const struct search *search, struct way *way, uint32_t flow)
{
	uint32_t best = NO_INDEX;

	if (job_next(search, way) == NO_INDEX)
		return NO_INDEX;
	for (uint32_t job = job_awaited(search, &search->asked[flow]); job != NO_INDEX;
	     job = search->next[job])
		if (!search->is_over[job] && search->rank[job] < way->found &&
		    (best == NO_INDEX || search->rank[job] < search->rank[best]))
			best = job;
	return best;
}

/* A visit is what came of the job, for its connection. */
static void goes_on(struct search *search, struct way *way, uint32_t job)
{
	uint32_t owner = search->owner[job];

	search->is_over[job] = true;
	search->job_of_visit[way->piece] = job;
	way->owner = owner;
	if (owner == NO_INDEX)
		return;
	search->script->loops.visits[way->piece].flow = owner;
	search->script->also_of_job[job] = search->asked[owner].silent;
	search->asked[owner].silent = NO_INDEX;
}

/* The job is that connection's, whose own first one is then the other connection's. */
static void owners_change(struct search *search, uint32_t job, uint32_t flow)
{
	uint32_t own = job_awaited(search, &search->asked[flow]);

	if (own != NO_INDEX) {
		search->asked[flow].first = search->next[own];
		job_is_asked(search, search->owner[job], own);
	}
	search->owner[job] = flow;
}

/* A write that comes after an answer, and no question, goes on with that, and needs nothing. */
static void answer_is_given(struct search *search, struct way *way)
{
	struct visit *visit = &search->script->loops.visits[way->piece];
	uint32_t flow = visit->flow, job = job_next_of(search, way, flow);
	struct asked *asked = &search->asked[flow];

	if (job == NO_INDEX && asked->is_answered && job_awaited(search, asked) == NO_INDEX) {
		visit->sort = VISIT_EVENT;
		return;
	}
	asked->is_answered = true;
	if (job != NO_INDEX) {
		way->known++;
		goes_on(search, way, job);
		return;
	}
	job = job_next(search, way);
	way->known += job != NO_INDEX && search->owner[job] == NO_INDEX;
	way->unknown += job == NO_INDEX || search->owner[job] != NO_INDEX;
	if (job == NO_INDEX)
		return;
	owners_change(search, job, flow);
	goes_on(search, way, job);
}

/* More work that nothing new led to goes on with what the loop did before. */
static void job_is_put(struct search *search, struct way *way, uint32_t job)
{
	const struct loops *loops = &search->script->loops;
	bool is_more = way->piece != NO_INDEX && loops->visits[way->piece].sort == VISIT_MORE;
	bool is_hidden = way->is_called && way->piece == NO_INDEX && way->owner == NO_INDEX;
	uint32_t done = is_more || is_hidden ? job_next(search, way) : NO_INDEX;

	if (done != NO_INDEX && is_more) {
		goes_on(search, way, done);
	} else if (done != NO_INDEX) {
		search->is_over[done] = true;
		way->owner = search->owner[done];
	}
	if (is_more)
		way->piece = NO_INDEX;
	job_is_asked(search, way->owner, job);
}

/* Nothing that others see came of what was done when the loop was called before. */
static void bell_is_read(struct search *search, struct way *way)
{
	for (; way->first < way->due; way->first++) {
		uint32_t job = way->finished[way->first].job, owner = search->owner[job];

		if (search->is_over[job])
			continue;
		search->is_over[job] = true;
		if (owner == NO_INDEX)
			continue;
		search->script->also_of_job[job] = search->asked[owner].silent;
		search->asked[owner].silent = job;
	}
	way->is_called = true;
	way->owner = NO_INDEX;
	if (way->lock == NO_INDEX)
		way_finds(way);
	way->due = way->found;
}

static void visit_begins(struct search *search, struct way *way, uint32_t index)
{
	const struct loops *loops = &search->script->loops;
	const struct visit *visit = way->visit = &loops->visits[index];
	bool is_piece = visit->sort == VISIT_ANSWER || visit->sort == VISIT_MORE;

	way->piece = is_piece ? index : NO_INDEX;
	if (is_piece)
		return;
	bool is_bell = visit->flow != NO_INDEX && loops_is_bell(loops, visit->flow);

	way->is_called = way->is_called && is_bell;
	way->owner = is_bell ? NO_INDEX : visit->flow;
	if (visit->transfer != NO_INDEX && !is_bell)
		search->asked[visit->flow].is_answered = false;
}

static void way_goes_on(struct search *search, struct way *way, const struct step *step)
{
	const struct script *script = search->script;
	uint32_t job = search->queued.put_job[step - script->steps];

	if (step->type == STEP_VISIT)
		visit_begins(search, way, step->arg);
	if (!way->visit)
		return;
	if (step->type == STEP_ACQUIRE && step->arg == way->lock && way->is_called) {
		way_finds(way);
		way->due = way->found;
	}
	if (step->type == STEP_SEND && way->piece != NO_INDEX && way->visit->sort == VISIT_ANSWER) {
		answer_is_given(search, way);
		way->piece = NO_INDEX;
	} else if (step->type == STEP_SEND && way->visit->flow != NO_INDEX) {
		search->asked[way->visit->flow].is_answered = true;
	}
	if (job != NO_INDEX && search->queued.calls[search->queued.source_of[job]])
		job_is_put(search, way, job);
	if (step->type == STEP_RECEIVE &&
	    loops_is_bell(&script->loops, script->flows.transfers[step->arg].flow))
		bell_is_read(search, way);
}

/* Answers of the loop in these steps, and more work, need their jobs; or they are no visits. */
static void answers_decide(struct search *search, uint32_t from, uint32_t to, bool are_known)
{
	struct script *script = search->script;
	const struct loops *loops = &script->loops;

	for (uint32_t i = from; i < to; i++) {
		struct step *step = &script->steps[i];

		if (step->type != STEP_VISIT || (loops->visits[step->arg].sort != VISIT_ANSWER &&
						 loops->visits[step->arg].sort != VISIT_MORE))
			continue;
		const struct visit *visit = &loops->visits[step->arg];
		uint32_t job = search->job_of_visit[step->arg];
		bool polls = script->recording->ops[visit->op].kind == KIND_POLL;
		bool goes_on = !are_known || (visit->sort == VISIT_MORE && job == NO_INDEX);

		if (are_known && job != NO_INDEX) {
			script->job_of_visit[step->arg] = job;
			script_queue_hands_over(script, search->queued.source_of[job]);
		} else if (goes_on && !polls) {
			*step = (struct step){ .type = STEP_FIXED, .arg = NO_INDEX };
		}
	}
}

static int compare_finished(const void *left, const void *right)
{
	const struct finished *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->job > b->job) - (a->job < b->job);
}

/* The jobs that the loop in these steps puts, by when they are done. */
static void finished_find(struct search *search, struct way *way, uint32_t from, uint32_t to)
{
	const struct script *script = search->script;

	for (uint32_t i = from; i < to; i++) {
		uint32_t job = search->queued.put_job[i];

		if (job == NO_INDEX || !search->queued.calls[search->queued.source_of[job]])
			continue;
		uint64_t at_ns = script_done_ns(&search->queued, script, job, way->lock);
		if (at_ns == NEVER_SEEN)
			continue;
		way->finished[way->count++] = (struct finished){ at_ns, job };
	}
	if (way->count)
		qsort(way->finished, way->count, sizeof(*way->finished), compare_finished);
	for (uint32_t i = 0; i < way->count; i++)
		search->rank[way->finished[i].job] = i;
}

/* The lock that the loop has first behind a bell, as a rule. */
static uint32_t lock_find(const struct script *script, uint32_t from, uint32_t to)
{
	uint32_t *times = memory_new(script->lock_count, sizeof(*times));
	uint32_t best = NO_INDEX, rings = 0;
	bool is_called = false;

	for (uint32_t i = from; i < to; i++) {
		const struct step *step = &script->steps[i];
		bool reads_bell =
			step->type == STEP_RECEIVE &&
			loops_is_bell(&script->loops, script->flows.transfers[step->arg].flow);

		rings += reads_bell;
		if (is_called && step->type == STEP_ACQUIRE &&
		    (++times[step->arg], best == NO_INDEX || times[step->arg] > times[best]))
			best = step->arg;
		is_called = reads_bell ||
			    (is_called && step->type != STEP_ACQUIRE && step->type != STEP_SEND);
	}
	bool is_rule = best != NO_INDEX && 2 * times[best] > rings;

	free(times);
	return is_rule ? best : NO_INDEX;
}

static void loop_look(struct search *search, uint32_t actor)
{
	struct script *script = search->script;
	uint32_t from = script->actors[actor].first_step, to = from;

	while (script->steps[to].type != STEP_END)
		to++;
	struct way way = { .piece = NO_INDEX,
			   .owner = NO_INDEX,
			   .lock = lock_find(script, from, to),
			   .finished = memory_new(to - from, sizeof(*way.finished)) };

	finished_find(search, &way, from, to);
	for (uint32_t i = from; i < to; i++) {
		size_t *origin = &search->next_origin;

		while (*origin < script->origin_count && script->origins[*origin].step <= i)
			way.now_ns = script_time_of(script, &script->origins[(*origin)++]);
		way_goes_on(search, &way, &script->steps[i]);
	}
	free(way.finished);
	answers_decide(search, from, to,
		       (double)way.unknown <=
			       assume.token_misfits * (double)(way.known + way.unknown));
}

void script_answers_find(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++) {
		script->jobs[i].first = script->job_count;
		script->job_count += (uint32_t)script->jobs[i].count;
	}
	script->job_of_visit = memory_new_indexes(script->loops.visit_count);
	script->also_of_job = memory_new_indexes(script->job_count);
	script->job_of_link = memory_new_indexes(script->recording->link_count);
	struct search search = {
		.script = script,
		.owner = memory_new_indexes(script->job_count),
		.next = memory_new_indexes(script->job_count),
		.rank = memory_new_indexes(script->job_count),
		.is_over = memory_new(script->job_count, sizeof(*search.is_over)),
		.asked = memory_new(script->flows.flow_count, sizeof(*search.asked)),
		.job_of_visit = memory_new_indexes(script->loops.visit_count),
	};

	for (size_t i = 0; i < script->flows.flow_count; i++)
		search.asked[i].first = search.asked[i].silent = NO_INDEX;
	script_queued_find(&search.queued, script);
	script_handovers_find(script, &search.queued);
	for (uint32_t actor = 0; actor < script->recording->thread_count; actor++)
		if (script->loops.loop_of_thread[actor] != NO_INDEX)
			loop_look(&search, actor);
	script_handovers_end(script, &search.queued);
	script_queued_free(&search.queued);
	free(search.owner);
	free(search.next);
	free(search.rank);
	free(search.is_over);
	free(search.asked);
	free(search.job_of_visit);
}

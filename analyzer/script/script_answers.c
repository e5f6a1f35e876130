/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job each answer needs that an event loop gives for others.
 *
 * Method. A loop reads a question, and hands a job over in that visit. Jobs leave a queue in the
 * order in which they came there. So the n-th of those that are put is the n-th that is taken. A
 * job is done when its thread calls the loop by a bell, or comes for its next job. A connection's
 * answers need its jobs in the order of its questions.
 *
 * The recording must agree: such an answer comes when its job is done, and not later than the first
 * visit of the bell since then. Where it mostly does not, answers stay what the loop does after the
 * bell, in the recorded order. So they do for jobs that go through a queue in another order, or
 * questions that take several jobs.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <stdlib.h>
#include <string.h>

/* A job is its thread's last one, and rings no bell: when it was done is not recorded. */
#define NEVER_SEEN UINT64_MAX

struct put {
	uint64_t at_ns;
	uint32_t source;
	uint32_t step;
};

/* Jobs of a connection that it has no answer to. */
struct asked {
	uint32_t first; /* job, NO_INDEX = none */
	uint32_t last;
	bool is_answered; /* since it asked last */
};

struct search {
	struct script *script;
	uint32_t *put_job;      /* by step: the job that it hands over, NO_INDEX = none */
	uint32_t *body_job;     /* by step: the job that begins there */
	uint32_t *source_of;    /* by job */
	uint64_t *done_ns;      /* by job */
	uint32_t *next;         /* by job: of the same connection */
	struct asked *asked;    /* by flow */
	uint32_t *job_of_visit; /* by visit */
	size_t next_origin;     /* loops are looked at in order of steps */
};

/* --- which job is whose --- */

static int compare_puts(const void *left, const void *right)
{
	const struct put *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->step > b->step) - (a->step < b->step);
}

static uint32_t *indexes_new(size_t count)
{
	uint32_t *indexes = memory_new(count, sizeof(*indexes));

	memset(indexes, 0xff, count * sizeof(*indexes));
	return indexes;
}

static bool has_jobs(const struct script *script, uint32_t source)
{
	return source != NO_INDEX && script->jobs[source].count && !script->jobs[source].items;
}

/* When the recording has what a step was made of; of a hold its end, at which it puts. */
static uint64_t time_of(const struct script *script, const struct step_origin *origin)
{
	const struct recording *rec = script->recording;

	switch ((enum origin_sort)origin->sort) {
	case ORIGIN_WAIT:
		return rec->waits[origin->index].start_ns;
	case ORIGIN_LINK:
		return rec->links[origin->index].at_ns;
	case ORIGIN_OP:
		break;
	}
	const struct rec_op *op = &rec->ops[origin->index];
	return op->kind == KIND_HOLD && script->steps[origin->step].type == STEP_PUT ? op->end_ns
										     : op->start_ns;
}

/* Its messages have their jobs with them. */
static bool is_flow(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count;

	return source >= conditions && source < conditions + script->flows.flow_count;
}

/* The jobs that are there at the start, or were put for takes from before it. */
static int64_t jobs_before(const struct script *script, uint32_t source)
{
	size_t others = script->monitors.condition_count + script->flows.flow_count;

	if (source < script->monitors.condition_count)
		return script->monitors.conditions[source].initial;
	return (int64_t)script->permits[source - others] -
	       (int64_t)script->owed_permits[source - others];
}

/* The n-th that is put is the n-th that is taken. */
static void puts_number(struct search *search, const struct put *puts, size_t count)
{
	const struct script *script = search->script;
	int64_t number = 0;

	for (size_t i = 0; i < count; i++, number++) {
		const struct job_list *jobs = &script->jobs[puts[i].source];

		if (!i || puts[i].source != puts[i - 1].source)
			number = jobs_before(script, puts[i].source);
		if (number >= 0 && number < (int64_t)jobs->count)
			search->put_job[puts[i].step] = jobs->first + (uint32_t)number;
	}
}

/* A message knows its job by itself. */
static uint32_t job_in_message(const struct script *script, const struct step *step)
{
	uint32_t flow = script->flows.transfers[step->arg].flow;
	uint32_t number = script->messages.job_of[step->arg];

	return number == NO_INDEX
		       ? NO_INDEX
		       : script->jobs[script->monitors.condition_count + flow].first + number;
}

static void puts_find(struct search *search)
{
	const struct script *script = search->script;
	struct put *puts = NULL;
	size_t count = 0, capacity = 0, origin = 0;

	for (uint32_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];
		uint32_t source = script_put_source(script, step);

		if (step->type == STEP_SEND)
			search->put_job[i] = job_in_message(script, step);
		if (!has_jobs(script, source))
			continue;
		while (origin < script->origin_count && script->origins[origin].step < i)
			origin++;
		if (origin == script->origin_count || script->origins[origin].step != i)
			continue;
		puts = memory_grow(puts, &capacity, count + 1, sizeof(*puts));
		puts[count++] =
			(struct put){ time_of(script, &script->origins[origin]), source, i };
	}
	if (count)
		qsort(puts, count, sizeof(*puts), compare_puts);
	puts_number(search, puts, count);
	free(puts);
}

static void bodies_find(struct search *search)
{
	const struct script *script = search->script;

	for (uint32_t source = 0; source < script->source_count; source++) {
		const struct job_list *jobs = &script->jobs[source];

		for (uint32_t i = 0; i < jobs->count; i++) {
			search->source_of[jobs->first + i] = source;
			if (has_jobs(script, source))
				search->body_job[jobs->steps[i]] = jobs->first + i;
		}
	}
}

/* A job is done when its thread rings a bell, or takes again, or ends. */
static void ends_find(struct search *search)
{
	const struct script *script = search->script;
	uint32_t job = NO_INDEX;
	uint64_t now_ns = 0;
	size_t origin = 0;

	for (uint32_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		while (origin < script->origin_count && script->origins[origin].step <= i)
			now_ns = time_of(script, &script->origins[origin++]);
		if (search->body_job[i] != NO_INDEX)
			job = search->body_job[i];
		if (job != NO_INDEX && (script_rings(script, step) || step->type == STEP_END ||
					has_jobs(script, script_source(script, step)))) {
			search->done_ns[job] = step->type == STEP_END ? NEVER_SEEN : now_ns;
			job = NO_INDEX;
		}
	}
}

/* --- one loop --- */

/* A loop on its way through its visits. */
struct way {
	const struct visit *visit; /* NULL = it has come to none */
	uint64_t rung_ns;          /* it read from a bell last */
	uint64_t before_ns;        /* and the time before */
	uint64_t now_ns;
	uint32_t answered; /* visit whose answer comes next, NO_INDEX = none */
	size_t known;
	size_t unknown;
};

static void job_is_asked(struct search *search, uint32_t flow, uint32_t job)
{
	struct asked *asked = &search->asked[flow];

	if (asked->first == NO_INDEX)
		asked->first = job;
	else
		search->next[asked->last] = job;
	asked->last = job;
}

/* A write that comes after an answer, and no question, goes on with that, and needs nothing. */
static void answer_is_given(struct search *search, struct way *way)
{
	struct visit *visit = &search->script->loops.visits[way->answered];
	struct asked *asked = &search->asked[visit->flow];
	uint32_t job = asked->first;

	if (job == NO_INDEX) {
		way->unknown += !asked->is_answered;
		visit->sort = asked->is_answered ? VISIT_EVENT : VISIT_ANSWER;
		return;
	}
	asked->first = search->next[job];
	asked->is_answered = true;
	search->job_of_visit[way->answered] = job;
	uint64_t done_ns = search->done_ns[job];
	bool agrees = done_ns > way->before_ns && done_ns <= way->now_ns;

	if (done_ns == NEVER_SEEN)
		return;
	way->known += agrees;
	way->unknown += !agrees;
}

static void visit_begins(struct search *search, struct way *way, uint32_t index)
{
	const struct loops *loops = &search->script->loops;
	const struct visit *visit = way->visit = &loops->visits[index];

	way->answered = visit->sort == VISIT_ANSWER ? index : NO_INDEX;
	if (visit->transfer != NO_INDEX && !loops_is_bell(loops, visit->flow))
		search->asked[visit->flow].is_answered = false;
}

static void way_goes_on(struct search *search, struct way *way, const struct step *step)
{
	const struct script *script = search->script;
	uint32_t job = search->put_job[step - script->steps];

	if (step->type == STEP_VISIT)
		visit_begins(search, way, step->arg);
	if (!way->visit)
		return;
	if (step->type == STEP_SEND && way->answered != NO_INDEX) {
		answer_is_given(search, way);
		way->answered = NO_INDEX;
	} else if (step->type == STEP_SEND && way->visit->flow != NO_INDEX) {
		search->asked[way->visit->flow].is_answered = true;
	}
	if (job != NO_INDEX && way->visit->flow != NO_INDEX)
		job_is_asked(search, way->visit->flow, job);
	if (step->type == STEP_RECEIVE &&
	    loops_is_bell(&script->loops, script->flows.transfers[step->arg].flow)) {
		way->before_ns = way->rung_ns;
		way->rung_ns = way->now_ns;
	}
}

/* The queue hands its jobs on, each to whoever takes it. */
static void handed_over_find(struct search *search)
{
	struct script *script = search->script;

	for (uint32_t i = 0; i < script->step_count; i++) {
		uint32_t source = script_put_source(script, &script->steps[i]);

		if (source != NO_INDEX && script->jobs[source].is_handed_over &&
		    search->put_job[i] != NO_INDEX)
			script->steps[i].job = search->put_job[i] - script->jobs[source].first + 1;
	}
}

static void becomes_handed_over(struct script *script, uint32_t source)
{
	struct job_list *jobs = &script->jobs[source];
	int64_t before = is_flow(script, source) ? 0 : jobs_before(script, source);

	jobs->is_handed_over = !is_flow(script, source);
	if (before > 0)
		jobs->there =
			before < (int64_t)jobs->count ? (uint32_t)before : (uint32_t)jobs->count;
}

/* The answers of the loop in these steps need their jobs, or are no visits of their own. */
static void answers_decide(struct search *search, uint32_t from, uint32_t to, bool are_known)
{
	struct script *script = search->script;
	const struct loops *loops = &script->loops;

	for (uint32_t i = from; i < to; i++) {
		struct step *step = &script->steps[i];

		if (step->type != STEP_VISIT || loops->visits[step->arg].sort != VISIT_ANSWER)
			continue;
		const struct visit *visit = &loops->visits[step->arg];
		uint32_t job = search->job_of_visit[step->arg];
		bool polls = script->recording->ops[visit->op].kind == KIND_POLL;

		if (are_known && job != NO_INDEX) {
			script->job_of_visit[step->arg] = job;
			becomes_handed_over(script, search->source_of[job]);
		} else if (!are_known && !polls) {
			*step = (struct step){ .type = STEP_FIXED, .arg = NO_INDEX };
		}
	}
}

static void loop_look(struct search *search, uint32_t actor)
{
	struct script *script = search->script;
	struct way way = { .answered = NO_INDEX };
	uint32_t from = script->actors[actor].first_step, i = from;

	for (; script->steps[i].type != STEP_END; i++) {
		size_t *origin = &search->next_origin;

		while (*origin < script->origin_count && script->origins[*origin].step <= i)
			way.now_ns = time_of(script, &script->origins[(*origin)++]);
		way_goes_on(search, &way, &script->steps[i]);
	}
	answers_decide(search, from, i,
		       (double)way.unknown <=
			       assume.token_misfits * (double)(way.known + way.unknown));
}

/* Threads of a pool that put a job go on before anybody has taken it. In the recorded order jobs
 * could come before what put them. */
static bool fed_back_find(struct script *script)
{
	bool found = false;

	for (uint32_t i = 0; i < script->monitors.condition_count; i++)
		if (script->monitors.conditions[i].is_pool &&
		    script->monitors.conditions[i].is_fed_back && has_jobs(script, i)) {
			becomes_handed_over(script, i);
			found = true;
		}
	return found;
}

static bool has_answers(const struct script *script)
{
	for (size_t i = 0; i < script->loops.visit_count; i++)
		if (script->loops.visits[i].sort == VISIT_ANSWER)
			return true;
	return false;
}

void script_answers_find(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++) {
		script->jobs[i].first = script->job_count;
		script->job_count += (uint32_t)script->jobs[i].count;
	}
	script->job_of_visit = indexes_new(script->loops.visit_count);
	bool are_fed_back = fed_back_find(script);

	if (!are_fed_back && !has_answers(script))
		return;
	struct search search = {
		.script = script,
		.put_job = indexes_new(script->step_count),
		.body_job = indexes_new(script->step_count),
		.source_of = memory_new(script->job_count, sizeof(*search.source_of)),
		.done_ns = memory_new(script->job_count, sizeof(*search.done_ns)),
		.next = indexes_new(script->job_count),
		.asked = memory_new(script->flows.flow_count, sizeof(*search.asked)),
		.job_of_visit = indexes_new(script->loops.visit_count),
	};

	for (size_t i = 0; i < script->flows.flow_count; i++)
		search.asked[i].first = NO_INDEX;
	puts_find(&search);
	bodies_find(&search);
	ends_find(&search);
	for (uint32_t actor = 0; actor < script->recording->thread_count; actor++)
		if (script->loops.loop_of_thread[actor] != NO_INDEX)
			loop_look(&search, actor);
	handed_over_find(&search);
	free(search.put_job);
	free(search.body_job);
	free(search.source_of);
	free(search.done_ns);
	free(search.next);
	free(search.asked);
	free(search.job_of_visit);
}

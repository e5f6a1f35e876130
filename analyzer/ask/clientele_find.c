/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is done for which question of a client; clientele.h has the contract.
 *
 * Method. A client's next question begins behind its answer. Its steps give the number of the
 * question that each send and receive is of. Bytes carry the number to the other end. A thread that
 * does something for one client alone, and takes no jobs, is dealt out, too. Its next question
 * begins where it comes to wait for the bytes of that. Flows that such a thread writes alone, or
 * reads alone, carry its numbers on.
 *
 * Linear in steps and transfers. One thread.
 */
#include "clientele_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const uint32_t SEVERAL = NO_INDEX - 1;

static const char shared_behind[] = "connections behind the server are shared";

/* While it is being found. */
struct search {
	struct dealing *dealing;
	uint32_t *actor_of; /* by transfer, NO_INDEX = in no step */
	uint32_t *alone[2]; /* by flow: the only actor that reads (0) or writes (1), or SEVERAL */
	uint32_t *first;    /* by flow, and one more: transfer */
	uint32_t *flows;    /* that got their owner, and whose other ends are not known */
	size_t flow_count;
	uint32_t *met;     /* by actor: the client that it does something for, or SEVERAL */
	uint32_t *threads; /* by loop */
};

static uint32_t *unset(size_t count)
{
	uint32_t *array = memory_new(count, sizeof(*array));

	memset(array, 0xff, count * sizeof(*array));
	return array;
}

static bool moves(const struct step *step)
{
	return step->type == STEP_SEND || step->type == STEP_RECEIVE;
}

static void join(uint32_t *known, uint32_t one)
{
	*known = *known == NO_INDEX || *known == one ? one : SEVERAL;
}

static void search_begin(struct search *search, struct dealing *dealing)
{
	const struct script *script = dealing->script;
	const struct flows *flows = &script->flows;
	uint32_t actor = 0;

	*search =
		(struct search){ .dealing = dealing,
				 .actor_of = unset(flows->transfer_count),
				 .alone = { unset(flows->flow_count), unset(flows->flow_count) },
				 .first = memory_new(flows->flow_count + 1, sizeof(*search->first)),
				 .flows = memory_new(flows->flow_count, sizeof(*search->flows)),
				 .met = unset(script->actor_count),
				 .threads = memory_new(script->loops.loop_count,
						       sizeof(*search->threads)) };
	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (moves(step)) {
			const struct transfer *transfer = &flows->transfers[step->arg];

			search->actor_of[step->arg] = actor;
			join(&search->alone[transfer->is_write][transfer->flow], actor);
		}
		actor += step->type == STEP_END;
	}
	for (size_t i = 0; i < flows->transfer_count; i++)
		search->first[flows->transfers[i].flow + 1]++;
	for (size_t i = 0; i < flows->flow_count; i++)
		search->first[i + 1] += search->first[i];
	for (size_t i = 0; script->loops.loop_count && i < script->recording->thread_count; i++)
		if (script->loops.loop_of_thread[i] != NO_INDEX)
			search->threads[script->loops.loop_of_thread[i]]++;
}

static void search_end(struct search *search)
{
	free(search->actor_of);
	free(search->alone[0]);
	free(search->alone[1]);
	free(search->first);
	free(search->flows);
	free(search->met);
	free(search->threads);
}

/* --- who is dealt out --- */

static void number_client(struct dealing *dealing, uint32_t actor)
{
	const struct script *script = dealing->script;
	uint32_t number = 0;
	bool has_got = false;

	dealing->client[actor] = actor;
	for (size_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END; i++) {
		uint32_t type = script->steps[i].type;

		if (has_got && type != STEP_RECEIVE) {
			number++;
			has_got = false;
		}
		has_got = has_got || type == STEP_RECEIVE;
		dealing->question[i] = number;
		if (moves(&script->steps[i]))
			dealing->count[actor] = number + 1;
	}
}

uint32_t dealing_part(const struct dealing *dealing, uint32_t client, uint32_t question)
{
	uint32_t count = dealing->count[client];

	/* behind the last question its client is done */
	question = question < count ? question : count - 1;
	return count ? (uint32_t)((uint64_t)question * dealing->times / count) : 0;
}

/* It comes to wait for the bytes of a question. */
static bool awaits(const struct dealing *dealing, size_t at, uint32_t number)
{
	const struct script *script = dealing->script;
	const struct step *step = &script->steps[at];

	if (script_is_race((enum step_type)step->type))
		step += step->jump;
	if (step->type == STEP_RECEIVE || step->type == STEP_AWAIT)
		return dealing->carried[step->arg] == number;
	if (step->type != STEP_VISIT)
		return false;
	uint32_t transfer = script->loops.visits[step->arg].transfer;

	return transfer != NO_INDEX && dealing->carried[transfer] == number;
}

/* Steps of a thread that serves one client: each question's begin where it waits for its bytes. */
static void number_server(struct dealing *dealing, uint32_t actor)
{
	const struct script *script = dealing->script;
	size_t first = script->actors[actor].first_step, behind = first;
	uint32_t number = 0;

	for (size_t i = first; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];

		dealing->question[i] = number;
		if (!moves(step) || dealing->carried[step->arg] == NO_INDEX)
			continue;
		uint32_t carried = dealing->carried[step->arg];

		for (; step->type == STEP_RECEIVE && carried != number && behind < i; behind++)
			if (awaits(dealing, behind, carried))
				break;
		if (step->type == STEP_RECEIVE && carried != number)
			for (number = carried; behind <= i; behind++)
				dealing->question[behind] = number;
		behind = i + 1;
	}
}

/* A copy of the thread can do some of the questions alone; NULL, or why not. */
static const char *check_parts(const struct dealing *dealing, uint32_t actor)
{
	const struct script *script = dealing->script;
	size_t first = script->actors[actor].first_step;
	int held = 0;

	for (size_t i = first; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];
		const struct step_contract *contract = script_contract((enum step_type)step->type);
		bool is_back = step->type == STEP_AGAIN;
		size_t to = i;

		if (contract->number == NUMBER_JUMP)
			to = is_back ? i - step->jump : i + step->jump;
		if (step->type == STEP_SCHEDULE || step->type == STEP_UNTIL)
			return "a thread that serves one client keeps a timetable";
		if (to != i && dealing->question[to] != dealing->question[i])
			return "a thread that serves one client looks for something meanwhile";
		if (i > first && held > 0 && dealing->question[i] != dealing->question[i - 1])
			return "a thread that serves one client holds a lock from one question to "
			       "the next";
		held += step->type == STEP_ACQUIRE || step->type == STEP_SHARE ||
			step->type == STEP_GRAB || step->type == STEP_TRY;
		held -= step->type == STEP_RELEASE || step->type == STEP_UNSHARE;
	}
	return NULL;
}

/* --- flows --- */

/* Those that it writes, or reads, alone carry its questions on. */
static void numbers_carry(struct search *search, uint32_t actor)
{
	struct dealing *dealing = search->dealing;
	const struct script *script = dealing->script;

	for (size_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];

		if (!moves(step))
			continue;
		const struct transfer *transfer = &script->flows.transfers[step->arg];
		uint32_t flow = transfer->flow;

		if (script->flows.flows[flow].unit != FLOW_BYTES ||
		    search->alone[transfer->is_write][flow] != actor ||
		    dealing->carried[step->arg] != NO_INDEX)
			continue;
		dealing->carried[step->arg] = dealing->question[i];
		if (dealing->owner[flow] != NO_INDEX)
			continue;
		dealing->owner[flow] = dealing->client[actor];
		search->flows[search->flow_count++] = flow;
	}
}

/* Bytes of one end of a flow, in order. */
struct end {
	size_t at;
	uint64_t until; /* of transfer `at`: bytes up to its end */
	bool is_write;
};

/* To the transfer that has the byte with this number, from 0; false = none has. */
static bool end_goes_to(struct end *end, const struct transfer *transfers, size_t last,
			uint64_t byte)
{
	while (end->at < last && (transfers[end->at].is_write != end->is_write ||
				  end->until + transfers[end->at].bytes <= byte)) {
		if (transfers[end->at].is_write == end->is_write)
			end->until += transfers[end->at].bytes;
		end->at++;
	}
	return end->at < last;
}

static const char *other_end_find(struct search *search, uint32_t flow, bool is_write)
{
	struct dealing *dealing = search->dealing;
	const struct transfer *transfers = dealing->script->flows.transfers;
	size_t last = search->first[flow + 1];
	struct end known = { search->first[flow], 0, !is_write };
	uint32_t client = dealing->owner[flow];
	uint64_t done = 0;

	for (size_t i = search->first[flow]; i < last; i++) {
		if (transfers[i].is_write != is_write || !transfers[i].bytes)
			continue;
		if (!end_goes_to(&known, transfers, last, done))
			break;
		uint32_t number = dealing->carried[known.at];

		done += transfers[i].bytes;
		bool is_there = end_goes_to(&known, transfers, last, done - 1);
		uint32_t until = is_there ? dealing->carried[known.at] : number;

		if (number == NO_INDEX ||
		    dealing_part(dealing, client, number) != dealing_part(dealing, client, until))
			return "questions that follow each other are read together";
		dealing->carried[i] = number;
		if (search->actor_of[i] == NO_INDEX)
			continue;
		uint32_t actor = search->actor_of[i];

		if (dealing->client[actor] != NO_INDEX && dealing->client[actor] != client)
			return shared_behind;
		join(&search->met[actor], client);
	}
	return NULL;
}

/* One end of a flow that has an owner, if it is not the owner's. */
static const char *end_look(struct search *search, uint32_t flow, bool is_write)
{
	const struct dealing *dealing = search->dealing;
	uint32_t actor = search->alone[is_write][flow];
	uint32_t client = actor < SEVERAL ? dealing->client[actor] : NO_INDEX;

	if (client == NO_INDEX)
		return other_end_find(search, flow, is_write);
	return client == dealing->owner[flow] ? NULL : shared_behind;
}

static const char *flow_check(const struct dealing *dealing, uint32_t flow)
{
	const struct script *script = dealing->script;

	return script->jobs[script->monitors.condition_count + flow].count ||
			       script->messages.rooms[flow].count
		       ? "several threads read from one connection"
		       : NULL;
}

/* --- who is not, but does something for several --- */

static bool takes_job(const struct script *script, const struct step *step)
{
	uint32_t source = script_source(script, step);

	return source != NO_INDEX && script->jobs[source].count > 0;
}

static bool takes_jobs(const struct script *script, uint32_t actor)
{
	size_t i = script->actors[actor].first_step;

	while (script->steps[i].type != STEP_END && !takes_job(script, &script->steps[i]))
		i++;
	return script->steps[i].type != STEP_END;
}

/* Between two questions it takes a job; else it would do them in the recorded order. */
static const char *check_jobs(const struct dealing *dealing, uint32_t actor)
{
	const struct script *script = dealing->script;
	uint32_t client = NO_INDEX, number = NO_INDEX;
	bool has_taken = false;

	for (size_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];
		uint32_t carried =
			step->type == STEP_RECEIVE ? dealing->carried[step->arg] : NO_INDEX;

		has_taken = has_taken || takes_job(script, step);
		if (carried == NO_INDEX)
			continue;
		uint32_t owner = dealing->owner[script->flows.transfers[step->arg].flow];
		bool is_next = client != NO_INDEX && (owner != client || carried != number);

		if (is_next && !has_taken)
			return "a thread serves one client after the other";
		client = owner;
		number = carried;
		has_taken = false;
	}
	return NULL;
}

static bool has_several_stretches(const struct script *script, uint32_t actor)
{
	bool has_any = false, is_behind = false;

	for (size_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END; i++) {
		if (script->steps[i].type != STEP_VISIT)
			continue;
		bool is_barrier = script->loops.visits[script->steps[i].arg].sort == VISIT_BARRIER;

		if (!is_barrier && is_behind)
			return true;
		has_any = has_any || !is_barrier;
		is_behind = has_any && is_barrier;
	}
	return false;
}

static bool accepts(const struct script *script, uint32_t actor)
{
	for (size_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];

		if (step->type != STEP_RECEIVE)
			continue;
		uint32_t flow = script->flows.transfers[step->arg].flow;

		if (script->flows.flows[flow].unit == FLOW_CONNECTIONS)
			return true;
	}
	return false;
}

/* Of a thread that does something for clients: it is dealt out, or does what comes. */
static const char *actor_look(struct search *search, uint32_t actor)
{
	struct dealing *dealing = search->dealing;
	const struct script *script = dealing->script;
	uint32_t loop = script->loops.loop_count ? script->loops.loop_of_thread[actor] : NO_INDEX;
	bool is_shared = loop != NO_INDEX && search->threads[loop] > 1;

	if (loop != NO_INDEX &&
	    (is_shared || search->met[actor] == SEVERAL || accepts(script, actor)))
		return is_shared && has_several_stretches(script, actor)
			       ? "several threads of an event loop take what comes in an order "
				 "that is not known"
			       : NULL;
	if (search->met[actor] == SEVERAL || takes_jobs(script, actor))
		return check_jobs(dealing, actor);
	dealing->client[actor] = search->met[actor];
	number_server(dealing, actor);
	const char *why = check_parts(dealing, actor);

	if (!why)
		numbers_carry(search, actor);
	return why;
}

static const char *servers_find(struct search *search)
{
	struct dealing *dealing = search->dealing;
	size_t actors = script_recorded_actors(dealing->script), done = 0;
	const char *why = NULL;

	while (done < search->flow_count && !why) {
		for (size_t end = search->flow_count; done < end && !why; done++) {
			uint32_t flow = search->flows[done];

			why = flow_check(dealing, flow);
			for (int is_write = 0; is_write < 2 && !why; is_write++)
				why = end_look(search, flow, is_write);
		}
		for (uint32_t i = 0; i < actors && !why; i++)
			if (search->met[i] != NO_INDEX && dealing->client[i] == NO_INDEX)
				why = actor_look(search, i);
	}
	return why;
}

/* --- all of it --- */

/* One client alone does not show whether others would have a thread of their own. */
static bool is_one_alone(const struct dealing *dealing)
{
	const struct script *script = dealing->script;

	if (script->clients.asker_count > 1)
		return false;
	for (size_t i = 1; i < script->flows.transfer_count; i++)
		if (script->flows.transfers[i].flow == script->flows.transfers[i - 1].flow &&
		    dealing->carried[i] != dealing->carried[i - 1])
			return true;
	return false;
}

const char *dealing_find(struct dealing *dealing, const struct script *script, uint32_t times)
{
	struct search search;
	const char *why = NULL;

	assert(script->clients.count && times);
	*dealing =
		(struct dealing){ .script = script,
				  .times = times,
				  .client = unset(script->actor_count),
				  .count = memory_new(script->actor_count, sizeof(*dealing->count)),
				  .question = unset(script->step_count),
				  .carried = unset(script->flows.transfer_count),
				  .owner = unset(script->flows.flow_count) };
	for (uint32_t i = 0; i < script->clients.asker_count; i++)
		number_client(dealing, script->clients.first_thread + i);
	if (times > 1) {
		search_begin(&search, dealing);
		for (uint32_t i = 0; i < script->clients.asker_count; i++)
			numbers_carry(&search, script->clients.first_thread + i);
		why = servers_find(&search);
		search_end(&search);
	}
	if (!why && times > 1 && is_one_alone(dealing))
		why = "one client alone does not show how its server takes several";
	return why;
}

void dealing_free(struct dealing *dealing)
{
	free(dealing->client);
	free(dealing->count);
	free(dealing->question);
	free(dealing->carried);
	free(dealing->owner);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a script with another number of clients; clientele.h has the contract.
 *
 * Method. Steps are cut into pieces, each all that is done for a question, and put together again.
 * For more clients each actor that is dealt out becomes several, and so does each flow that carries
 * questions. The first of them does the first questions, and the last the last ones: what comes
 * back after so many is everybody's. For fewer clients the questions of several become those of
 * one, each client's behind those of the one before. A client that has one connection all the time
 * still makes it when it did. All else stays as it was. So all requests are there once, whoever
 * asks.
 *
 * One thread.
 */
#include "clientele.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "clientele_parts.h"

/* Steps that stay together. */
struct piece {
	uint32_t actor;    /* of the new ones */
	uint64_t order;    /* among its pieces */
	size_t first, end; /* of the old steps */
};

/* A client whose questions another one asks. */
struct joined {
	uint32_t actor; /* of that one */
	uint32_t turn;  /* behind those of so many others */
};

struct making {
	const struct dealing *dealing;
	const struct script *old;
	struct script *script;
	struct piece *pieces;
	size_t piece_count;
	size_t piece_room;
	uint32_t *op_of;       /* by transfer of a client: its call */
	struct joined *joined; /* by client, NULL = none is */
	uint32_t
		*first_new; /* by actor: the first one that was added for it, NO_INDEX = none was */
	uint32_t *first_flow; /* the same, by flow */
	uint32_t *new_step;   /* by old step */
};

/* --- actors, and their pieces --- */

static void *copy_of(const void *array, size_t count, size_t more, size_t element_bytes)
{
	void *copy = memory_new(count + more, element_bytes);

	return count ? memcpy(copy, array, count * element_bytes) : copy;
}

static void actors_make(struct making *making)
{
	const struct script *old = making->old;
	struct script *script = making->script;
	uint32_t more = making->dealing->times - 1;
	size_t room = old->actor_count * (more + 1);

	script->actors = copy_of(old->actors, old->actor_count, room - old->actor_count,
				 sizeof(*script->actors));
	for (uint32_t i = 0; i < old->actor_count; i++) {
		making->first_new[i] = NO_INDEX;
		if (!more || making->dealing->client[i] == NO_INDEX)
			continue;
		making->first_new[i] = (uint32_t)script->actor_count;
		for (uint32_t part = 0; part < more; part++) {
			struct actor *actor = &script->actors[script->actor_count++];

			*actor = old->actors[i];
			actor->is_spawned = false;
			actor->startup_steps = 0;
		}
	}
}

static void piece_add(struct making *making, struct piece piece)
{
	making->pieces = memory_grow(making->pieces, &making->piece_room, making->piece_count + 1,
				     sizeof(*making->pieces));
	making->pieces[making->piece_count++] = piece;
}

/* The next step that moves something, or the end. */
static size_t next_move(const struct script *script, size_t step)
{
	while (script->steps[step].type != STEP_SEND && script->steps[step].type != STEP_RECEIVE &&
	       script->steps[step].type != STEP_END)
		step++;
	return step;
}

/* When a client came to ask, by its first call from there on. */
static uint64_t asked_ns(const struct making *making, size_t step)
{
	const struct step *move = &making->old->steps[next_move(making->old, step)];

	return move->type == STEP_END
		       ? UINT64_MAX
		       : making->old->recording->ops[making->op_of[move->arg]].start_ns;
}

static void client_ops_find(struct making *making)
{
	const struct script *script = making->old;

	making->op_of = memory_new(script->flows.transfer_count, sizeof(*making->op_of));
	for (size_t op = script->clients.first_op; op < script->recording->op_count; op++)
		if (script->flows.transfer_of[op] != NO_INDEX)
			making->op_of[script->flows.transfer_of[op]] = (uint32_t)op;
}

struct first_asked {
	uint64_t ns;
	uint32_t client;
};

static int compare_first_asked(const void *left, const void *right)
{
	const struct first_asked *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->client > b->client) - (a->client < b->client);
}

/* Each becomes one with so many of the others. */
static void clients_join(struct making *making, size_t times)
{
	const struct clients *clients = &making->old->clients;
	size_t left = (clients->asker_count + times - 1) / times;
	struct first_asked *asked = memory_new(clients->asker_count, sizeof(*asked));

	making->joined = memory_new(clients->asker_count, sizeof(*making->joined));
	for (uint32_t i = 0; i < clients->asker_count; i++) {
		size_t first = making->old->actors[clients->first_thread + i].first_step;

		asked[i] = (struct first_asked){ asked_ns(making, first), i };
	}
	qsort(asked, clients->asker_count, sizeof(*asked), compare_first_asked);
	for (size_t i = 0; i < clients->asker_count; i++)
		making->joined[asked[i].client] =
			(struct joined){ clients->first_thread + asked[i % left].client,
					 (uint32_t)(i / left) };
	free(asked);
}

static bool connects(const struct script *script, size_t step)
{
	const struct step *move = &script->steps[step];

	return move->type == STEP_SEND &&
	       script->flows.flows[script->flows.transfers[move->arg].flow].unit ==
		       FLOW_CONNECTIONS;
}

/* The step behind the only time that an actor connects, if that comes first; else its first one. */
static size_t connected_find(const struct script *script, size_t first)
{
	size_t step = next_move(script, first), count = 0;
	bool is_first = connects(script, step);

	for (size_t i = step; script->steps[i].type != STEP_END; i++)
		count += connects(script, i);
	return is_first && count == 1 ? step + 1 : first;
}

/* A question's piece, with who does it, and in which order. */
static struct piece piece_of(const struct making *making, uint32_t actor, size_t first)
{
	const struct dealing *dealing = making->dealing;
	uint32_t number = dealing->question[first];
	uint32_t part = dealing_part(dealing, dealing->client[actor], number);
	uint32_t client = making->old->clients.first_thread;
	struct piece piece = { actor, number, first, first };

	if (part)
		piece.actor = making->first_new[actor] + part - 1;
	if (making->joined) {
		piece.actor = making->joined[actor - client].actor;
		piece.order = (uint64_t)making->joined[actor - client].turn << 32 | number;
	}
	return piece;
}

static void pieces_make(struct making *making)
{
	const struct script *old = making->old;
	uint32_t first_client = old->clients.first_thread;
	size_t i = 0;

	for (uint32_t actor = 0; i < old->step_count; actor++) {
		if (making->dealing->client[actor] == NO_INDEX) {
			struct piece whole = { actor, 0, i, i };

			while (old->steps[i].type != STEP_END)
				i++;
			whole.end = ++i;
			piece_add(making, whole);
			continue;
		}
		size_t connected = making->joined ? connected_find(old, i) : i;

		if (connected > i) {
			piece_add(making,
				  (struct piece){ making->joined[actor - first_client].actor, 0, i,
						  connected });
			i = connected;
		}
		while (old->steps[i].type != STEP_MARK) {
			struct piece piece = piece_of(making, actor, i);
			uint32_t number = making->dealing->question[i];

			while (old->steps[i].type != STEP_MARK &&
			       making->dealing->question[i] == number)
				i++;
			piece.end = i;
			piece_add(making, piece);
		}
		i += 2; /* its mark and its end */
	}
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->actor != b->actor)
		return a->actor < b->actor ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void step_add(struct script *script, struct step step)
{
	script->steps[script->step_count++] = step;
}

static void steps_make(struct making *making)
{
	const struct script *old = making->old;
	struct script *script = making->script;
	const struct piece *piece = making->pieces, *end = piece + making->piece_count;

	qsort(making->pieces, making->piece_count, sizeof(*piece), compare_pieces);
	script->steps =
		memory_new(old->step_count + 2 * script->actor_count, sizeof(*script->steps));
	script->step_count = 0;
	for (uint32_t actor = 0; actor < script->actor_count; actor++) {
		bool has_end =
			actor < old->actor_count && making->dealing->client[actor] == NO_INDEX;

		script->actors[actor].first_step = (uint32_t)script->step_count;
		for (; piece < end && piece->actor == actor; piece++)
			for (size_t i = piece->first; i < piece->end; i++) {
				making->new_step[i] = (uint32_t)script->step_count;
				step_add(script, old->steps[i]);
			}
		if (has_end)
			continue;
		step_add(script, (struct step){ .type = STEP_MARK });
		step_add(script, (struct step){ .type = STEP_END });
	}
	assert(piece == end);
}

/* --- flows --- */

/* By visit: the question of the first bytes that are moved there, else that of the visit before. */
static uint32_t *visits_find(const struct dealing *dealing)
{
	const struct script *script = dealing->script;
	uint32_t flow = NO_INDEX, visit = NO_INDEX;
	uint32_t *last = memory_new(script->flows.flow_count, sizeof(*last));
	uint32_t *visited = memory_new(script->loops.visit_count, sizeof(*visited));

	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_VISIT) {
			visit = step->arg;
			flow = script->loops.visits[visit].flow;
			if (flow != NO_INDEX && dealing->owner[flow] == NO_INDEX)
				flow = NO_INDEX;
			if (flow != NO_INDEX)
				visited[visit] = last[flow];
		}
		if (step->type == STEP_END)
			flow = NO_INDEX;
		if (flow == NO_INDEX || (step->type != STEP_SEND && step->type != STEP_RECEIVE))
			continue;
		uint32_t carried = dealing->carried[step->arg];
		uint32_t moved = script->flows.transfers[step->arg].flow;

		if (carried == NO_INDEX || dealing->owner[moved] != dealing->owner[flow])
			continue;
		visited[visit] = last[flow] = carried;
		flow = NO_INDEX; /* the first one tells */
	}
	free(last);
	return visited;
}

/* The flow that carries a question instead of the one that carried all. */
static uint32_t flow_of_part(const struct making *making, uint32_t flow, uint32_t question)
{
	uint32_t client = making->dealing->owner[flow];
	uint32_t part = client == NO_INDEX ? 0 : dealing_part(making->dealing, client, question);

	return part ? making->first_flow[flow] + part - 1 : flow;
}

static void flows_make(struct making *making)
{
	const struct dealing *dealing = making->dealing;
	const struct script *old = making->old;
	struct script *script = making->script;
	uint32_t more = dealing->times - 1;
	size_t count = old->flows.flow_count;
	uint32_t *visited = visits_find(dealing);

	script->flows.flows =
		copy_of(old->flows.flows, count, count * more, sizeof(*script->flows.flows));
	script->flows.transfers = copy_of(old->flows.transfers, old->flows.transfer_count, 0,
					  sizeof(*script->flows.transfers));
	script->loops.visits = copy_of(old->loops.visits, old->loops.visit_count, 0,
				       sizeof(*script->loops.visits));
	for (uint32_t flow = 0; flow < count; flow++) {
		making->first_flow[flow] = (uint32_t)script->flows.flow_count;
		for (uint32_t part = 0; part < more && dealing->owner[flow] != NO_INDEX; part++)
			script->flows.flows[script->flows.flow_count++] = old->flows.flows[flow];
	}
	for (size_t i = 0; i < old->flows.transfer_count; i++) {
		uint32_t *flow = &script->flows.transfers[i].flow;

		if (dealing->carried[i] != NO_INDEX)
			*flow = flow_of_part(making, *flow, dealing->carried[i]);
	}
	for (size_t i = 0; i < old->loops.visit_count; i++) {
		uint32_t *flow = &script->loops.visits[i].flow;

		if (*flow != NO_INDEX)
			*flow = flow_of_part(making, *flow, visited[i]);
	}
	free(visited);
}

static void steps_follow(const struct making *making, struct job_list *jobs)
{
	const uint32_t *steps = jobs->steps;

	jobs->steps = memory_new(jobs->count, sizeof(*jobs->steps));
	jobs->capacity = jobs->count;
	for (size_t i = 0; i < jobs->count; i++)
		jobs->steps[i] = making->new_step[steps[i]];
}

/* Those of semaphores come behind those of the flows that were added. */
static void jobs_make(struct making *making)
{
	const struct script *old = making->old;
	struct script *script = making->script;
	size_t more = script->flows.flow_count - old->flows.flow_count;
	size_t before = old->monitors.condition_count + old->flows.flow_count;

	script->source_count = old->source_count + more;
	script->jobs = memory_new(script->source_count, sizeof(*script->jobs));
	for (size_t i = 0; i < script->source_count; i++) {
		bool is_new = i >= before && i < before + more;

		script->jobs[i] = is_new ? (struct job_list){ .lock = NO_INDEX }
					 : old->jobs[i < before ? i : i - more];
		steps_follow(making, &script->jobs[i]);
	}
	script->circles = copy_of(old->circles, old->circle_count, 0, sizeof(*script->circles));
	for (size_t i = 0; i < script->circle_count; i++) {
		struct script_circle *circle = &script->circles[i];

		steps_follow(making, &circle->turns);
		if (circle->last_end && circle->last_end < old->step_count)
			circle->last_end = making->new_step[circle->last_end];
	}
	script->messages.rooms = copy_of(old->messages.rooms, old->flows.flow_count, more,
					 sizeof(*script->messages.rooms));
}

/* --- all of it --- */

static void script_make(struct making *making)
{
	struct script *script = making->script;

	actors_make(making);
	pieces_make(making);
	steps_make(making);
	flows_make(making);
	jobs_make(making);
	script->has_spare_actors = true;
	for (uint32_t i = 0; i < script->actor_count; i++) {
		struct actor *actor = &script->actors[i];

		if (actor->last_body != NO_INDEX)
			actor->last_body = making->new_step[actor->last_body];
		actor->take_step = script_take_step(script, i);
	}
}

int clientele_change(struct script *script, const struct script *old, double times,
		     char error[OPTIONS_ERROR_BYTES])
{
	const char *why = NULL;
	struct dealing dealing;

	assert(times > 0);
	if (!old->clients.count)
		why = "no connection was accepted from a client that is not recorded";
	else if (old->clients.sort == CLIENTS_OPEN)
		why = "clients ask at their times, however many they are; ask for load*2";
	if (why) {
		snprintf(error, OPTIONS_ERROR_BYTES, "--what-if: \"clients\": %s", why);
		return -EINVAL;
	}
	struct making making = { .dealing = &dealing, .old = old, .script = script };

	why = dealing_find(&dealing, old, times < 1 ? 1 : (uint32_t)times);
	if (why) {
		snprintf(
			error, OPTIONS_ERROR_BYTES,
			"--what-if: \"clients\": how more of them would be served is not known: %s",
			why);
	} else {
		making.first_new = memory_new(old->actor_count, sizeof(*making.first_new));
		making.first_flow = memory_new(old->flows.flow_count, sizeof(*making.first_flow));
		making.new_step = memory_new(old->step_count, sizeof(*making.new_step));
		client_ops_find(&making);
		if (times < 1)
			clients_join(&making, (size_t)round(1 / times));
		script_make(&making);
	}
	free(making.op_of);
	free(making.joined);
	free(making.pieces);
	free(making.first_new);
	free(making.first_flow);
	free(making.new_step);
	dealing_free(&dealing);
	return why ? -EINVAL : 0;
}

void clientele_free(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++)
		free(script->jobs[i].steps);
	for (size_t i = 0; i < script->circle_count; i++)
		free(script->circles[i].turns.steps);
	free(script->jobs);
	free(script->circles);
	free(script->messages.rooms);
	free(script->flows.flows);
	free(script->flows.transfers);
	free(script->loops.visits);
	free(script->steps);
	free(script->actors);
}

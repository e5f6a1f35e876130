/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way through pipes and sockets in a simulation; how they are arbitrated is said in
 * simulate.c.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

static const struct transfer *transfer_of(const struct simulation *sim, const struct step *step)
{
	assert(step->arg < sim->script->flows.transfer_count);
	const struct transfer *transfer = &sim->script->flows.transfers[step->arg];

	assert(transfer->flow < sim->script->flows.flow_count);
	return transfer;
}

/* Up to where a flow takes bytes: what it holds is not read. A read takes what comes while it
 * lasts, as a stream does that fills more than a pipe holds. */
static uint64_t room_until(const struct simulation *sim, uint32_t flow)
{
	const struct channel *channel = &sim->channels[flow];
	uint64_t capacity = sim->script->flows.flows[flow].capacity;

	if (!capacity)
		return UINT64_MAX;
	return channel->claimed > channel->received + capacity ? channel->claimed
							       : channel->received + capacity;
}

bool simulate_send(struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct transfer *transfer = transfer_of(sim, step);
	const struct message_room *room = &sim->script->messages.rooms[transfer->flow];
	struct channel *channel = &sim->channels[transfer->flow];
	struct player *player = &sim->players[actor];
	uint64_t until = room_until(sim, transfer->flow), bytes;

	if (!player->is_back)
		player->needed = transfer->bytes;
	bytes = player->needed;
	if (channel->written + bytes > until && !player->is_forced &&
	    !(room->count && channel->written == channel->received))
		bytes = room->count || until < channel->written ? 0 : until - channel->written;
	uint64_t number = room->count ? channel->written / transfer->bytes : room->count;

	if (bytes && number < room->count)
		sim->sent[room->first + number] = sim->script->messages.job_of[step->arg];
	channel->written += bytes;
	simulate_loop_has(sim, transfer->flow, player->now_ns);
	if (script_rings(sim->script, step))
		simulate_job_ends(sim, actor);
	player->needed -= bytes;
	player->woke =
		(player->is_back && player->woke) || (bytes && channel->readers.first != NO_INDEX);
	if (bytes)
		simulate_wake_all(sim, &channel->readers, player->now_ns, false);
	if (player->needed)
		simulate_sleep(sim, &channel->writers, actor);
	return !player->needed;
}

bool simulate_receive(struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct transfer *transfer = transfer_of(sim, step);
	struct channel *channel = &sim->channels[transfer->flow];
	struct player *player = &sim->players[actor];
	bool is_shared = sim->script->flows.flows[transfer->flow].is_shared && !transfer->is_rest;

	if (!player->is_back) {
		if (is_shared)
			simulate_comes_for_job(sim, step, actor);
		channel->claimed += transfer->bytes;
		if (sim->script->flows.flows[transfer->flow].unit == FLOW_CONNECTIONS)
			simulate_loop_has(sim, transfer->flow, player->now_ns);
		player->needed = channel->claimed;
		if (sim->script->flows.flows[transfer->flow].is_gathered)
			player->needed -= transfer->bytes - 1;
		if (transfer->bytes > sim->script->flows.flows[transfer->flow].capacity)
			simulate_wake_all(sim, &channel->writers, player->now_ns, false);
	}
	if (channel->written < player->needed && !player->is_forced) {
		simulate_sleep(sim, &channel->readers, actor);
		return false;
	}
	channel->received += transfer->bytes;
	simulate_wake_all(sim, &channel->writers, player->now_ns, false);
	player->step = is_shared ? simulate_next_job(sim, step, actor) : player->step + 1;
	return true;
}

/* Another thread may have read what it waits for before it looks. */
bool simulate_await(struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct transfer *awaited = transfer_of(sim, step);
	struct channel *channel = &sim->channels[awaited->flow];

	if (channel->written > channel->claimed || channel->written > awaited->offset ||
	    sim->players[actor].is_forced)
		return true;
	simulate_sleep(sim, &channel->readers, actor);
	return false;
}

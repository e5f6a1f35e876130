/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces that actors share out in a simulation: each takes the next one when it has done one.
 *
 * Pieces are begun in the recorded order, by whichever actor is free. An actor to which none is
 * left goes on behind its own ones.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

static void take_next(struct simulation *sim, struct player *player)
{
	const struct script_round *round = &sim->script->rounds[player->round];
	uint32_t *next = &sim->next_piece[player->round];

	if (*next < round->count) {
		player->step = sim->step_of_piece[round->first + (*next)++];
		return;
	}
	player->step = player->pieces_end;
	player->pieces_end = 0;
}

bool simulate_piece(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	if (step->type == STEP_PIECES && step->jump &&
	    (sim->script->rounds[step->arg].is_sure || sim->shares_all)) {
		assert(!player->pieces_end);
		player->round = step->arg;
		player->pieces_end = player->step + (uint32_t)step->jump + 1;
	}
	if (player->pieces_end)
		take_next(sim, player);
	else
		player->step++;
	return true;
}

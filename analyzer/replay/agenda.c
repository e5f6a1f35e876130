/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap of turns; agenda.h has the contract.
 *
 * One thread.
 */
#include "agenda.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

static bool is_before(const struct turn *a, const struct turn *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void agenda_make(struct agenda *agenda, size_t actor_count)
{
	*agenda = (struct agenda){ .turns = memory_new(actor_count, sizeof(*agenda->turns)),
				   .capacity = actor_count };
}

void agenda_free(struct agenda *agenda)
{
	free(agenda->turns);
	*agenda = (struct agenda){ 0 };
}

void agenda_clear(struct agenda *agenda)
{
	agenda->count = 0;
	agenda->order = 0;
}

static void rise(struct agenda *agenda, size_t at, struct turn turn)
{
	for (; at > 0 && is_before(&turn, &agenda->turns[(at - 1) / 2]); at = (at - 1) / 2)
		agenda->turns[at] = agenda->turns[(at - 1) / 2];
	agenda->turns[at] = turn;
}

static void sink(struct agenda *agenda, size_t at, struct turn turn)
{
	for (size_t child; (child = 2 * at + 1) < agenda->count; at = child) {
		if (child + 1 < agenda->count &&
		    is_before(&agenda->turns[child + 1], &agenda->turns[child]))
			child++;
		if (!is_before(&agenda->turns[child], &turn))
			break;
		agenda->turns[at] = agenda->turns[child];
	}
	agenda->turns[at] = turn;
}

void agenda_add(struct agenda *agenda, uint32_t actor, uint64_t at_ns)
{
	struct turn turn = { at_ns, agenda->order++, actor };

	assert(agenda->count < agenda->capacity);
	rise(agenda, agenda->count++, turn);
}

struct turn agenda_take(struct agenda *agenda)
{
	assert(agenda->count > 0);
	struct turn earliest = agenda->turns[0];

	agenda->count--;
	sink(agenda, 0, agenda->turns[agenda->count]);
	return earliest;
}

/* Looks at all turns: there is no index of them, as it is seldom done. */
void agenda_remove(struct agenda *agenda, uint32_t actor)
{
	size_t at = 0;

	while (agenda->turns[at].actor != actor)
		at++;
	assert(at < agenda->count);
	struct turn last = agenda->turns[--agenda->count];
	if (at == agenda->count)
		return;
	if (is_before(&last, &agenda->turns[at]))
		rise(agenda, at, last);
	else
		sink(agenda, at, last);
}

bool agenda_is_valid(const struct agenda *agenda)
{
	for (size_t i = 1; i < agenda->count; i++)
		if (is_before(&agenda->turns[i], &agenda->turns[(i - 1) / 2]) ||
		    agenda->turns[i].order >= agenda->order)
			return false;
	return agenda->count <= agenda->capacity;
}

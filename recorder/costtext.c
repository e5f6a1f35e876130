/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording, as text. See costtext.h.
 */
#include "costtext.h"

#include "dumpkeys.h"
#include "opening.h"

#include "in_target.h"

static void put_own_cost(struct dump *dump, struct text *text)
{
	const struct owncost *all = &dump->cost.all, *window = &dump->cost.window;

	owncost_read(dump->arena, dump->snapshot.clock.mult, &dump->cost);
	uint64_t start_ns = dump->cost.counts.start_ns;

	text_put_key_u64(text, keys.process.own_ns, owncost_sum(all));
	text_put_key_u64(text, keys.process.own_events_ns, all->events_ns);
	text_put_key_u64(text, keys.process.own_slow_ns, all->slow_ns);
	text_put_key_u64(text, keys.process.own_control_ns, all->control_ns);
	text_put_key_u64(text, keys.process.own_dumps_ns, all->dumps_ns);
	text_put_key_u64(text, keys.process.own_window_ns, owncost_sum(window) - window->dumps_ns);
	/* Of an image that went on by exec before it did anything all was its start. */
	text_put_key_u64(text, keys.process.own_start_ns, start_ns ? start_ns : all->slow_ns);
}

static uint64_t ns_of_ticks(const struct dump *dump, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * dump->snapshot.clock.mult >> 32);
}

/* How much of the time was recorded, by the budget. */
static void put_budget(struct dump *dump, struct text *text)
{
	const struct snapshot *snapshot = &dump->snapshot;
	const struct budget_tally *tally = &dump->arena->budget;
	uint64_t from = load_relaxed(&tally->begun_ticks), to = load_relaxed(&tally->ended_ticks);

	if (from == 0)
		return;
	from = from > snapshot->since_ticks ? from : snapshot->since_ticks;
	to = to == 0 || to > snapshot->now.ticks ? snapshot->now.ticks : to;
	if (from >= to)
		return;
	text_put_key_u64(text, keys.process.budget_ppm, load_relaxed(&tally->budget));
	text_put_key_u64(text, keys.process.budget_span_ns, ns_of_ticks(dump, to - from));
	text_put_key_u64(text, keys.process.budget_on_ns,
			 ns_of_ticks(dump, opening_sum(dump->arena, from, to)));
	text_put_key_u64(text, keys.process.budget_cost_ppm, load_relaxed(&tally->cost));
}

void costtext_put(struct dump *dump, struct text *text)
{
	put_own_cost(dump, text);
	put_budget(dump, text);
}

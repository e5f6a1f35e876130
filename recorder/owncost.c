/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording. See owncost.h.
 *
 * Counts are added up over slots, which costs as much as there are threads. The cost of one event
 * is that of all metered ones so far, also for a window: one has few of them.
 */
#include "owncost.h"

#include "chunk.h"
#include "clock.h"
#include "roster.h"

#include "in_target.h"

/* The control thread's. `before`: of threads in its place that have ended. */
static struct {
	uint64_t before_ns;
	uint64_t dumps_ns;
} control;

void owncost_thread_begun(struct arena *arena, const struct slot *slot)
{
	if (load_relaxed(&arena->cost.start_ns) == 0)
		store_relaxed(&arena->cost.start_ns, load_relaxed(&arena->cost.threads.slow_ns) +
							     load_relaxed(&slot->cost.slow_ns));
}

void owncost_thread_ends(struct arena *arena, struct slot *slot)
{
	struct thread_cost *to = &arena->cost.threads, *from = &slot->cost;

	/* Exchanges: a reader of the sum may miss a count for a moment, and none is taken twice. */
	add_relaxed(&to->events, exchange_acq_rel(&from->events, 0));
	add_relaxed(&to->metered_ticks, exchange_acq_rel(&from->metered_ticks, 0));
	add_relaxed(&to->metered_events, exchange_acq_rel(&from->metered_events, 0));
	add_relaxed(&to->short_ticks, exchange_acq_rel(&from->short_ticks, 0));
	add_relaxed(&to->slow_ns, exchange_acq_rel(&from->slow_ns, 0));
}

static void note(uint64_t control_ns)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (!arena)
		return;
	store_relaxed(&arena->cost.control_ns, control_ns);
	store_relaxed(&arena->cost.dumps_ns, control.dumps_ns);
}

void owncost_note_control(void)
{
	note(control.before_ns + clock_thread_cpu_ns());
}

void owncost_note_dump(uint64_t cpu_ns)
{
	control.dumps_ns += cpu_ns;
}

void owncost_control_ends(void)
{
	control.before_ns += clock_thread_cpu_ns();
	note(control.before_ns);
}

void owncost_fork_child(void)
{
	control.before_ns = control.dumps_ns = 0;
}

/* Events that are in the chunk which the thread fills just now. It may move on meanwhile. */
static uint64_t events_under_way(const struct arena *arena, const struct slot *slot)
{
	uint32_t index = load_acquire(&slot->chunk);
	uint32_t from = load_relaxed(&slot->chunk_from), published;

	if (index == 0 || index > arena_chunks_made(arena))
		return 0;
	published = extent_records(chunk_published(chunk_at(arena, index - 1)));
	return published > from ? published - from : 0;
}

static void add_up(const struct arena *arena, struct process_cost *counts)
{
	const struct thread_cost *ended = &arena->cost.threads;
	uint32_t slots = roster_made(arena);

	*counts = (struct process_cost){
		.threads = { load_relaxed(&ended->events), load_relaxed(&ended->metered_ticks),
			     load_relaxed(&ended->metered_events),
			     load_relaxed(&ended->short_ticks), load_relaxed(&ended->slow_ns) },
		.control_ns = load_relaxed(&arena->cost.control_ns),
		.dumps_ns = load_relaxed(&arena->cost.dumps_ns),
		.start_ns = load_relaxed(&arena->cost.start_ns),
	};
	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);

		counts->threads.events += load_relaxed(&slot->cost.events);
		counts->threads.events += events_under_way(arena, slot);
		counts->threads.metered_ticks += load_relaxed(&slot->cost.metered_ticks);
		counts->threads.metered_events += load_relaxed(&slot->cost.metered_events);
		counts->threads.short_ticks += load_relaxed(&slot->cost.short_ticks);
		counts->threads.slow_ns += load_relaxed(&slot->cost.slow_ns);
	}
}

void owncost_begin_window(struct arena *arena)
{
	struct process_cost now;

	add_up(arena, &now);
	store_relaxed(&arena->cost_before.threads.events, now.threads.events);
	store_relaxed(&arena->cost_before.threads.short_ticks, now.threads.short_ticks);
	store_relaxed(&arena->cost_before.threads.slow_ns, now.threads.slow_ns);
	store_relaxed(&arena->cost_before.control_ns, now.control_ns);
	store_relaxed(&arena->cost_before.dumps_ns, now.dumps_ns);
}

static uint64_t to_ns(unsigned __int128 ticks, uint64_t rate)
{
	return (uint64_t)(ticks * rate >> 32);
}

/* 0 where another process has written nonsense, or a count has moved meanwhile. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void put(struct owncost *cost, const struct process_cost *now,
		const struct process_cost *before, uint64_t rate)
{
	uint64_t events = since(now->threads.events, load_relaxed(&before->threads.events));
	uint64_t metered = now->threads.metered_events ? now->threads.metered_events : 1;
	uint64_t in_short =
		since(now->threads.short_ticks, load_relaxed(&before->threads.short_ticks));
	uint64_t control_ns = since(now->control_ns, load_relaxed(&before->control_ns));

	cost->events_ns =
		to_ns((unsigned __int128)events * now->threads.metered_ticks / metered, rate);
	cost->slow_ns = to_ns(in_short, rate) +
			since(now->threads.slow_ns, load_relaxed(&before->threads.slow_ns));
	cost->dumps_ns = since(now->dumps_ns, load_relaxed(&before->dumps_ns));
	cost->control_ns = since(control_ns, cost->dumps_ns);
}

void owncost_read(const struct arena *arena, uint64_t rate, struct owncost_reading *reading)
{
	static const struct process_cost nothing;

	add_up(arena, &reading->counts);
	put(&reading->all, &reading->counts, &nothing, rate);
	put(&reading->window, &reading->counts, &arena->cost_before, rate);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of a library that was loaded into a running process. See verbs.h and attached.h.
 */
#include "verbs.h"

#include "arena.h"
#include "attached.h"
#include "budget.h"
#include "opening.h"
#include "probe_patch.h"
#include "probe_traps.h"
#include "snapshot.h"
#include "trial.h"

#include "in_target.h"

static void put_slots(struct text *answer, const struct recorder_slots *slots)
{
	verbs_begin_answer(answer);
	text_put_key_u64(answer, "slots", slots->changed);
	text_put_key_u64(answer, "slots_left", slots->left);
	text_put_key_u64(answer, "unredirected_pointers", slots->copies);
	text_put_literal(answer, "}\n");
}

/* True: the answer says why not. */
static bool is_refused(const struct request *request, struct text *answer)
{
	if (trial_is_on() && !trial_is_of(request->client))
		verbs_refuse(answer, "trial", "a trial is under way: try again when it has ended");
	else if (!attached_may_be())
		verbs_refuse(answer, "preloaded", "it was started with the library");
	return answer->used > 0;
}

void verb_ATTACH(struct request *request, struct text *answer)
{
	struct recorder_slots slots;

	if (is_refused(request, answer))
		return;
	if (attached_point(true, &slots))
		put_slots(answer, &slots);
	else
		verbs_refuse(answer, "memory", "its mappings cannot be read");
}

/* False also when the last dump had all windows: what it cut off with them ends later, and is
 * recorded then. */
static bool would_lose_events(const struct arena *arena)
{
	uint64_t begun, ended;

	(void)opening_times(arena, opening_now(arena), &begun, &ended);
	return ended > load_relaxed(&arena->dumped_ticks) && snapshot_pending(arena) > 0;
}

void verb_DETACH(struct request *request, struct text *answer)
{
	struct arena *arena = load_acquire(&recorder_arena);
	struct recorder_slots slots;

	if (is_refused(request, answer))
		return;
	budget_end();
	budget_turn_off();
	if (arena && would_lose_events(arena)) {
		verbs_refuse(answer, "events", "events were recorded that no dump has taken");
		return;
	}
	(void)probe_remove("", 0);
	if (probe_traps_tick()) {
		verbs_refuse(answer, "busy", "a probe was put in just now: try again");
		return;
	}
	if (!attached_point(false, &slots)) {
		verbs_refuse(answer, "memory", "its mappings cannot be read");
		return;
	}
	attached_send_thread();
	put_slots(answer, &slots);
}

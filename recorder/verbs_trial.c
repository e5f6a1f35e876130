/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of a trial: its beginning, its rules, its windows. See verbs.h, trial.h and slow.h.
 */
#include "verbs.h"

#include <errno.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "handout.h"
#include "slow.h"
#include "slow_text.h"
#include "snapshot.h"
#include "trial.h"

#include "in_target.h"

enum { TRIAL_MS_MAX = 3600000, WINDOW_MS_MAX = 60000 };

static bool is_key(const struct setting_value *argument, const char *key)
{
	return argument->key_bytes == strlen(key) &&
	       memcmp(argument->key, key, argument->key_bytes) == 0;
}

/* A key that there must be: a number from 1. */
static bool read_ms(const struct request *request, uint64_t most, uint64_t *ms)
{
	const struct setting_value *argument = verbs_find(request, "ms");

	return argument && text_parse_u64(argument->value, argument->value_bytes, ms) && *ms >= 1 &&
	       *ms <= most;
}

void verb_TRY(struct request *request, struct text *answer)
{
	struct arena *arena = load_acquire(&recorder_arena);
	uint64_t ms;
	int result;

	if (!read_ms(request, TRIAL_MS_MAX, &ms)) {
		verbs_refuse(answer, "argument", "ms is a number from 1 to 3600000");
		return;
	}
	result = trial_begin(request->client, ms);
	if (result == -EBUSY) {
		verbs_refuse(answer, "busy", "there is a trial already");
		return;
	}
	if (result != 0) {
		verbs_refuse(answer, "recording", "recording is on, or WCPROF_SLOW slows already");
		return;
	}
	verbs_begin_answer(answer);
	text_put_key_u64(answer, "ms", ms);
	text_put_key_u64(answer, "pending", arena ? snapshot_pending(arena) : 0);
	text_put_literal(answer, "}\n");
}

/* --- Rules ------------------------------------------------------------------------------------ */

static int take_rules(const struct request *request, bool is_rehearsal)
{
	int result = 0;

	for (uint32_t i = 0; i < request->argument_count && result == 0; i++) {
		const struct setting_value *argument = &request->arguments[i];

		if (!is_key(argument, "clear"))
			result = slow_text_add(argument->key, argument->key_bytes, argument->value,
					       argument->value_bytes, is_rehearsal);
	}
	return result;
}

/* False: this is no trial's connection. */
static bool is_trial(const struct request *request, struct text *answer)
{
	if (!trial_is_of(request->client))
		verbs_refuse(answer, "trial", "no trial of this connection: TRY begins one");
	return trial_is_of(request->client);
}

void verb_RULES(struct request *request, struct text *answer)
{
	const struct setting_value *clear = verbs_find(request, "clear");
	int result;

	if (!is_trial(request, answer))
		return;
	if ((clear && (clear->value_bytes != 1 || clear->value[0] != '1')) ||
	    take_rules(request, true) != 0) {
		verbs_refuse(answer, "argument",
			     "clear is 1, rules are hexadecimal keys separated by commas");
		return;
	}
	if (clear)
		slow_clear();
	result = take_rules(request, false);
	if (result != 0) {
		verbs_refuse(answer, "memory",
			     result == -ENOSPC ? "too many rules" : "no memory for the rules");
		return;
	}
	verbs_begin_answer(answer);
	text_put_literal(answer, "}\n");
}

/* --- Windows ---------------------------------------------------------------------------------- */

static void put_counts(struct text *answer)
{
	struct slow_counts counts = slow_count(load_acquire(&recorder_arena));

	verbs_begin_answer(answer);
	text_put_key_u64(answer, "progress", counts.progress);
	text_put_key_u64(answer, "slowed", counts.slowed);
	text_put_key_u64(answer, "extra_ns", counts.extra_ns);
	text_put_key_u64(answer, "refused", counts.refused);
	text_put_key_u64(answer, "mono_ns", clock_mono_ns());
	text_put_literal(answer, "}\n");
}

/* Stacks are looked at first, and then counted: what is answered was before the window. */
void verb_SLOW(struct request *request, struct text *answer)
{
	const struct setting_value *factor = verbs_find(request, "factor");
	uint32_t thousandths = 0;
	uint64_t window_ns, ms = 0;

	if (!is_trial(request, answer))
		return;
	if (request->argument_count == 0) {
		put_counts(answer);
		return;
	}
	if (!factor || !slow_text_factor(factor->value, factor->value_bytes, &thousandths) ||
	    !read_ms(request, WINDOW_MS_MAX, &ms)) {
		verbs_refuse(answer, "argument",
			     "factor is a number from 1 to 10, ms a number from 1 to 60000");
		return;
	}
	slow_look(load_acquire(&recorder_arena));
	put_counts(answer);
	window_ns = ms * 1000000;
	slow_begin_window(thousandths, window_ns < trial_left_ns() ? window_ns : trial_left_ns());
}

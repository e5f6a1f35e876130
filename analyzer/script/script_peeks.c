/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting by polling: a thread looks, sleeps a little or yields, looks again.
 *
 * Method. Short sleeps come from one place, one after the other with hardly anything in between.
 * When the thread does something else, it found what it was polling for. No record says which
 * thread brought that about, and the replay lets the thread sleep as often as it did. A thread that
 * does nothing else to its end was idle, and no waiter.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>

struct polling {
	uint32_t first; /* op, NO_INDEX = it does not poll */
	uint32_t last;
	size_t count;
};

static bool is_short(const struct recording *rec, uint32_t op)
{
	return !rec->extras[op].absolute && rec->extras[op].amount <= assume.peek_sleep &&
	       !rec->extras[op].open;
}

static bool goes_on(const struct recording *rec, const struct polling *polling, uint32_t op)
{
	return polling->first != NO_INDEX &&
	       rec->extras[op].stack == rec->extras[polling->first].stack &&
	       rec->ops[op].name == rec->ops[polling->first].name &&
	       rec->ops[op].start_ns - rec->ops[polling->last].end_ns <= assume.peek_gap;
}

static void ends(struct script *script, const struct class_table *classes, struct polling *polling)
{
	const struct recording *rec = script->recording;

	assert(polling->first == NO_INDEX || polling->count);
	if (polling->first != NO_INDEX && polling->count >= assume.peek_looks)
		script->polling_of_class_ns[classes->of_op[polling->first]] +=
			rec->ops[polling->last].end_ns - rec->ops[polling->first].start_ns;
	polling->first = NO_INDEX;
}

static void sleeps(struct script *script, const struct class_table *classes,
		   struct polling *polling, uint32_t op)
{
	if (goes_on(script->recording, polling, op)) {
		polling->last = op;
		polling->count++;
		return;
	}
	ends(script, classes, polling);
	if (is_short(script->recording, op))
		*polling = (struct polling){ op, op, 1 };
}

void script_peeks_find(struct script *script, const struct class_table *classes,
		       const struct timeline *timeline)
{
	const struct recording *rec = script->recording;

	script->polling_of_class_ns =
		memory_new(classes->count, sizeof(*script->polling_of_class_ns));
	for (size_t t = 0; t < timeline->thread_count; t++) {
		struct polling polling = { .first = NO_INDEX };

		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++) {
			const struct moment *moment = &timeline->moments[i];
			enum moment_type type = moment_type(moment);
			bool begins = type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT;
			bool is_sleep = (begins || type == MOMENT_OP_END) &&
					rec->ops[moment->index].kind == KIND_SLEEP;

			if (is_sleep && begins)
				sleeps(script, classes, &polling, moment->index);
			else if (!is_sleep)
				ends(script, classes, &polling);
		}
	}
}

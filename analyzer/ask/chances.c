/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trial a few times with slightly other lengths; chances.h has the contract.
 *
 * Method. As long as every thread waits for the same others, a makespan is a sum of lengths, or the
 * longest of several: if no length is off by more than a part, neither is the makespan. What is
 * saved, and is off by more than both replays' parts, comes of another order. Two replays find out
 * whether there is one to be had; where there is, more of them are made, and the middle one is what
 * to expect. The answers of all others stay exactly what the recorded lengths give.
 *
 * Each is compared with the unchanged run of the same lengths, so that what is chance in both does
 * not count.
 */
#include "chances.h"

#include <math.h>
#include <stdlib.h>

enum { PROBES = 2 };

struct chance {
	struct replay_answer answer; /* of a change to the run as it was recorded */
	unsigned number;
};

static int compare_chances(const void *left, const void *right)
{
	const struct chance *a = left, *b = right;

	if (a->answer.makespan_ns != b->answer.makespan_ns)
		return a->answer.makespan_ns < b->answer.makespan_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* As if the unchanged run had been the recorded one. */
static struct replay_answer seen_from_recorded(const struct chances *chances, unsigned number,
					       struct replay_answer answer)
{
	const struct replay_answer *recorded = &chances->baselines[0];
	const struct replay_answer *unchanged = &chances->baselines[number];

	answer.makespan_ns += recorded->makespan_ns - unchanged->makespan_ns;
	answer.p50_ns += recorded->p50_ns - unchanged->p50_ns;
	answer.p99_ns += recorded->p99_ns - unchanged->p99_ns;
	return answer;
}

static bool is_other_order(const struct chances *chances, const struct chance *chance,
			   const struct replay_answer *recorded)
{
	return fabs(chance->answer.makespan_ns - recorded->makespan_ns) >
	       CHANCE_PART * (chances->baselines[0].makespan_ns + recorded->makespan_ns);
}

void chances_begin(struct chances *chances, const struct replayer *replayer,
		   const struct replay_answer *baseline, void *scratch)
{
	struct trial unchanged = { .count = 0 };

	chances->baselines[0] = *baseline;
	for (unsigned i = 1; i <= CHANCES_MAX; i++) {
		unchanged.chance = i;
		replayer->run_trial(replayer, &unchanged, scratch, &chances->baselines[i]);
	}
}

bool chances_settle(const struct chances *chances, const struct replayer *replayer,
		    const struct trial *trial, void *scratch, struct replay_answer *answer,
		    struct chance_range *range)
{
	struct chance tries[CHANCES_MAX + 1] = { { .answer = *answer } };
	struct trial other = *trial;
	bool differs = false;

	other.finish_ns = NULL;
	for (unsigned i = 1; i <= CHANCES_MAX; i++) {
		if (i > PROBES && !differs)
			return false;
		tries[i].number = other.chance = i;
		replayer->run_trial(replayer, &other, scratch, &tries[i].answer);
		tries[i].answer = seen_from_recorded(chances, i, tries[i].answer);
		differs = differs || is_other_order(chances, &tries[i], answer);
	}
	qsort(tries, CHANCES_MAX + 1, sizeof(tries[0]), compare_chances);
	*range = (struct chance_range){ tries[0].answer.makespan_ns,
					tries[CHANCES_MAX].answer.makespan_ns };
	other.finish_ns = trial->finish_ns;
	other.chance = tries[CHANCES_MAX / 2].number;
	replayer->run_trial(replayer, &other, scratch, answer);
	*answer = seen_from_recorded(chances, other.chance, *answer);
	return true;
}

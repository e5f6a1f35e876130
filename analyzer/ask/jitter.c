/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trial a few times with slightly other lengths; jitter.h has the contract.
 *
 * Method. As long as every thread waits for the same other threads, a makespan is a sum of lengths,
 * or the longest of several sums. If no length is off by more than a part, neither is the makespan.
 * A saving that is off by more than both replays' parts comes of another order. Two replays tell
 * whether there is another order. Where there is, more replays are made, and their median is the
 * answer to expect. Elsewhere the answer stays exactly what the recorded lengths give.
 *
 * A replay is compared with the unchanged run of the same lengths: jitter that changes both alike
 * does not count.
 */
#include "jitter.h"

#include "base/assumptions.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES = 2 };

struct jittered {
	struct replay_answer answer; /* of a change to the run as it was recorded */
	unsigned number;
};

static int compare_jittered(const void *left, const void *right)
{
	const struct jittered *a = left, *b = right;

	if (a->answer.makespan_ns != b->answer.makespan_ns)
		return a->answer.makespan_ns < b->answer.makespan_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* As if the unchanged run had been the recorded one. */
static struct replay_answer seen_from_recorded(const struct jitter *jitter, unsigned number,
					       struct replay_answer answer)
{
	const struct replay_answer *recorded = &jitter->baselines[0];
	const struct replay_answer *unchanged = &jitter->baselines[number];

	answer.makespan_ns += recorded->makespan_ns - unchanged->makespan_ns;
	for (size_t i = 0; i < REQUEST_FIGURES; i++)
		answer.requests_ns[i] += recorded->requests_ns[i] - unchanged->requests_ns[i];
	return answer;
}

static bool is_other_order(const struct jitter *jitter, const struct jittered *jittered,
			   const struct replay_answer *recorded)
{
	return fabs(jittered->answer.makespan_ns - recorded->makespan_ns) >
	       assume.jitter * (jitter->baselines[0].makespan_ns + recorded->makespan_ns);
}

/* The order of requests may change although the makespan does not. */
static bool is_other_figure(const struct jitter *jitter, const struct jittered *jittered,
			    const struct replay_answer *recorded)
{
	bool is_other = false;

	for (size_t i = 0; i < REQUEST_FIGURES; i++)
		is_other = is_other ||
			   fabs(jittered->answer.requests_ns[i] - recorded->requests_ns[i]) >
				   assume.jitter * (jitter->baselines[0].requests_ns[i] +
						    recorded->requests_ns[i]);
	return is_other;
}

static int compare_ns(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void set_figures(struct jitter_range *range, const struct jittered *tries, size_t count)
{
	double values_ns[JITTERS + 1];

	for (size_t figure = 0; figure < REQUEST_FIGURES; figure++) {
		for (size_t i = 0; i < count; i++)
			values_ns[i] = tries[i].answer.requests_ns[figure];
		qsort(values_ns, count, sizeof(*values_ns), compare_ns);
		range->least_ns[figure] = values_ns[0];
		range->median_ns[figure] = values_ns[count / 2];
		range->most_ns[figure] = values_ns[count - 1];
	}
}

void jitter_begin(struct jitter *jitter, const struct replayer *replayer,
		  const struct replay_answer *baseline, void *scratch)
{
	struct trial unchanged[JITTERS];

	assert(replayer->has_jitter);
	for (unsigned i = 0; i < JITTERS; i++)
		unchanged[i] = (struct trial){ .jitter = i + 1 };
	jitter->baselines[0] = *baseline;
	replayer->run(replayer, unchanged, JITTERS, scratch, jitter->baselines + 1);
}

bool jitter_settle(const struct jitter *jitter, const struct replayer *replayer,
		   const struct trial *trial, void *scratch, struct replay_answer *answer,
		   struct jitter_range *range)
{
	struct jittered tries[JITTERS + 1] = { { .answer = *answer } };
	struct trial other = *trial;
	size_t finish_count = trial->finish_ns ? replayer->finish_count : 0;
	uint64_t *finishes_ns = memory_new(JITTERS * finish_count, sizeof(*finishes_ns));
	bool differs = false, goes_on = false, ran_away = answer->ran_away;
	unsigned i;

	assert(trial->jitter == 0 && !trial->is_fair && !trial->shares_cpus);
	for (i = 1; i <= JITTERS && (i <= PROBES || goes_on); i++) {
		tries[i].number = other.jitter = i;
		if (finish_count)
			other.finish_ns = finishes_ns + (i - 1) * finish_count;
		replayer->run(replayer, &other, 1, scratch, &tries[i].answer);
		ran_away = ran_away || tries[i].answer.ran_away;
		tries[i].answer = seen_from_recorded(jitter, i, tries[i].answer);
		if (i <= PROBES)
			differs = differs || is_other_order(jitter, &tries[i], answer);
		goes_on = goes_on || differs || is_other_figure(jitter, &tries[i], answer);
	}
	*range = (struct jitter_range){ .ran_away = ran_away };
	set_figures(range, tries, i);
	if (differs) {
		qsort(tries, JITTERS + 1, sizeof(tries[0]), compare_jittered);
		const struct jittered *median = &tries[JITTERS / 2];

		range->shortest_ns = tries[0].answer.makespan_ns;
		range->longest_ns = tries[JITTERS].answer.makespan_ns;
		*answer = median->answer;
		if (finish_count && median->number)
			memcpy(trial->finish_ns, finishes_ns + (median->number - 1) * finish_count,
			       finish_count * sizeof(*finishes_ns));
	}
	free(finishes_ns);
	return differs;
}

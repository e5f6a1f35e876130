/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions one after the other, each by a few replays; asked.h has the contract.
 *
 * A saving is what a replay saves against the unchanged one under the same assumptions. The answer
 * is that of locks as glibc has them, the middle one of those that differ by chance. One thread.
 */
#include "asked.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "jitter.h"
#include "replay/simulate.h"
#include "variant.h"

/* Locks to whoever comes first, and CPUs with queues; locks to whoever has waited longest; CPUs
 * shared equally. */
static const struct trial ways[] = { { .count = 0 }, { .is_fair = true }, { .shares_cpus = true } };

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Whether the way is one to go, by the assumptions. */
static bool is_way(const struct trial *way)
{
	return (!way->is_fair || assume.fair_locks) && (!way->shares_cpus || assume.shared_cpus);
}

struct asking {
	const struct asked_of *of;
	double baseline_ns[WAYS];
	struct jitter jitter; /* of the first way */
	size_t way_count;     /* 1: there are no threads */
};

/* The middle one, if it depends on chance; `range` has the shortest and the longest. */
static struct replay_answer try(const struct asking *asking, const struct replayer *replayer,
				const struct hypothesis *hypothesis, size_t way,
				struct makespan_range *range)
{
	struct trial trial = ways[way];
	struct replay_answer answer;
	void *scratch = replayer->scratch_new(replayer);
	trial.scalings = hypothesis->scalings;
	trial.count = hypothesis->scaling_count;
	replayer->run(replayer, &trial, 1, scratch, &answer);
	*range = (struct makespan_range){ answer.makespan_ns, answer.makespan_ns };
	if (way == 0 && asking->way_count > 1)
		jitter_settle(&asking->jitter, replayer, &trial, scratch, &answer, range);
	replayer->scratch_free(scratch);
	return answer;
}

static void answer_widen(struct asked_answer *answer, double saved_ns)
{
	if (saved_ns < answer->saved_least_ns)
		answer->saved_least_ns = saved_ns;
	if (saved_ns > answer->saved_most_ns)
		answer->saved_most_ns = saved_ns;
}

/* In each way; returns the first one's saving. */
static double try_ways(const struct asking *asking, const struct replayer *replayer,
		       const struct hypothesis *hypothesis, struct asked_answer *answer)
{
	double first_ns = 0;
	for (size_t way = 0; way < asking->way_count; way++) {
		struct makespan_range range;
		if (!is_way(&ways[way]))
			continue;
		const struct replay_answer replayed =
			try(asking, replayer, hypothesis, way, &range);
		double saved_ns = asking->baseline_ns[way] - replayed.makespan_ns;
		if (way == 0)
			first_ns = saved_ns;
		if (replayed.forced_steps > answer->forced_steps)
			answer->forced_steps = replayed.forced_steps;
		answer_widen(answer, asking->baseline_ns[way] - range.longest_ns);
		answer_widen(answer, asking->baseline_ns[way] - range.shortest_ns);
	}
	return first_ns;
}

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static int answer_rebuilt(const struct asking *asking, const struct hypothesis *hypothesis,
			  struct asked_answer *answer, char error[OPTIONS_ERROR_BYTES])
{
	double saved_ns[VARIANT_DEALS];
	unsigned deals = hypothesis->split_count ? VARIANT_DEALS : 1;
	for (unsigned deal = 0; deal < deals; deal++) {
		struct variant variant;
		if (variant_build(&variant, asking->of->script, asking->of->classes, hypothesis,
				  deal, error) != 0)
			return -EINVAL;
		const struct replayer replayer = simulate_replayer(&variant.script);
		saved_ns[deal] = try_ways(asking, &replayer, hypothesis, answer);
		variant_free(&variant);
	}
	/* The last deal is no chance. */
	if (deals > 1)
		qsort(saved_ns, deals - 1, sizeof(saved_ns[0]), compare_doubles);
	answer->saved_ns = saved_ns[(deals - 1) / 2];
	return 0;
}

/* What several scalings save together is at most as sure as each of them. */
static void allow_for_chance(const struct asking *asking, const struct hypothesis *hypothesis,
			     struct asked_answer *answer)
{
	double variance = 0;
	for (size_t i = 0; asking->of->noise && i < hypothesis->scaling_count; i++) {
		double noise = asking->of->noise[hypothesis->scalings[i].class];
		variance += noise * noise;
	}
	double noise_ns = fabs(answer->saved_ns) * CONFIDENCE_WIDTH * sqrt(variance);
	answer->saved_least_ns -= noise_ns;
	answer->saved_most_ns += noise_ns;
}

static int answer(const struct asking *asking, const char *question, struct asked_answer *answer,
		  char error[OPTIONS_ERROR_BYTES])
{
	struct hypothesis hypothesis;
	if (hypothesis_parse(&hypothesis, question, asking->of->names, error) != 0)
		return -EINVAL;
	*answer = (struct asked_answer){ .text = question,
					 .saved_least_ns = asking->baseline_ns[0],
					 .saved_most_ns = -asking->baseline_ns[0] };
	if (!hypothesis_rebuilds(&hypothesis)) {
		answer->saved_ns = try_ways(asking, asking->of->replayer, &hypothesis, answer);
	} else if (!asking->of->script) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--what-if: \"%.60s\" needs a recording that names threads, and --model "
			 "threads; ask for CLASS*0.5",
			 question);
		return -EINVAL;
	} else if (answer_rebuilt(asking, &hypothesis, answer, error) != 0) {
		return -EINVAL;
	}
	allow_for_chance(asking, &hypothesis, answer);
	answer->makespan_ns = asking->baseline_ns[0] - answer->saved_ns;
	return 0;
}

static void baselines_find(struct asking *asking)
{
	const struct replayer *replayer = asking->of->replayer;
	struct replay_answer answers[WAYS];
	void *scratch = replayer->scratch_new(replayer);
	for (size_t way = 0; way < asking->way_count; way++) {
		replayer->run(replayer, &ways[way], 1, scratch, &answers[way]);
		asking->baseline_ns[way] = answers[way].makespan_ns;
	}
	if (asking->way_count > 1)
		jitter_begin(&asking->jitter, replayer, &answers[0], scratch);
	replayer->scratch_free(scratch);
}

int asked_build(struct asked *asked, const struct asked_of *of, const struct text_list *questions,
		char error[OPTIONS_ERROR_BYTES])
{
	struct asking asking = { .of = of, .way_count = of->script ? WAYS : 1 };
	*asked = (struct asked){ .answers = memory_new(questions->count, sizeof(*asked->answers)) };
	if (!questions->count)
		return 0;
	baselines_find(&asking);
	for (; asked->count < questions->count; asked->count++)
		if (answer(&asking, questions->texts[asked->count], &asked->answers[asked->count],
			   error) != 0)
			return -EINVAL;
	return 0;
}

void asked_free(struct asked *asked)
{
	free(asked->answers);
	*asked = (struct asked){ 0 };
}

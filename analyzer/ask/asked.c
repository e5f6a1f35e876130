/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions one after the other, each by an estimate; asked.h has the contract.
 *
 * A question that asks for another program is answered by a replay of a variant of the script. Of a
 * split lock there are several variants: the answer is the median of what they save, and holds for
 * all of them. One thread.
 */
#include "asked.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "replay/simulate.h"
#include "variant.h"

static const double ORDER_SHARE_MAX = 0.05; /* of the makespan */

static struct trial trial_of(const struct question *question)
{
	return (struct trial){ .scalings = question->scalings, .count = question->scaling_count };
}

static struct estimate estimate_scalings(const struct asked_of *of, const struct question *question)
{
	const struct trial trial = trial_of(question);
	return estimate_make(of->estimator, of->estimator->replayer, &trial, NULL,
			     estimator_scratch(of->estimator, 0));
}

/* Other clients ask in another order. If the script keeps the recorded one, loops wait for it, and
 * threads are let go by force. */
static int check_order(const struct asked_of *of, const struct replay_answer *answer,
		       char error[OPTIONS_ERROR_BYTES])
{
	bool is_kept = answer->order_ns > ORDER_SHARE_MAX * answer->makespan_ns ||
		       answer->forced_steps > of->estimator->baseline.forced_steps;

	if (is_kept)
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--what-if: \"clients\": threads that serve several do so in an order "
			 "that only the recording knows; record a run with as many");
	return is_kept ? -EINVAL : 0;
}

static int estimate_variant(const struct asked_of *of, const struct question *question,
			    unsigned deal, struct estimate *estimate,
			    char error[OPTIONS_ERROR_BYTES])
{
	struct trial trial = trial_of(question);
	struct replay_answer answer;
	struct variant variant;
	assert(of->script && question_rebuilds(question));
	if (variant_build(&variant, of->script, of->estimator->replayer->machine, of->classes,
			  question, deal, error) != 0)
		return -EINVAL;
	const struct replayer replayer = simulate_replayer(variant.script, &variant.machine);
	void *scratch = replayer.scratch_new(&replayer);
	trial.requests = memory_new(replayer.request_count, sizeof(*trial.requests));
	replayer.run(&replayer, &trial, 1, scratch, &answer);
	int failed = question->clients_times > 0 ? check_order(of, &answer, error) : 0;
	if (!failed)
		*estimate = estimate_make(of->estimator, &replayer, &trial, &answer, scratch);
	free(trial.requests);
	replayer.scratch_free(scratch);
	variant_free(&variant);
	return failed;
}

static int compare_savings(const void *left, const void *right)
{
	const struct estimate *a = left, *b = right;
	return (a->saved_ns > b->saved_ns) - (a->saved_ns < b->saved_ns);
}

/* The median of the deals by chance, which the last one is not, with the range of all. */
static struct estimate estimate_of_deals(struct estimate *deals, unsigned count)
{
	assert(count > 0);
	if (count > 1)
		qsort(deals, count - 1, sizeof(deals[0]), compare_savings);
	struct estimate estimate = deals[(count - 1) / 2];
	for (unsigned i = 0; i < count; i++) {
		assert(estimate_is_valid(&deals[i]));
		estimate.least_ns = fmin(estimate.least_ns, deals[i].least_ns);
		estimate.most_ns = fmax(estimate.most_ns, deals[i].most_ns);
		if (deals[i].forced_steps > estimate.forced_steps)
			estimate.forced_steps = deals[i].forced_steps;
		estimate.is_none = estimate.is_none || deals[i].is_none;
	}
	return estimate;
}

static int estimate_rebuilt(const struct asked_of *of, const struct question *question,
			    struct estimate *estimate, char error[OPTIONS_ERROR_BYTES])
{
	struct estimate deals[VARIANT_DEALS];
	unsigned count = question->split_count ? VARIANT_DEALS : 1;
	for (unsigned deal = 0; deal < count; deal++)
		if (estimate_variant(of, question, deal, &deals[deal], error) != 0)
			return -EINVAL;
	*estimate = estimate_of_deals(deals, count);
	return 0;
}

static int answer_find(const struct asked_of *of, const char *text, struct asked_answer *answer,
		       char error[OPTIONS_ERROR_BYTES])
{
	struct question question;
	*answer = (struct asked_answer){ .text = text, .class = NO_INDEX };
	if (question_parse(&question, text, of->subjects, error) != 0)
		return -EINVAL;
	question.wait_name = of->wait_name;
	if (of->estimator->baseline.ran_away) {
		answer->estimate.is_none = true;
	} else if (!question_rebuilds(&question)) {
		answer->estimate = estimate_scalings(of, &question);
	} else if (!of->script) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--what-if: \"%.60s\" needs a recording that names threads, and --model "
			 "threads; ask for CLASS*0.5",
			 text);
		return -EINVAL;
	} else if (estimate_rebuilt(of, &question, &answer->estimate, error) != 0) {
		return -EINVAL;
	}
	answer->is_about_cpus = question.cpus > 0;
	if (!question_rebuilds(&question) && question.scaling_count == 1)
		answer->class = question.scalings[0].class;
	answer->makespan_ns = of->estimator->baseline.makespan_ns - answer->estimate.saved_ns;
	return 0;
}

int asked_build(struct asked *asked, const struct asked_of *of, const struct text_list *questions,
		char error[OPTIONS_ERROR_BYTES])
{
	*asked = (struct asked){ .answers = memory_new(questions->count, sizeof(*asked->answers)) };
	if (!questions->count)
		return 0;
	estimator_afford(of->estimator, 1); /* each question may take as long as all of a table */
	for (; asked->count < questions->count; asked->count++)
		if (answer_find(of, questions->texts[asked->count], &asked->answers[asked->count],
				error) != 0)
			return -EINVAL;
	return 0;
}

void asked_free(struct asked *asked)
{
	free(asked->answers);
	*asked = (struct asked){ 0 };
}

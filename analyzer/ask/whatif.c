/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries every hypothesis; whatif.h has the contract.
 *
 * Workers take a batch of rows at a time. A row belongs to the worker that took it until all are
 * done.
 */
#include "whatif.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/workers.h"
#include "jitter.h"
#include "prospects.h"
#include "recording/recording.h"

enum {
	FIGURES = 5,                  /* arrays of a row, an element per factor */
	SETTLING_STEPS_MAX = 60000000 /* of all replays that settle answers, at most */
};

static const double ORDER_MATTERS = 0.02; /* of the makespan */

struct job {
	const struct replayer *replayer;
	const struct whatif_options *options;
	struct whatif *whatif;
	/* what is done of so many rows, those from the given one on */
	void (*do_rows)(const struct job *, size_t from, size_t count, void *scratch,
			struct replay_answer *answers);
	size_t row_count;            /* the first ones */
	const struct jitter *jitter; /* where answers are settled */
	uint32_t *same_as; /* by row: an earlier one with the same answers, NO_INDEX = none */
	size_t batch_rows; /* of a task */
	void *scratches[WORKERS_MAX];
};

/* Of a row at a factor. */
static struct trial trial_of(const struct job *job, const struct whatif_row *row, size_t f,
			     struct scaling *scaling)
{
	*scaling = (struct scaling){ row->class, job->options->factors[f] };
	return (struct trial){ .scalings = scaling,
			       .count = 1,
			       .finish_ns = row->finish_ns + f * job->whatif->finish_count };
}

static void row_answer(const struct whatif *whatif, struct whatif_row *row, size_t f,
		       const struct replay_answer *answer)
{
	row->saved_ns[f] = whatif->baseline.makespan_ns - answer->makespan_ns;
	row->least_ns[f] = row->most_ns[f] = row->saved_ns[f];
	row->p50_saved_ns[f] = whatif->baseline.p50_ns - answer->p50_ns;
	row->p99_saved_ns[f] = whatif->baseline.p99_ns - answer->p99_ns;
}

/* Rows [from, from + count). */
static void rows_fill(const struct job *job, size_t from, size_t count, void *scratch,
		      struct replay_answer *answers)
{
	size_t factor_count = job->options->factor_count;
	struct whatif_row *rows = job->whatif->rows + from;
	struct scaling *scalings = memory_new(count * factor_count, sizeof(*scalings));
	struct trial *trials = memory_new(count * factor_count, sizeof(*trials));
	for (size_t i = 0; i < count * factor_count; i++)
		trials[i] = trial_of(job, &rows[i / factor_count], i % factor_count, &scalings[i]);
	job->replayer->run(job->replayer, trials, count * factor_count, scratch, answers);
	for (size_t i = 0; i < count * factor_count; i++)
		row_answer(job->whatif, &rows[i / factor_count], i % factor_count, &answers[i]);
	free(scalings);
	free(trials);
}

/* What the row's answers say more surely than a single replay. */
static void row_settle(const struct job *job, size_t from, size_t count, void *scratch,
		       struct replay_answer *answers)
{
	struct whatif_row *row = &job->whatif->rows[from];
	double baseline_ns = job->whatif->baseline.makespan_ns;
	assert(count == 1);
	for (size_t f = 0; f < job->options->factor_count; f++) {
		struct scaling scaling;
		const struct trial trial = trial_of(job, row, f, &scaling);
		struct makespan_range range;
		answers[f].makespan_ns = baseline_ns - row->saved_ns[f];
		if (!jitter_settle(job->jitter, job->replayer, &trial, scratch, &answers[f],
				   &range))
			continue;
		row_answer(job->whatif, row, f, &answers[f]);
		row->least_ns[f] = baseline_ns - range.longest_ns;
		row->most_ns[f] = baseline_ns - range.shortest_ns;
		row->depends_on_order =
			row->depends_on_order ||
			row->most_ns[f] - row->least_ns[f] > ORDER_MATTERS * baseline_ns;
	}
}

/* The rows of one batch. */
static void job_work(void *context, size_t batch, size_t worker)
{
	struct job *job = context;
	size_t from = batch * job->batch_rows, left = job->row_count - from;
	size_t count = left < job->batch_rows ? left : job->batch_rows;
	if (job->same_as[from] != NO_INDEX)
		return;
	if (job->options->progress && worker == 0)
		job->options->progress("replaying", from, job->row_count);
	if (!job->scratches[worker])
		job->scratches[worker] = job->replayer->scratch_new(job->replayer);
	struct replay_answer *answers =
		memory_new(count * job->options->factor_count, sizeof(*answers));
	job->do_rows(job, from, count, job->scratches[worker], answers);
	free(answers);
}

/* Large enough to share what the replay has in the cache, small enough to leave no thread idle. */
static size_t batch_rows_for(const struct replayer *replayer, size_t row_count, size_t thread_count)
{
	size_t rows = row_count / (2 * thread_count + 1) + 1;
	size_t most = replayer->classes_at_once;
	return rows < most ? rows : most;
}

static void job_run(struct job *job)
{
	size_t wanted = job->options->thread_count, workers = workers_count(wanted, job->row_count);
	job->batch_rows = batch_rows_for(job->replayer, job->row_count, workers);
	workers_run(wanted, (job->row_count + job->batch_rows - 1) / job->batch_rows, job_work,
		    job);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (job->scratches[i])
			job->replayer->scratch_free(job->scratches[i]);
	memset(job->scratches, 0, sizeof(job->scratches));
}

/* Only where rows are tried one by one. */
static void job_find_same(struct job *job)
{
	const struct replayer *replayer = job->replayer;
	const struct whatif_row *rows = job->whatif->rows;
	size_t row_count = job->row_count;
	job->same_as = memory_new(row_count, sizeof(*job->same_as));
	for (uint32_t i = 0; i < row_count; i++) {
		job->same_as[i] = NO_INDEX;
		for (uint32_t k = 0; replayer->is_same && k < i; k++)
			if (job->same_as[k] == NO_INDEX &&
			    replayer->is_same(replayer, rows[k].class, rows[i].class)) {
				job->same_as[i] = k;
				break;
			}
	}
}

static void job_copy_same(struct job *job)
{
	struct whatif *whatif = job->whatif;
	size_t factor_count = job->options->factor_count;
	for (size_t i = 0; i < job->row_count; i++) {
		if (job->same_as[i] == NO_INDEX)
			continue;
		const struct whatif_row *row = &whatif->rows[job->same_as[i]];
		memcpy(whatif->rows[i].saved_ns, row->saved_ns,
		       FIGURES * factor_count * sizeof(*row->saved_ns));
		memcpy(whatif->rows[i].finish_ns, row->finish_ns,
		       factor_count * whatif->finish_count * sizeof(*row->finish_ns));
		whatif->rows[i].depends_on_order = row->depends_on_order;
	}
	free(job->same_as);
}

static uint64_t weight_of(const struct whatif_options *options, const struct selftime *selftime,
			  uint32_t hypothesis)
{
	return options->weight_ns ? options->weight_ns[hypothesis]
				  : selftime->classes[hypothesis].self.total_ns;
}

static void rows_give_room(struct whatif *whatif, size_t factor_count)
{
	size_t figures = whatif->row_count * factor_count;
	whatif->figures_ns = memory_new(figures * FIGURES, sizeof(*whatif->figures_ns));
	whatif->finishes_ns =
		memory_new(figures * whatif->finish_count, sizeof(*whatif->finishes_ns));
	for (size_t i = 0; i < whatif->row_count; i++) {
		struct whatif_row *row = &whatif->rows[i];
		row->saved_ns = whatif->figures_ns + i * FIGURES * factor_count;
		row->least_ns = row->saved_ns + factor_count;
		row->most_ns = row->least_ns + factor_count;
		row->p50_saved_ns = row->most_ns + factor_count;
		row->p99_saved_ns = row->p50_saved_ns + factor_count;
		row->finish_ns = whatif->finishes_ns + i * factor_count * whatif->finish_count;
		row->next_class = NO_INDEX;
	}
}

static void whatif_list_rows(struct whatif *whatif, const struct class_table *classes,
			     const struct selftime *selftime, const struct whatif_options *options)
{
	uint32_t count =
		options->hypothesis_count ? (uint32_t)options->hypothesis_count : classes->count;
	assert(count >= classes->count && (count == classes->count || options->weight_ns));
	whatif->rows = memory_new(count, sizeof(*whatif->rows));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t class = i < classes->count ? selftime->by_total[i] : i;
		if (weight_of(options, selftime, class) < options->min_self_ns)
			continue;
		if (!options->is_wanted || options->is_wanted[class])
			whatif->rows[whatif->row_count++].class = class;
	}
	rows_give_room(whatif, options->factor_count);
}

struct ranking {
	size_t factor; /* index of the smallest */
	uint32_t class_count;
	const struct selftime *selftime;
	const struct whatif_options *options;
};

/*
 * What a row is ranked by: what it saves, less what of it may be chance. A function that is known
 * from samples then comes after the lock or call that it fills and that was recorded exactly.
 */
static double sure_ns(const struct ranking *ranking, const struct whatif_row *row)
{
	double saved_ns = row->saved_ns[ranking->factor];
	bool is_function = row->class >= ranking->class_count;
	double noise =
		is_function && ranking->options->noise ? ranking->options->noise[row->class] : 0;
	return saved_ns - fabs(saved_ns) * noise;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct ranking *ranking = context;
	const struct whatif_row *left = a, *right = b;
	double left_ns = sure_ns(ranking, left), right_ns = sure_ns(ranking, right);
	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	uint64_t left_weight_ns = weight_of(ranking->options, ranking->selftime, left->class);
	uint64_t right_weight_ns = weight_of(ranking->options, ranking->selftime, right->class);
	if (left_weight_ns != right_weight_ns)
		return left_weight_ns < right_weight_ns ? 1 : -1;
	return (left->class > right->class) - (left->class < right->class);
}

/* The best ones, if that does not take too long. */
static size_t rows_to_settle(const struct job *job)
{
	size_t rows = job->row_count < PROSPECT_ROWS ? job->row_count : PROSPECT_ROWS;
	size_t steps = job->replayer->cost * JITTERS * job->options->factor_count;
	return job->replayer->classes_at_once == 1 && steps <= SETTLING_STEPS_MAX / (rows + 1)
		       ? rows
		       : 0;
}

static void rows_do(struct job *job, struct ranking *ranking)
{
	struct whatif *whatif = job->whatif;
	job_find_same(job);
	job_run(job);
	job_copy_same(job);
	qsort_r(whatif->rows, whatif->row_count, sizeof(*whatif->rows), compare_rows, ranking);
}

static void rows_settle(struct job *job, struct ranking *ranking)
{
	struct jitter jitter;
	void *scratch = job->replayer->scratch_new(job->replayer);
	jitter_begin(&jitter, job->replayer, &job->whatif->baseline, scratch);
	job->replayer->scratch_free(scratch);
	job->jitter = &jitter;
	job->do_rows = row_settle;
	rows_do(job, ranking);
}

void whatif_build(struct whatif *whatif, const struct replayer *replayer,
		  const struct class_table *classes, const struct selftime *selftime,
		  const struct whatif_options *options)
{
	assert(options->factor_count > 0);
	*whatif = (struct whatif){ 0 };
	whatif->finish_count = replayer->finish_count;
	whatif->baseline_finish_ns =
		memory_new(whatif->finish_count, sizeof(*whatif->baseline_finish_ns));
	const struct trial as_recorded = { .finish_ns = whatif->baseline_finish_ns };
	whatif->baseline = replayer_try(replayer, &as_recorded);
	whatif_list_rows(whatif, classes, selftime, options);
	struct ranking ranking = { .class_count = classes->count,
				   .selftime = selftime,
				   .options = options };
	for (size_t i = 1; i < options->factor_count; i++)
		if (options->factors[i] < options->factors[ranking.factor])
			ranking.factor = i;
	struct job job = { .replayer = replayer,
			   .options = options,
			   .whatif = whatif,
			   .do_rows = rows_fill,
			   .row_count = whatif->row_count };
	rows_do(&job, &ranking);
	job.row_count = rows_to_settle(&job);
	if (job.row_count)
		rows_settle(&job, &ranking);
	prospects_build(whatif, replayer, options, ranking.factor);
}

void whatif_free(struct whatif *whatif)
{
	free(whatif->rows);
	free(whatif->figures_ns);
	free(whatif->finishes_ns);
	free(whatif->baseline_finish_ns);
	*whatif = (struct whatif){ 0 };
}

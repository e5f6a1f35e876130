/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries every hypothesis; whatif.h has the contract.
 *
 * Every row is replayed once at each factor, but for those that take the same time as another.
 * Then answers of rows that were asked about are made sure, and those of the best rows. That may
 * change which rows are the best, so it goes on until the best ones are all sure. Workers take a
 * batch of rows at a time; a row belongs to the worker that took it until all are done.
 */
#include "whatif_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "prospects.h"
#include "recording/recording.h"

struct job {
	struct estimator *estimator;
	const struct whatif_options *options;
	const struct whatif *whatif;
	void (*do_rows)(const struct job *, struct whatif_row **rows, size_t count, void *scratch);
	struct whatif_row **rows;
	size_t row_count;
	size_t batch_rows; /* of a task */
};

/* Of a row at a factor. */
static struct trial trial_of(const struct job *job, const struct whatif_row *row, size_t f,
			     struct scaling *scaling)
{
	assert(f < job->options->factor_count);
	*scaling = (struct scaling){ row->class, job->options->factors[f] };
	return (struct trial){ .scalings = scaling,
			       .count = 1,
			       .finish_ns = row->finish_ns + f * job->whatif->finish_count };
}

/* All rows and factors at once, as that may cost less. */
static void rows_fill(const struct job *job, struct whatif_row **rows, size_t count, void *scratch)
{
	const struct replayer *replayer = job->estimator->replayer;
	size_t factor_count = job->options->factor_count, trial_count = count * factor_count;
	struct replay_answer *answers = memory_new(trial_count, sizeof(*answers));
	struct scaling *scalings = memory_new(trial_count, sizeof(*scalings));
	struct trial *trials = memory_new(trial_count, sizeof(*trials));
	for (size_t i = 0; i < trial_count; i++)
		trials[i] = trial_of(job, rows[i / factor_count], i % factor_count, &scalings[i]);
	replayer->run(replayer, trials, trial_count, scratch, answers);
	for (size_t i = 0; i < trial_count; i++) {
		struct whatif_row *row = rows[i / factor_count];
		row->answers[i % factor_count] = answers[i];
		row->estimates[i % factor_count] =
			estimate_first(job->estimator, &trials[i], &answers[i]);
	}
	free(trials);
	free(scalings);
	free(answers);
}

static void rows_make_sure(const struct job *job, struct whatif_row **rows, size_t count,
			   void *scratch)
{
	size_t factor_count = job->options->factor_count;
	for (size_t i = 0; i < count * factor_count; i++) {
		struct whatif_row *row = rows[i / factor_count];
		struct scaling scaling;
		if (row->is_none[i % factor_count])
			continue;
		const struct trial trial = trial_of(job, row, i % factor_count, &scaling);
		const struct estimate estimate =
			estimate_make(job->estimator, job->estimator->replayer, &trial,
				      &row->answers[i % factor_count], scratch);
		row->depends_on_order |= estimate.depends_on_order;
		row->depends_on_timeouts |= estimate.depends_on_timeouts;
		row->depends_on_jobs |= estimate.depends_on_jobs;
		row->depends_on_cpus |= estimate.depends_on_cpus;
		row->estimates[i % factor_count] = estimate;
	}
}

/* The rows of one batch. */
static void job_work(void *context, size_t batch, size_t worker)
{
	struct job *job = context;
	size_t from = batch * job->batch_rows, left = job->row_count - from;
	assert(from < job->row_count);
	if (job->options->progress && worker == 0)
		job->options->progress("replaying", from, job->row_count);
	job->do_rows(job, job->rows + from, left < job->batch_rows ? left : job->batch_rows,
		     estimator_scratch(job->estimator, worker));
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
	job->batch_rows = batch_rows_for(job->estimator->replayer, job->row_count, workers);
	workers_run(wanted, (job->row_count + job->batch_rows - 1) / job->batch_rows, job_work,
		    job);
}

const struct whatif_row *whatif_find(const struct whatif *whatif, uint32_t class)
{
	for (size_t i = 0; class != NO_INDEX && i < whatif->row_count; i++)
		if (whatif->rows[i].class == class)
			return &whatif->rows[i];
	return NULL;
}

double whatif_own_ns(const struct whatif *whatif, const struct whatif_row *row, size_t factor)
{
	const struct whatif_row *within = whatif_find(whatif, row->within);
	return row->estimates[factor].saved_ns -
	       (within ? fmax(within->estimates[factor].saved_ns, 0) : 0);
}

/*
 * A function is the same as a class or program, or as another function that alone it calls. Rows
 * are in order of time, so that of functions the one that is called comes last.
 */
static void rows_find_same(struct whatif *whatif, const struct whatif_options *options)
{
	struct whatif_row *rows = whatif->rows;
	for (size_t i = whatif->row_count; options->reach && i-- > 0;) {
		bool is_free = !reach_is_function(options->reach, rows[i].class) ||
			       (options->is_asked && options->is_asked[rows[i].class]);
		for (size_t k = 0; !is_free && k < whatif->row_count; k++) {
			bool is_known = !reach_is_function(options->reach, rows[k].class) ||
					(k > i && rows[k].same_as == NO_INDEX);
			if (!is_known ||
			    !reach_is_same(options->reach, rows[i].class, rows[k].class))
				continue;
			rows[i].same_as = rows[k].class;
			break;
		}
	}
}

static void rows_copy_same(struct whatif *whatif, size_t factor_count)
{
	for (size_t i = 0; i < whatif->row_count; i++) {
		struct whatif_row *row = &whatif->rows[i];
		const struct whatif_row *same = whatif_find(whatif, row->same_as);
		if (!same)
			continue;
		memcpy(row->estimates, same->estimates, factor_count * sizeof(*row->estimates));
		memcpy(row->answers, same->answers, factor_count * sizeof(*row->answers));
		memcpy(row->finish_ns, same->finish_ns,
		       factor_count * whatif->finish_count * sizeof(*row->finish_ns));
		row->depends_on_order = same->depends_on_order;
		row->depends_on_timeouts = same->depends_on_timeouts;
		row->depends_on_jobs = same->depends_on_jobs;
		row->depends_on_cpus = same->depends_on_cpus;
	}
}

static uint64_t weight_of(const struct whatif_options *options, const struct selftime *selftime,
			  uint32_t hypothesis)
{
	return options->weight_ns ? options->weight_ns[hypothesis]
				  : selftime->classes[hypothesis].self.total_ns;
}

static void rows_give_room(struct whatif *whatif, size_t factor_count)
{
	size_t estimates = whatif->row_count * factor_count;
	whatif->estimates = memory_new(estimates, sizeof(*whatif->estimates));
	whatif->answers = memory_new(estimates, sizeof(*whatif->answers));
	whatif->are_none = memory_new(estimates, sizeof(*whatif->are_none));
	whatif->finishes_ns =
		memory_new(estimates * whatif->finish_count, sizeof(*whatif->finishes_ns));
	for (size_t i = 0; i < whatif->row_count; i++) {
		struct whatif_row *row = &whatif->rows[i];
		row->estimates = whatif->estimates + i * factor_count;
		row->answers = whatif->answers + i * factor_count;
		row->is_none = whatif->are_none + i * factor_count;
		row->finish_ns = whatif->finishes_ns + i * factor_count * whatif->finish_count;
		row->next_class = row->same_as = row->within = NO_INDEX;
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
	whatif->tried_count = whatif->row_count;
	rows_give_room(whatif, options->factor_count);
	rows_find_same(whatif, options);
}

struct ranking {
	size_t factor; /* index of the smallest */
	uint32_t class_count;
	const double *sampling_error;
	const struct selftime *selftime;
	const struct whatif_options *options;
	const struct whatif *whatif;
};

/*
 * Rows are ranked by their saving, less its sampling error. A function that is known from samples
 * then comes after the lock or call that it fills, which was recorded exactly. Of rows with parts
 * counts what they save beyond the best one: whoever looks for the cause would go on to that.
 */
static double sure_ns(const struct ranking *ranking, const struct whatif_row *row)
{
	double saved_ns = whatif_own_ns(ranking->whatif, row, ranking->factor);
	bool is_function = row->class >= ranking->class_count;
	double error =
		is_function && ranking->sampling_error ? ranking->sampling_error[row->class] : 0;
	return saved_ns - fabs(saved_ns) * error;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct ranking *ranking = context;
	const struct whatif_row *left = a, *right = b;
	if (left->sure_ns != right->sure_ns)
		return left->sure_ns < right->sure_ns ? 1 : -1;
	uint64_t left_weight_ns = weight_of(ranking->options, ranking->selftime, left->class);
	uint64_t right_weight_ns = weight_of(ranking->options, ranking->selftime, right->class);
	if (left_weight_ns != right_weight_ns)
		return left_weight_ns < right_weight_ns ? 1 : -1;
	return (left->class > right->class) - (left->class < right->class);
}

static bool has_parts(const struct ranking *ranking, uint32_t class)
{
	return class >= ranking->class_count ||
	       (ranking->options->has_parts && ranking->options->has_parts[class]);
}

static void row_find_within(struct whatif *whatif, struct whatif_row *row,
			    const struct ranking *ranking)
{
	double most_ns = 0;
	row->within = NO_INDEX;
	for (size_t i = 0; i < whatif->row_count; i++) {
		const struct whatif_row *inner = &whatif->rows[i];
		double saved_ns = inner->estimates[ranking->factor].saved_ns;
		if (inner->same_as != NO_INDEX || saved_ns <= most_ns ||
		    !reach_contains(ranking->options->reach, row->class, inner->class))
			continue;
		most_ns = saved_ns;
		row->within = inner->class;
	}
}

static void whatif_rank(struct whatif *whatif, struct ranking *ranking)
{
	rows_copy_same(whatif, ranking->options->factor_count);
	for (size_t i = 0; ranking->options->reach && i < whatif->row_count; i++)
		if (has_parts(ranking, whatif->rows[i].class))
			row_find_within(whatif, &whatif->rows[i], ranking);
	for (size_t i = 0; i < whatif->row_count; i++)
		whatif->rows[i].sure_ns = sure_ns(ranking, &whatif->rows[i]);
	qsort_r(whatif->rows, whatif->row_count, sizeof(*whatif->rows), compare_rows, ranking);
}

static void whatif_fill(struct whatif *whatif, struct estimator *estimator,
			const struct whatif_options *options)
{
	struct job job = { .estimator = estimator,
			   .options = options,
			   .whatif = whatif,
			   .do_rows = rows_fill,
			   .rows = memory_new(whatif->row_count, sizeof(*job.rows)) };
	for (size_t i = 0; i < whatif->row_count; i++)
		if (whatif->rows[i].same_as == NO_INDEX)
			job.rows[job.row_count++] = &whatif->rows[i];
	job_run(&job);
	free(job.rows);
}

/* The rows that save most of a figure of requests. */
static void mark_best(const struct whatif *whatif, size_t factor, enum request_figure figure,
		      bool *is_best)
{
	bool *is_taken = memory_new(whatif->row_count, sizeof(*is_taken));
	for (size_t taken = 0; taken < WHATIF_BEST_REQUESTS; taken++) {
		size_t best = NO_INDEX;
		double most_ns = 0;
		for (size_t i = 0; i < whatif->row_count; i++) {
			const struct whatif_row *row = &whatif->rows[i];
			double saved_ns = row->estimates[factor].requests[figure].saved_ns;
			if (is_taken[i] || row->same_as != NO_INDEX || saved_ns <= most_ns)
				continue;
			most_ns = saved_ns;
			best = i;
		}
		if (best == NO_INDEX)
			break;
		is_taken[best] = is_best[best] = true;
	}
	free(is_taken);
}

/* By row: it was asked about, or it is one of the best. */
static bool *find_due(const struct whatif *whatif, const struct whatif_options *options,
		      size_t factor, bool asked_only)
{
	bool *is_due = memory_new(whatif->row_count, sizeof(*is_due));
	for (size_t i = 0, rank = 0; i < whatif->row_count; i++) {
		const struct whatif_row *row = &whatif->rows[i];
		if (row->same_as == NO_INDEX)
			is_due[i] = asked_only ? options->is_asked && options->is_asked[row->class]
					       : rank++ < WHATIF_BEST_ROWS;
	}
	if (!asked_only) {
		mark_best(whatif, factor, REQUEST_MEAN, is_due);
		mark_best(whatif, factor, REQUEST_P99, is_due);
	}
	return is_due;
}

/* The rows that were asked about, or the best ones; false: all of them are sure. */
static bool whatif_make_sure(struct whatif *whatif, struct estimator *estimator,
			     const struct whatif_options *options, size_t factor, bool asked_only)
{
	bool *is_due = find_due(whatif, options, factor, asked_only);
	struct job job = { .estimator = estimator,
			   .options = options,
			   .whatif = whatif,
			   .do_rows = rows_make_sure,
			   .rows = memory_new(whatif->row_count, sizeof(*job.rows)) };
	for (size_t i = 0; i < whatif->row_count; i++)
		if (is_due[i] && !whatif->rows[i].is_sure)
			job.rows[job.row_count++] = &whatif->rows[i];
	free(is_due);
	job_run(&job);
	for (size_t i = 0; i < job.row_count; i++)
		job.rows[i]->is_sure = true;
	free(job.rows);
	return job.row_count > 0;
}

void whatif_build(struct whatif *whatif, struct estimator *estimator,
		  const struct class_table *classes, const struct selftime *selftime,
		  const struct whatif_options *options)
{
	assert(options->factor_count > 0);
	*whatif = (struct whatif){ .recorded = estimator->recorded,
				   .baseline = estimator->baseline,
				   .finish_count = estimator->replayer->finish_count };
	whatif->baseline_finish_ns =
		memory_new(whatif->finish_count, sizeof(*whatif->baseline_finish_ns));
	memcpy(whatif->baseline_finish_ns, estimator->baseline_finish_ns,
	       whatif->finish_count * sizeof(*whatif->baseline_finish_ns));
	whatif_list_rows(whatif, classes, selftime, options);
	if (estimator->baseline.ran_away) /* nothing to compare with */
		whatif->row_count = 0;
	struct ranking ranking = { .class_count = classes->count,
				   .sampling_error = estimator->sampling_error,
				   .selftime = selftime,
				   .options = options,
				   .whatif = whatif };
	for (size_t i = 1; i < options->factor_count; i++)
		if (options->factors[i] < options->factors[ranking.factor])
			ranking.factor = i;
	whatif_fill(whatif, estimator, options);
	rows_copy_same(whatif, options->factor_count);
	whatif_complete(whatif, options);
	if (options->is_asked && estimator_afford(estimator, 1))
		whatif_make_sure(whatif, estimator, options, ranking.factor, true);
	whatif_rank(whatif, &ranking);
	size_t most = WHATIF_BEST_ROWS;
	if (estimator->replayer->request_count)
		most += 2 * (size_t)WHATIF_BEST_REQUESTS;
	size_t best = whatif->row_count < most ? whatif->row_count : most;
	if (estimator_afford(estimator, best * options->factor_count))
		while (whatif_make_sure(whatif, estimator, options, ranking.factor, false))
			whatif_rank(whatif, &ranking);
	whatif_complete(whatif, options);
	if (estimator->is_endless && !whatif->endless_count++) {
		whatif->endless_class = NO_INDEX;
		whatif->endless_place = estimator->endless_place;
	}
	prospects_build(whatif, estimator, options, ranking.factor);
}

void whatif_free(struct whatif *whatif)
{
	free(whatif->rows);
	free(whatif->estimates);
	free(whatif->answers);
	free(whatif->are_none);
	free(whatif->finishes_ns);
	free(whatif->baseline_finish_ns);
	*whatif = (struct whatif){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regresses lengths of stretches on what was unusual in them; sensitivity.h has the contract.
 *
 * Method. The recording is cut at every so many ends of a progress op: a class whose ops come all
 * through the run. In each stretch the self times of a class's ops, each less the class's median,
 * are summed. The length of stretches is fitted to these sums, and to the time that threads waited
 * for a CPU. All classes are fitted at once, so none is given what another one brings. The longest
 * stretches are left out, as there everything paused. Excess is used and not time, as the number of
 * ops of a ticker follows from the stretch's length.
 *
 * Threads may do different things by one class, as where a program sleeps in one function. Those
 * whose usual ops are of other lengths are fitted apart, and what they are worth is added up.
 *
 * Work under a lock has answers by its calls. Other time of a hold is a control.
 *
 * One progress op may be a bad one. So several are tried: the answer is the middle one, and its
 * error covers their spread.
 *
 * No class is worth more than the time in which some thread was in it. An answer is held to that.
 * It was wrong by at least as much as it was beyond, which its error covers, too.
 */
#include "sensitivity.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/percentile.h"
#include "base/regression.h"
#include "format.h"
#include "sensitivity_look.h"

enum { STRETCHES_MAX = 100 }; /* more have too few ops each */

static const double NS_A_MS = 1e6; /* numbers of one size make better sums */
static const double KEPT_STRETCHES = 0.97;

/* One way of cutting. */
struct cut {
	uint64_t *borders_ns;
	size_t stretches;
	double rest; /* all progress ops, as a multiple of those in stretches */
	double *x;   /* by stretch and regressor: classes, then the run queue */
	double *y;
	double own_ms[REGRESSORS_MAX]; /* that would be gone, of all stretches */
};

/* --- stretches --- */

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static void find_borders(struct cut *cut, const struct looked *looked, uint32_t class)
{
	const struct rec_op *ops = looked->of->recording->ops;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first;
	size_t wanted = count / OPS_LEAST < STRETCHES_MAX ? count / OPS_LEAST : STRETCHES_MAX;
	size_t each = wanted ? count / wanted : count;
	cut->borders_ns = memory_new(count, sizeof(*cut->borders_ns));
	for (uint32_t i = 0; i < count; i++)
		cut->borders_ns[i] = ops[looked->by_class[first + i]].end_ns;
	qsort(cut->borders_ns, count, sizeof(*cut->borders_ns), compare_times);
	cut->stretches = 0;
	for (size_t i = 0; i < count; i += each)
		cut->borders_ns[cut->stretches++] = cut->borders_ns[i];
	cut->stretches -= cut->stretches > 0;
	cut->rest = cut->stretches ? (double)count / (double)(cut->stretches * each) : 1;
}

/* The one in which that is; the first one for all before, as many as there are for all after. */
static size_t stretch_at(const struct cut *cut, uint64_t at_ns)
{
	size_t low = 0, high = cut->stretches;
	if (at_ns > cut->borders_ns[cut->stretches])
		return cut->stretches;
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;
		if (cut->borders_ns[middle] < at_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Of a sleep what it asked for: the rest is the kernel's. */
static uint64_t own_ns(const struct sensitivity_of *of, uint32_t op)
{
	uint64_t asked_ns = of->recording->extras[op].amount;
	bool has_asked = of->recording->ops[op].kind == KIND_SLEEP && asked_ns;
	return has_asked && asked_ns < of->self_ns[op] ? asked_ns : of->self_ns[op];
}

/* To each stretch as much of it as the op was in there. */
static void spread(struct cut *cut, const struct looked *looked, uint32_t op, size_t k,
		   size_t count)
{
	const struct sensitivity_of *of = looked->of;
	const struct rec_op *rec_op = &of->recording->ops[op];
	double length_ns = (double)(rec_op->end_ns - rec_op->start_ns);
	double excess_ms = ((double)of->self_ns[op] - (double)looked->parts[k].median_ns) / NS_A_MS;
	for (size_t i = stretch_at(cut, rec_op->start_ns); i < cut->stretches; i++) {
		uint64_t from_ns = cut->borders_ns[i], to_ns = cut->borders_ns[i + 1];
		from_ns = rec_op->start_ns > from_ns ? rec_op->start_ns : from_ns;
		to_ns = rec_op->end_ns < to_ns ? rec_op->end_ns : to_ns;
		if (to_ns < from_ns || (i > 0 && rec_op->end_ns <= cut->borders_ns[i]))
			break;
		double part = length_ns > 0 ? (double)(to_ns - from_ns) / length_ns : 1;
		cut->own_ms[k] += part * (double)own_ns(of, op) / NS_A_MS;
		cut->x[i * count + k] += part * excess_ms;
	}
}

static void add_excess(struct cut *cut, const struct looked *looked, size_t count)
{
	for (size_t k = 0; k < looked->part_count; k++)
		for (uint32_t i = looked->parts[k].first; i < looked->parts[k].end; i++)
			spread(cut, looked, looked->by_class[i], k, count);
}

/* Time in run queues, as far as it is known. */
static void add_run_delay(struct cut *cut, const struct recording *recording, size_t count)
{
	for (size_t i = 1; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		if (sample->thread != sample[-1].thread ||
		    sample->queued_ns <= sample[-1].queued_ns || !sample[-1].queued_ns)
			continue;
		size_t stretch = stretch_at(cut, sample->at_ns);
		if (stretch == cut->stretches || sample->at_ns <= cut->borders_ns[0])
			continue;
		cut->x[stretch * count + count - 1] +=
			(double)(sample->queued_ns - sample[-1].queued_ns) / NS_A_MS;
	}
}

/* Those in which everything paused go. */
static void leave_out_longest(struct cut *cut, size_t count)
{
	uint64_t *lengths_ns = memory_new(cut->stretches, sizeof(*lengths_ns));
	size_t kept = 0;
	for (size_t i = 0; i < cut->stretches; i++)
		lengths_ns[i] = cut->borders_ns[i + 1] - cut->borders_ns[i];
	uint64_t longest_ns = percentile_select(lengths_ns, cut->stretches,
						(size_t)(KEPT_STRETCHES * (double)cut->stretches));
	for (size_t i = 0; i < cut->stretches; i++) {
		uint64_t length_ns = cut->borders_ns[i + 1] - cut->borders_ns[i];
		if (length_ns > longest_ns)
			continue;
		cut->y[kept] = (double)length_ns / NS_A_MS;
		memmove(&cut->x[kept++ * count], &cut->x[i * count], count * sizeof(*cut->x));
	}
	cut->stretches = kept;
	free(lengths_ns);
}

/* Answers by this progress op; false: it cuts the recording into too few stretches. */
static bool answer(const struct looked *looked, uint32_t progress,
		   struct sensitivity_row rows[PARTS_MAX], size_t *stretches)
{
	struct cut cut = { .stretches = 0 };
	struct regression regression;
	size_t count = looked->part_count + 1;
	find_borders(&cut, looked, progress);
	*stretches = cut.stretches;
	cut.x = memory_new(cut.stretches * count, sizeof(*cut.x));
	cut.y = memory_new(cut.stretches, sizeof(*cut.y));
	bool is_enough = cut.stretches >= STRETCHES_LEAST;
	if (is_enough) {
		add_excess(&cut, looked, count);
		add_run_delay(&cut, looked->of->recording, count);
		leave_out_longest(&cut, count);
		regression_fit(&regression, cut.x, cut.y, cut.stretches, count);
	}
	for (size_t k = 0; is_enough && k < looked->part_count; k++) {
		double own_ns = cut.own_ms[k] * cut.rest * NS_A_MS;
		rows[k] = (struct sensitivity_row){ looked->parts[k].class,
						    regression.slope[k] * own_ns,
						    regression.error[k] * own_ns };
	}
	free(cut.borders_ns);
	free(cut.x);
	free(cut.y);
	return is_enough;
}

static int compare_rows(const void *left, const void *right)
{
	const struct sensitivity_row *a = left, *b = right;
	return (a->saved_ns > b->saved_ns) - (a->saved_ns < b->saved_ns);
}

/* The middle one of a class's answers. */
static struct sensitivity_row middle_of(struct sensitivity_row (*answers)[PARTS_MAX], size_t count,
					size_t class)
{
	struct sensitivity_row all[PROGRESS_MAX];
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		if (isfinite(answers[i][class].error_ns))
			all[known++] = answers[i][class];
	if (!known)
		return (struct sensitivity_row){ answers[0][class].class, 0, INFINITY };
	qsort(all, known, sizeof(*all), compare_rows);
	struct sensitivity_row row = all[known / 2];
	row.error_ns = fmax(row.error_ns, (all[known - 1].saved_ns - all[0].saved_ns) / 2);
	return row;
}

static int compare_starts(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	const uint32_t *a = left, *b = right;
	return (ops[*a].start_ns > ops[*b].start_ns) - (ops[*a].start_ns < ops[*b].start_ns);
}

/* In which some thread was in an op of the class. */
static uint64_t busy_ns(const struct looked *looked, uint32_t class)
{
	const struct rec_op *ops = looked->of->recording->ops;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first;
	uint64_t sum_ns = 0, until_ns = 0;
	qsort_r(looked->by_class + first, count, sizeof(*looked->by_class), compare_starts,
		looked->of->recording->ops);
	for (uint32_t i = first; i < first + count; i++) {
		const struct rec_op *op = &ops[looked->by_class[i]];
		uint64_t from_ns = op->start_ns > until_ns ? op->start_ns : until_ns;
		sum_ns += op->end_ns > from_ns ? op->end_ns - from_ns : 0;
		until_ns = op->end_ns > until_ns ? op->end_ns : until_ns;
	}
	return sum_ns;
}

/* Of all its parts; they begin with `part`, and one that was not looked at has no answer. */
static struct sensitivity_row answer_to(const struct looked *looked,
					struct sensitivity_row (*answers)[PARTS_MAX], size_t count,
					size_t part)
{
	uint32_t class = looked->parts[part].class, parts = 0;
	struct sensitivity_row sum = { class, 0, 0 };
	double variance = 0;
	for (size_t k = part; k < looked->part_count; k++) {
		if (looked->parts[k].class != class)
			continue;
		struct sensitivity_row row = middle_of(answers, count, k);
		sum.saved_ns += row.saved_ns;
		variance += row.error_ns * row.error_ns;
		parts++;
	}
	bool is_whole = parts == looked->parts[part].part_count;
	double beyond_ns = fmax(sum.saved_ns - (double)busy_ns(looked, class), 0);
	sum.saved_ns -= beyond_ns;
	sum.error_ns = is_whole ? sqrt(variance + beyond_ns * beyond_ns) : INFINITY;
	return sum;
}

static bool is_answered(const struct looked *looked, size_t part)
{
	size_t i = 0;
	while (looked->parts[i].class != looked->parts[part].class)
		i++;
	return i < part;
}

void sensitivity_build(struct sensitivity *sensitivity, const struct sensitivity_of *of)
{
	struct looked looked;
	struct sensitivity_row answers[PROGRESS_MAX][PARTS_MAX];
	size_t count = 0, stretches;
	*sensitivity = (struct sensitivity){ .progress = NO_INDEX };
	if (!of->recording->extras)
		return;
	sensitivity_look(&looked, of);
	for (size_t i = 0; i < looked.progress_count; i++) {
		if (!answer(&looked, looked.progress[i].class, answers[count], &stretches))
			continue;
		if (!count) {
			sensitivity->progress = looked.progress[i].class;
			sensitivity->stretches = stretches;
		}
		count++;
	}
	sensitivity->rows = memory_new(looked.part_count, sizeof(*sensitivity->rows));
	for (size_t k = 0; count && k < looked.part_count; k++)
		if (of->classes->classes[looked.parts[k].class].kind != KIND_HOLD &&
		    !is_answered(&looked, k))
			sensitivity->rows[sensitivity->count++] =
				answer_to(&looked, answers, count, k);
	sensitivity_looked_free(&looked);
}

void sensitivity_free(struct sensitivity *sensitivity)
{
	free(sensitivity->rows);
	*sensitivity = (struct sensitivity){ .progress = NO_INDEX };
}

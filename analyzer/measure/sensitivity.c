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
 * Work under a lock has answers by its calls. Other time of a hold is a control.
 *
 * One progress op may be a bad one. So several are tried: the answer is the middle one, and its
 * error covers their spread.
 *
 * No class is worth more than the time in which some thread was in it. An answer is held to that:
 * the long ones of its ops may matter more than others, as the last one of a round does.
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

enum {
	PROGRESS_MAX = 3,    /* progress ops that are tried */
	STRETCHES_MAX = 100, /* more have too few ops each */
	STRETCHES_LEAST = 30,
	OPS_LEAST = 3, /* a stretch has of its progress op */
	CLASSES_MAX = REGRESSORS_MAX - 1
};

static const double NS_A_MS = 1e6; /* numbers of one size make better sums */
static const double KEPT_STRETCHES = 0.97;
static const double WORTH_LOOKING = 0.01; /* self time, of the makespan */

struct candidate {
	uint32_t class;
	double weight; /* progress: ops, times the part of the run over which they come */
	uint64_t self_ns;
	uint64_t median_ns;
};

struct looked {
	const struct sensitivity_of *of;
	struct candidate classes[CLASSES_MAX]; /* to be answered for */
	size_t class_count;
	uint32_t *index_of; /* by class: in `classes`, NO_INDEX = none of them */
	uint32_t *by_class; /* ops, class by class */
	uint32_t *first;    /* by class: of its ops there; and one more */
	struct candidate progress[PROGRESS_MAX];
	size_t progress_count;
};

/* One way of cutting. */
struct cut {
	uint64_t *borders_ns;
	size_t stretches;
	double rest; /* all progress ops, as a multiple of those in stretches */
	double *x;   /* by stretch and regressor: classes, then the run queue */
	double *y;
	double own_ms[REGRESSORS_MAX]; /* that would be gone, of all stretches */
};

/* --- what is looked at --- */

static bool is_work(const struct sensitivity_of *of, uint32_t op)
{
	uint16_t kind = of->recording->ops[op].kind;
	if (of->is_left_out[op] || of->recording->extras[op].open)
		return false;
	return kind == KIND_IO || kind == KIND_SLEEP || kind == KIND_DNS || kind == KIND_HOLD;
}

static void sort_by_class(struct looked *looked)
{
	const struct sensitivity_of *of = looked->of;
	size_t count = of->recording->op_count;
	looked->first = memory_new((size_t)of->classes->count + 2, sizeof(*looked->first));
	looked->by_class = memory_new(count, sizeof(*looked->by_class));
	for (uint32_t i = 0; i < count; i++)
		looked->first[of->classes->of_op[i] + 2] += is_work(of, i);
	for (uint32_t i = 0; i < of->classes->count; i++)
		looked->first[i + 2] += looked->first[i + 1];
	for (uint32_t i = 0; i < count; i++)
		if (is_work(of, i))
			looked->by_class[looked->first[of->classes->of_op[i] + 1]++] = i;
}

/* Puts it among the `most` heaviest. */
static size_t insert(struct candidate *list, size_t count, size_t most, struct candidate candidate)
{
	size_t at = count;
	while (at > 0 && list[at - 1].weight < candidate.weight)
		at--;
	if (at >= most)
		return count;
	count += count < most;
	for (size_t i = count - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = candidate;
	return count;
}

/* Its ops come over so much of the run, but for the first and the last tenth. */
static double coverage_ns(const struct looked *looked, uint32_t class, uint64_t *ends_ns)
{
	const struct rec_op *ops = looked->of->recording->ops;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first;
	for (uint32_t i = 0; i < count; i++)
		ends_ns[i] = ops[looked->by_class[first + i]].end_ns;
	uint64_t early_ns = percentile_select(ends_ns, count, count / 10);
	return (double)(percentile_select(ends_ns, count, count - 1 - count / 10) - early_ns);
}

static void look_at(struct looked *looked, uint32_t class, uint64_t *room)
{
	const struct sensitivity_of *of = looked->of;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first;
	struct candidate candidate = { .class = class };
	if (count < STRETCHES_LEAST)
		return;
	for (uint32_t i = 0; i < count; i++) {
		room[i] = of->self_ns[looked->by_class[first + i]];
		candidate.self_ns += room[i];
	}
	candidate.median_ns = percentile_select(room, count, count / 2);
	for (uint32_t i = 0; i < count; i++)
		candidate.weight += fabs((double)room[i] - (double)candidate.median_ns);
	if ((double)candidate.self_ns > WORTH_LOOKING * (double)of->makespan_ns)
		looked->class_count =
			insert(looked->classes, looked->class_count, CLASSES_MAX, candidate);
	if (of->classes->classes[class].kind == KIND_SLEEP || count < OPS_LEAST * STRETCHES_LEAST)
		return;
	candidate.weight = (double)count * coverage_ns(looked, class, room);
	looked->progress_count =
		insert(looked->progress, looked->progress_count, PROGRESS_MAX, candidate);
}

static void look(struct looked *looked, const struct sensitivity_of *of)
{
	uint64_t *room = memory_new(of->recording->op_count, sizeof(*room));
	*looked = (struct looked){ .of = of };
	looked->index_of = memory_new(of->classes->count, sizeof(*looked->index_of));
	sort_by_class(looked);
	for (uint32_t i = 0; i < of->classes->count; i++) {
		looked->index_of[i] = NO_INDEX;
		look_at(looked, i, room);
	}
	for (uint32_t i = 0; i < looked->class_count; i++)
		looked->index_of[looked->classes[i].class] = i;
	free(room);
}

static void looked_free(struct looked *looked)
{
	free(looked->index_of);
	free(looked->by_class);
	free(looked->first);
}

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
	double excess_ms =
		((double)of->self_ns[op] - (double)looked->classes[k].median_ns) / NS_A_MS;
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
	for (size_t k = 0; k < looked->class_count; k++) {
		uint32_t class = looked->classes[k].class;
		for (uint32_t i = looked->first[class]; i < looked->first[class + 1]; i++)
			spread(cut, looked, looked->by_class[i], k, count);
	}
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
		   struct sensitivity_row rows[CLASSES_MAX], size_t *stretches)
{
	struct cut cut = { .stretches = 0 };
	struct regression regression;
	size_t count = looked->class_count + 1;
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
	for (size_t k = 0; is_enough && k < looked->class_count; k++) {
		double own_ns = cut.own_ms[k] * cut.rest * NS_A_MS;
		rows[k] = (struct sensitivity_row){ looked->classes[k].class,
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
static struct sensitivity_row middle_of(struct sensitivity_row (*answers)[CLASSES_MAX],
					size_t count, size_t class)
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

static struct sensitivity_row answer_to(const struct looked *looked,
					struct sensitivity_row (*answers)[CLASSES_MAX],
					size_t count, size_t class)
{
	struct sensitivity_row row = middle_of(answers, count, class);
	row.saved_ns = fmin(row.saved_ns, (double)busy_ns(looked, row.class));
	return row;
}

void sensitivity_build(struct sensitivity *sensitivity, const struct sensitivity_of *of)
{
	struct looked looked;
	struct sensitivity_row answers[PROGRESS_MAX][CLASSES_MAX];
	size_t count = 0, stretches;
	*sensitivity = (struct sensitivity){ .progress = NO_INDEX };
	if (!of->recording->extras)
		return;
	look(&looked, of);
	for (size_t i = 0; i < looked.progress_count; i++) {
		if (!answer(&looked, looked.progress[i].class, answers[count], &stretches))
			continue;
		if (!count) {
			sensitivity->progress = looked.progress[i].class;
			sensitivity->stretches = stretches;
		}
		count++;
	}
	sensitivity->rows = memory_new(looked.class_count, sizeof(*sensitivity->rows));
	for (size_t k = 0; count && k < looked.class_count; k++)
		if (of->classes->classes[looked.classes[k].class].kind != KIND_HOLD)
			sensitivity->rows[sensitivity->count++] =
				answer_to(&looked, answers, count, k);
	looked_free(&looked);
}

void sensitivity_free(struct sensitivity *sensitivity)
{
	free(sensitivity->rows);
	*sensitivity = (struct sensitivity){ .progress = NO_INDEX };
}

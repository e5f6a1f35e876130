/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the classes that vary enough to be answered for; sensitivity_look.h has the contract.
 *
 * Threads of one class are one part if their usual ops are about as long. One with few ops counts
 * as all do. Sleeps for which a program asks by several lengths are parts, too. How many of each
 * are in a stretch is a matter of its borders.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/percentile.h"
#include "format.h"
#include "sensitivity_look.h"

static const double WORTH_LOOKING = 0.01; /* self time, of the makespan */
static const double OTHER_LENGTH = 1.25;  /* times as long: that is something else */

enum { ASKED_MAX = 4 }; /* lengths that sleeps of one class are asked for */

/* By length, up to these. */
struct asked {
	const struct recording *recording;
	uint64_t most_ns[ASKED_MAX];
	size_t count;
};

/* Ops of a class by one thread, or several. */
struct group {
	uint32_t first, end; /* in the list of all */
	uint64_t median_ns;
};

struct looking {
	struct looked *looked;
	uint64_t *room; /* for a number of each op, and */
	uint32_t *op_room;
	struct group *groups; /* one of each thread and length asked for */
};

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
static double coverage_ns(const struct looking *looking, uint32_t class)
{
	const struct looked *looked = looking->looked;
	const struct rec_op *ops = looked->of->recording->ops;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first;
	for (uint32_t i = 0; i < count; i++)
		looking->room[i] = ops[looked->by_class[first + i]].end_ns;
	uint64_t early_ns = percentile_select(looking->room, count, count / 10);
	return (double)(percentile_select(looking->room, count, count - 1 - count / 10) - early_ns);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Lengths that are far apart, each of which was asked for often. All are one if there are more, or
 * some that were not. */
static void asked_find(struct asked *asked, const struct looking *looking, uint32_t class)
{
	const struct looked *looked = looking->looked;
	const struct recording *recording = looked->of->recording;
	uint32_t first = looked->first[class], count = looked->first[class + 1] - first, from = 0;
	*asked = (struct asked){ .recording = recording, .most_ns = { UINT64_MAX }, .count = 1 };
	if (looked->of->classes->classes[class].kind != KIND_SLEEP)
		return;
	for (uint32_t i = 0; i < count; i++)
		looking->room[i] = recording->extras[looked->by_class[first + i]].amount;
	qsort(looking->room, count, sizeof(*looking->room), compare_numbers);
	size_t found = 0;
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count &&
		    (double)looking->room[i] <= OTHER_LENGTH * (double)looking->room[i - 1])
			continue;
		if (found == ASKED_MAX || i - from < STRETCHES_LEAST)
			return;
		asked->most_ns[found++] = i < count ? looking->room[i - 1] : UINT64_MAX;
		from = i;
	}
	asked->count = found;
}

static size_t asked_of(const struct asked *asked, uint32_t op)
{
	size_t at = 0;
	while (at + 1 < asked->count && asked->recording->extras[op].amount > asked->most_ns[at])
		at++;
	return at;
}

static int compare_threads(const void *left, const void *right, void *context)
{
	const struct asked *asked = context;
	const uint32_t *a = left, *b = right;
	const struct rec_op *ops = asked->recording->ops;
	size_t one = asked_of(asked, *a), other = asked_of(asked, *b);
	if (one != other)
		return one < other ? -1 : 1;
	return (ops[*a].thread > ops[*b].thread) - (ops[*a].thread < ops[*b].thread);
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	if (a->median_ns != b->median_ns)
		return a->median_ns < b->median_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Of the ops from `first` up to `end` in the list. */
static struct candidate part_of(const struct looking *looking, uint32_t class, uint32_t first,
				uint32_t end)
{
	const struct looked *looked = looking->looked;
	uint32_t count = end - first;
	struct candidate part = { .class = class, .first = first, .end = end };
	for (uint32_t i = 0; i < count; i++) {
		looking->room[i] = looked->of->self_ns[looked->by_class[first + i]];
		part.self_ns += looking->room[i];
	}
	part.median_ns = percentile_select(looking->room, count, count / 2);
	for (uint32_t i = 0; i < count; i++)
		part.weight += fabs((double)looking->room[i] - (double)part.median_ns);
	return part;
}

/* Of each thread those up to `end` in the list, which were asked for alike. */
static size_t groups_add(const struct looking *looking, uint32_t class, uint32_t first,
			 uint32_t end, size_t count)
{
	const struct looked *looked = looking->looked;
	const struct rec_op *ops = looked->of->recording->ops;
	const uint32_t *list = looked->by_class;
	uint64_t median_ns = part_of(looking, class, first, end).median_ns;
	for (uint32_t i = first, next; i < end; i = next) {
		for (next = i + 1; next < end && ops[list[next]].thread == ops[list[i]].thread;)
			next++;
		bool is_enough = next - i >= STRETCHES_LEAST;
		looking->groups[count++] = (struct group){
			i, next, is_enough ? part_of(looking, class, i, next).median_ns : median_ns
		};
	}
	return count;
}

/* By the usual length of an op, which threads with few ops have from all. The list of ops is put in
 * that order. Returns the number of groups. */
static size_t group_threads(const struct looking *looking, uint32_t class)
{
	const struct looked *looked = looking->looked;
	uint32_t first = looked->first[class], end = looked->first[class + 1], to = first;
	uint32_t *list = looked->by_class;
	size_t count = 0;
	struct asked asked;
	asked_find(&asked, looking, class);
	qsort_r(list + first, end - first, sizeof(*list), compare_threads, &asked);
	for (uint32_t i = first, next; i < end; i = next) {
		for (next = i + 1;
		     next < end && asked_of(&asked, list[next]) == asked_of(&asked, list[i]);)
			next++;
		count = groups_add(looking, class, i, next, count);
	}
	memcpy(looking->op_room, list + first, (end - first) * sizeof(*list));
	qsort(looking->groups, count, sizeof(*looking->groups), compare_groups);
	for (size_t g = 0; g < count; g++) {
		struct group *group = &looking->groups[g];
		uint32_t size = group->end - group->first;
		memcpy(list + to, looking->op_room + (group->first - first), size * sizeof(*list));
		group->first = to;
		group->end = to += size;
	}
	return count;
}

static bool is_other(const struct group *group, const struct group *before)
{
	return (double)group->median_ns > OTHER_LENGTH * (double)before->median_ns;
}

/* Those that are worth it, of one class. */
static size_t parts_find(const struct looking *looking, uint32_t class, struct candidate *parts,
			 size_t most)
{
	const struct looked *looked = looking->looked;
	size_t groups = group_threads(looking, class), count = 0;
	double least_ns = WORTH_LOOKING * (double)looked->of->makespan_ns;
	for (size_t g = 0, next; g < groups; g = next) {
		for (next = g + 1; next < groups &&
				   !is_other(&looking->groups[next], &looking->groups[next - 1]);)
			next++;
		struct candidate part = part_of(looking, class, looking->groups[g].first,
						looking->groups[next - 1].end);
		if ((double)part.self_ns > least_ns && count < most)
			parts[count++] = part;
	}
	for (size_t i = 0; i < count; i++)
		parts[i].part_count = (uint32_t)count;
	return count;
}

static void look_at(const struct looking *looking, uint32_t class)
{
	struct looked *looked = looking->looked;
	struct candidate parts[PARTS_MAX];
	uint32_t count = looked->first[class + 1] - looked->first[class];
	if (count < STRETCHES_LEAST)
		return;
	size_t part_count = parts_find(looking, class, parts, PARTS_MAX);
	for (size_t i = 0; i < part_count; i++)
		looked->part_count = insert(looked->parts, looked->part_count, PARTS_MAX, parts[i]);
	if (looked->of->classes->classes[class].kind == KIND_SLEEP ||
	    count < OPS_LEAST * STRETCHES_LEAST)
		return;
	struct candidate progress = { .class = class };
	progress.weight = (double)count * coverage_ns(looking, class);
	looked->progress_count =
		insert(looked->progress, looked->progress_count, PROGRESS_MAX, progress);
}

void sensitivity_look(struct looked *looked, const struct sensitivity_of *of)
{
	const struct looking looking = {
		.looked = looked,
		.room = memory_new(of->recording->op_count, sizeof(*looking.room)),
		.op_room = memory_new(of->recording->op_count, sizeof(*looking.op_room)),
		.groups = memory_new(ASKED_MAX * (of->recording->thread_count + 1),
				     sizeof(*looking.groups)),
	};
	*looked = (struct looked){ .of = of };
	sort_by_class(looked);
	for (uint32_t i = 0; i < of->classes->count; i++)
		look_at(&looking, i);
	free(looking.groups);
	free(looking.op_room);
	free(looking.room);
}

void sensitivity_looked_free(struct looked *looked)
{
	free(looked->by_class);
	free(looked->first);
}

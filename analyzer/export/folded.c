/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks; folded.h has the contract.
 *
 * A line is a sum of slices of the same thread name, functions and last frame (stacksums.h).
 */
#include "folded.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/choice.h"
#include "exporters.h"
#include "format.h"
#include "measure/functions.h"
#include "stacksums.h"

static const struct choice words[] = {
	{ "wait", FOLDED_WAIT },
	{ "cpu", FOLDED_CPU },
	{ "wall", FOLDED_WALL },
	{ "lock", FOLDED_LOCK },
};

bool folded_parse(const char *word, enum folded_of *of)
{
	int value;

	if (!choice_find(words, sizeof(words) / sizeof(words[0]), word, &value))
		return false;
	*of = (enum folded_of)value;
	return true;
}

static bool is_lock(uint32_t reason)
{
	return reason == REASON_LOCK || reason == REASON_MUTEX || reason == REASON_RWLOCK_READ ||
	       reason == REASON_RWLOCK_WRITE;
}

static bool is_of(enum folded_of of, const struct stack_sum *sum)
{
	bool is_blocked = sum->state == WALK_BLOCKED || sum->state == WALK_IDLE;
	switch (of) {
	case FOLDED_WAIT:
		return is_blocked;
	case FOLDED_CPU:
		return sum->state == WALK_RUNNING;
	case FOLDED_WALL:
		return true;
	case FOLDED_LOCK:
		return is_blocked && is_lock(sum->cause);
	}
	return false;
}

void folded_put_text(FILE *file, const char *text)
{
	for (; *text; text++)
		fputc(*text == ';' ? ',' : (unsigned char)*text < ' ' ? '?' : *text, file);
}

static void put_stack(FILE *file, const struct walk *walk, const struct stack_sum *sum)
{
	const char *thread = walk->recording->strings[sum->thread_name];
	uint32_t functions[FUNCTION_STACK_MAX];
	folded_put_text(file, *thread ? thread : "?");
	for (size_t i = walk_stack(walk, sum->stack, functions, FUNCTION_STACK_MAX); i-- > 0;) {
		fputc(';', file);
		folded_put_text(file, walk->recording->strings[functions[i]]);
	}
	char *leaf =
		stack_leaf(walk, stack_leaf_number(sum->state, sum->cause), sum->name, sum->stack);
	if (leaf) {
		fputc(';', file);
		folded_put_text(file, leaf);
	}
	free(leaf);
}

static void put_line(FILE *file, const struct walk *walk, const struct stack_sum *sum)
{
	uint64_t us = (sum->ns + 500) / 1000;
	if (us == 0)
		return;
	put_stack(file, walk, sum);
	fprintf(file, " %" PRIu64 "\n", us);
}

static void folded_write(FILE *file, enum folded_of of, struct walk *walk)
{
	struct stack_sums sums;
	stack_sums_build(&sums, walk, NULL);
	for (size_t i = 0; i < sums.count; i++)
		if (is_of(of, &sums.sums[i]))
			put_line(file, walk, &sums.sums[i]);
	stack_sums_free(&sums);
}

static uint64_t per_span(uint64_t ns, size_t count)
{
	return count ? (ns + count / 2) / count : 0;
}

void folded_print_tail(FILE *file, enum folded_of of, struct walk *walk,
		       const struct slow_spans *spans)
{
	struct stack_sums sums;
	stack_sums_build(&sums, walk, spans);
	for (size_t i = 0; i < sums.count; i++) {
		const struct slow_time *inside = &sums.sums[i].inside;
		uint64_t usual_ns = per_span(inside->other_ns, spans->count - spans->slow_count);
		uint64_t slow_ns = per_span(inside->slow_ns, spans->slow_count);
		if (!is_of(of, &sums.sums[i]) || !(usual_ns || slow_ns))
			continue;
		put_stack(file, walk, &sums.sums[i]);
		fprintf(file, " %" PRIu64 " %" PRIu64 "\n", usual_ns, slow_ns);
	}
	stack_sums_free(&sums);
}

void folded_print(FILE *file, enum folded_of of, const struct recording *recording,
		  const struct labels *labels)
{
	struct class_table classes;
	struct walk walk;
	class_table_build(&classes, recording, labels->classes);
	enum arrival_sort *arrivals = arrivals_find(recording, &classes);
	walk_begin_plain(&walk, recording, labels);
	walk.classes = &classes;
	walk.arrivals = arrivals;
	folded_write(file, of, &walk);
	walk_end(&walk);
	free(arrivals);
	class_table_free(&classes);
}

void export_folded(struct export *export)
{
	struct walk walk;
	walk_begin(&walk, export->analysis);
	folded_write(export_file(export), FOLDED_WALL, &walk);
	walk_end(&walk);
}

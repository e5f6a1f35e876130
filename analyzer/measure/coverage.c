/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a recording could not see: children, calls past the hooks, unexplained time.
 *
 * A child is known by its link "PID:START", which its own recording has as its client. After an
 * exec the new program's recording has the same client. A child that ends without a single recorded
 * call leaves nothing either.
 */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/words.h"

static int compare_names(const void *a, const void *b)
{
	const struct coverage_count *one = a, *other = b;
	return (one->name > other->name) - (one->name < other->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct coverage_count *one = a, *other = b;
	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return compare_names(a, b);
}

/* One entry per name, most first; the new number of entries. */
static size_t add_up(struct coverage_count *counts, size_t count)
{
	size_t kept = 0;
	if (count == 0)
		return 0;
	qsort(counts, count, sizeof(*counts), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && counts[kept - 1].name == counts[i].name)
			counts[kept - 1].count += counts[i].count;
		else
			counts[kept++] = counts[i];
	}
	qsort(counts, kept, sizeof(*counts), compare_counts);
	return kept;
}

static void count_children(struct coverage *coverage, const struct recording *recording,
			   const struct class_table *classes)
{
	bool *is_recorded = memory_new(recording->string_count, sizeof(*is_recorded));
	size_t room = 0;
	for (size_t i = 0; i < recording->process_count; i++)
		is_recorded[recording->processes[i].client] = true;
	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind != LINK_NESTED_CLIENT || link->ident == 0 || link->from == NO_INDEX)
			continue;
		coverage->children++;
		if (is_recorded[link->ident])
			continue;
		coverage->absent = memory_grow(coverage->absent, &room, coverage->absent_count + 1,
					       sizeof(*coverage->absent));
		coverage->absent[coverage->absent_count++] =
			(struct coverage_count){ classes->classes[classes->of_op[link->from]].name,
						 1 };
	}
	coverage->absent_count = add_up(coverage->absent, coverage->absent_count);
	free(is_recorded);
}

/* A module that several processes have counts once. */
static void count_modules(struct coverage *coverage, const struct recording *recording)
{
	bool *is_counted = memory_new(recording->string_count, sizeof(*is_counted));
	size_t room = 0;
	for (size_t i = 0; i < recording->module_count; i++) {
		const struct rec_module *module = &recording->modules[i];
		if (is_counted[module->path] || rec_module_is_jit(recording, module))
			continue;
		coverage->modules++;
		coverage->modules_seen += module->has_syscalls;
		is_counted[module->path] = true;
		if (module->syscalls == 0)
			continue;
		coverage->inlined =
			memory_grow(coverage->inlined, &room, coverage->inlined_count + 1,
				    sizeof(*coverage->inlined));
		coverage->inlined[coverage->inlined_count++] =
			(struct coverage_count){ module->path, module->syscalls };
	}
	coverage->inlined_count = add_up(coverage->inlined, coverage->inlined_count);
	free(is_counted);
}

static void count_time(struct coverage *coverage, const struct recording *recording,
		       const struct thread_table *threads)
{
	for (size_t i = 0; i < recording->process_count; i++) {
		coverage->voluntary_switches += recording->processes[i].voluntary_switches;
		coverage->involuntary_switches += recording->processes[i].involuntary_switches;
	}
	coverage->blocking_events = recording->wait_count;
	for (size_t i = 0; i < recording->op_count; i++)
		coverage->blocking_events += words_is_call(recording->ops[i].kind);
	for (uint32_t i = 0; i < threads->count; i++) {
		const struct thread_time *row = &threads->rows[i];
		if (!row->has_cpu)
			continue;
		coverage->off_cpu_ns += row->blocked_ns + row->unexplained_ns;
		coverage->unexplained_ns += row->unexplained_ns;
	}
}

void coverage_build(struct coverage *coverage, const struct recording *recording,
		    const struct class_table *classes, const struct thread_table *threads)
{
	*coverage = (struct coverage){ 0 };
	count_children(coverage, recording, classes);
	count_modules(coverage, recording);
	count_time(coverage, recording, threads);
}

void coverage_free(struct coverage *coverage)
{
	free(coverage->absent);
	free(coverage->inlined);
	*coverage = (struct coverage){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the costs of several recordings side by side, each of them as one stretch.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "costs_parts.h"

static double sum_of(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

/* Its sums as the last of so many stretches; those before are `from`'s, if that is there. */
static struct cost_class class_behind(const struct cost_class *from, const struct cost_class *one,
				      size_t stretches, size_t of_one)
{
	const struct cost_class *any = from ? from : one;
	struct cost_class joined = *any;
	joined.kind = costs_copy(any->kind);
	joined.name = costs_copy(any->name);
	joined.amounts = memory_new(COST_PARTS * stretches, sizeof(double));
	for (size_t part = 0; part < COST_PARTS; part++) {
		double *amounts = joined.amounts + part * stretches;
		if (from)
			memcpy(amounts, from->amounts + part * (stretches - 1),
			       (stretches - 1) * sizeof(double));
		if (one)
			amounts[stretches - 1] = sum_of(one->amounts + part * of_one, of_one);
	}
	return joined;
}

static void add_classes(struct costs *joined, const struct costs *before, const struct costs *one)
{
	size_t a = 0, b = 0;
	joined->classes =
		memory_new(before->class_count + one->class_count, sizeof(*joined->classes));
	while (a < before->class_count || b < one->class_count) {
		int order = a == before->class_count ? 1
			    : b == one->class_count
				    ? -1
				    : costs_compare_names(&before->classes[a], &one->classes[b]);
		joined->classes[joined->class_count++] =
			class_behind(order <= 0 ? &before->classes[a] : NULL,
				     order >= 0 ? &one->classes[b] : NULL, joined->stretch_count,
				     one->stretch_count);
		a += order <= 0;
		b += order >= 0;
	}
}

void costs_add(struct costs *costs, const struct costs *one)
{
	size_t last = costs->stretch_count, count = last + 1;
	struct costs joined = { .unit = one->unit,
				.stretch_count = count,
				.recordings = costs->recordings + 1,
				.units = memory_new(count, sizeof(double)),
				.elapsed_ns = memory_new(count, sizeof(double)),
				.request_count = costs->request_count + one->request_count,
				.unfinished = costs->unfinished + one->unfinished };
	assert(costs->recordings == last && one->recordings == 1);
	if (last > 0) {
		memcpy(joined.units, costs->units, last * sizeof(double));
		memcpy(joined.elapsed_ns, costs->elapsed_ns, last * sizeof(double));
	}
	joined.units[last] = sum_of(one->units, one->stretch_count);
	joined.elapsed_ns[last] = sum_of(one->elapsed_ns, one->stretch_count);
	add_classes(&joined, costs, one);
	joined.requests = memory_new(joined.request_count, sizeof(*joined.requests));
	if (costs->request_count)
		memcpy(joined.requests, costs->requests,
		       costs->request_count * sizeof(*joined.requests));
	for (size_t i = 0; i < one->request_count; i++)
		joined.requests[costs->request_count + i] =
			(struct cost_request){ one->requests[i].taken_ns, (uint32_t)last,
					       one->requests[i].is_cut };
	costs_sort_requests(&joined);
	costs_free(costs);
	*costs = joined;
}

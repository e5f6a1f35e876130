/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over spans of lanes; lanes.h has the contract. */
#include "lanes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { STEP_LEAST = 64 /* stretches between two rows of sums */ };

static size_t step_of(const struct lanes *lanes, size_t lane)
{
	size_t keys = lanes->lanes[lane + 1].key - lanes->lanes[lane].key;
	return keys > STEP_LEAST ? keys : STEP_LEAST;
}

/* --- Building --- */

void lanes_begin(struct lanes *lanes)
{
	*lanes = (struct lanes){ 0 };
}

void lanes_next(struct lanes *lanes)
{
	lanes->lanes = memory_grow(lanes->lanes, &lanes->lane_room, lanes->count + 2,
				   sizeof(*lanes->lanes));
	lanes->lanes[lanes->count++] = (struct lane){ .stretch = lanes->stretch_count };
}

void lanes_add(struct lanes *lanes, uint64_t start_ns, uint64_t end_ns, uint32_t key)
{
	assert(lanes->count > 0);
	if (start_ns >= end_ns)
		return;
	lanes->stretches = memory_grow(lanes->stretches, &lanes->stretch_room,
				       lanes->stretch_count + 1, sizeof(*lanes->stretches));
	lanes->stretches[lanes->stretch_count++] =
		(struct lane_stretch){ start_ns, end_ns, key, 0 };
}

/* Numbers the keys of a lane; `numbers` is by key, NO_INDEX before and after. */
static size_t number_keys(struct lanes *lanes, size_t lane, size_t first_key, uint32_t *numbers)
{
	size_t count = 0;
	for (size_t i = lanes->lanes[lane].stretch; i < lanes->lanes[lane + 1].stretch; i++) {
		uint32_t key = lanes->stretches[i].key;
		if (numbers[key] == NO_INDEX) {
			lanes->keys = memory_grow(lanes->keys, &lanes->key_room,
						  first_key + count + 1, sizeof(*lanes->keys));
			lanes->keys[first_key + count] = key;
			numbers[key] = (uint32_t)count++;
		}
		lanes->stretches[i].local = numbers[key];
	}
	for (size_t i = 0; i < count; i++)
		numbers[lanes->keys[first_key + i]] = NO_INDEX;
	return count;
}

/* A row of sums before each so-many-th stretch of a lane. */
static size_t sum_up(struct lanes *lanes, size_t lane, size_t first_sum, uint64_t *sofar)
{
	size_t keys = lanes->lanes[lane + 1].key - lanes->lanes[lane].key;
	size_t from = lanes->lanes[lane].stretch, step = step_of(lanes, lane), at = first_sum;
	memset(sofar, 0, keys * sizeof(*sofar));
	for (size_t i = from; i < lanes->lanes[lane + 1].stretch; i++) {
		if ((i - from) % step == 0) {
			lanes->sums = memory_grow(lanes->sums, &lanes->sum_room, at + keys,
						  sizeof(*lanes->sums));
			memcpy(lanes->sums + at, sofar, keys * sizeof(*sofar));
			at += keys;
		}
		sofar[lanes->stretches[i].local] +=
			lanes->stretches[i].end_ns - lanes->stretches[i].start_ns;
	}
	return at;
}

void lanes_end(struct lanes *lanes, uint32_t key_count)
{
	uint32_t *numbers = memory_new(key_count, sizeof(*numbers));
	uint64_t *sofar = memory_new(key_count, sizeof(*sofar));
	memset(numbers, 0xff, key_count * sizeof(*numbers));
	if (!lanes->lanes)
		lanes->lanes = memory_new(1, sizeof(*lanes->lanes));
	lanes->lanes[lanes->count] = (struct lane){ .stretch = lanes->stretch_count };
	for (size_t i = 0; i < lanes->count; i++) {
		struct lane *lane = &lanes->lanes[i];
		lane[1].key = lane->key + number_keys(lanes, i, lane->key, numbers);
		lane[1].sum = sum_up(lanes, i, lane->sum, sofar);
	}
	free(sofar);
	free(numbers);
}

void lanes_free(struct lanes *lanes)
{
	free(lanes->stretches);
	free(lanes->sums);
	free(lanes->keys);
	free(lanes->lanes);
	*lanes = (struct lanes){ 0 };
}

/* --- Asking --- */

size_t lanes_find(const struct lanes *lanes, size_t lane, uint64_t at_ns)
{
	size_t low = lanes->lanes[lane].stretch, high = lanes->lanes[lane + 1].stretch;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (lanes->stretches[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct asking {
	const struct lanes *lanes;
	size_t lane;
	lanes_take *take;
	void *context;
	uint64_t taken_ns;
};

static void give(struct asking *asking, uint32_t key, uint64_t ns)
{
	asking->taken_ns += ns;
	asking->take(asking->context, key, ns);
}

/* Gives the time between two rows of sums. */
static void give_rows(struct asking *asking, size_t from_row, size_t to_row)
{
	const struct lanes *lanes = asking->lanes;
	const struct lane *lane = &lanes->lanes[asking->lane];
	size_t keys = lane[1].key - lane->key;
	const uint64_t *before = lanes->sums + lane->sum + from_row * keys;
	const uint64_t *after = lanes->sums + lane->sum + to_row * keys;
	for (size_t i = 0; i < keys; i++)
		if (after[i] > before[i])
			give(asking, lanes->keys[lane->key + i], after[i] - before[i]);
}

void lanes_sum(const struct lanes *lanes, size_t lane, uint64_t from_ns, uint64_t to_ns,
	       lanes_take *take, void *context)
{
	struct asking asking = { lanes, lane, take, context, 0 };
	const struct lane_stretch *stretches = lanes->stretches;
	size_t first = lanes->lanes[lane].stretch, end = lanes->lanes[lane + 1].stretch;
	size_t step = step_of(lanes, lane), last = lanes_find(lanes, lane, to_ns);
	if (last == end && last > first)
		last--;
	for (size_t i = lanes_find(lanes, lane, from_ns); i < end && stretches[i].start_ns < to_ns;
	     i++) {
		size_t row = (i - first) / step, last_row = (last - first) / step;
		if ((i - first) % step == 0 && last_row > row && stretches[i].start_ns >= from_ns) {
			give_rows(&asking, row, last_row);
			i = first + last_row * step;
		}
		uint64_t start_ns =
			stretches[i].start_ns > from_ns ? stretches[i].start_ns : from_ns;
		uint64_t end_ns = stretches[i].end_ns < to_ns ? stretches[i].end_ns : to_ns;
		if (start_ns < end_ns)
			give(&asking, stretches[i].key, end_ns - start_ns);
	}
	if (to_ns > from_ns && asking.taken_ns < to_ns - from_ns)
		take(context, NO_INDEX, to_ns - from_ns - asking.taken_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules in order of process and start, found by binary search. Ranges overlap where one module
 * took another's place: the search goes back for as long as anything before reaches the address.
 * One thread.
 */
#include "modulemap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

static int compare_modules(const void *left, const void *right, void *context)
{
	const struct rec_module *modules = context;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
	const struct rec_module *a = &modules[i], *b = &modules[k];

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (i > k) - (i < k);
}

void modulemap_build(struct modulemap *map, const struct recording *recording)
{
	size_t count = recording->module_count;

	*map = (struct modulemap){
		.recording = recording,
		.order = memory_new(count, sizeof(*map->order)),
		.reach = memory_new(count, sizeof(*map->reach)),
	};
	for (size_t i = 0; i < count; i++)
		map->order[i] = (uint32_t)i;
	if (count > 1)
		qsort_r(map->order, count, sizeof(*map->order), compare_modules,
			recording->modules);
	for (size_t i = 0; i < count; i++) {
		const struct rec_module *module = &recording->modules[map->order[i]];

		map->reach[i] = module->start + module->size;
		if (i > 0 && recording->modules[map->order[i - 1]].process == module->process &&
		    map->reach[i - 1] > map->reach[i])
			map->reach[i] = map->reach[i - 1];
	}
}

void modulemap_free(struct modulemap *map)
{
	free(map->order);
	free(map->reach);
	*map = (struct modulemap){ 0 };
}

/* How far from `at_ns` the module's time is; 0 = it was there. */
static uint64_t distance_ns(const struct rec_module *module, uint64_t at_ns)
{
	if (at_ns < module->loaded_ns)
		return module->loaded_ns - at_ns;
	return module->unloaded_ns && at_ns > module->unloaded_ns ? at_ns - module->unloaded_ns : 0;
}

/* Whether `a` is the better answer; of two that were there, the one that came later took the
 * other's place. */
static bool is_nearer(const struct rec_module *a, const struct rec_module *b, uint64_t at_ns)
{
	uint64_t a_ns = distance_ns(a, at_ns), b_ns = distance_ns(b, at_ns);

	return a_ns != b_ns ? a_ns < b_ns : a->loaded_ns > b->loaded_ns;
}

uint32_t modulemap_find(const struct modulemap *map, uint32_t process, uint64_t address,
			uint64_t at_ns)
{
	const struct rec_module *modules = map->recording->modules;
	size_t low = 0, high = map->recording->module_count;
	uint32_t found = NO_INDEX;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_module *module = &modules[map->order[middle]];

		if (module->process < process ||
		    (module->process == process && module->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && map->reach[low - 1] > address; low--) {
		uint32_t index = map->order[low - 1];

		if (modules[index].process != process)
			break;
		assert(modules[index].start <= address);
		if (address - modules[index].start < modules[index].size &&
		    (found == NO_INDEX || is_nearer(&modules[index], &modules[found], at_ns)))
			found = index;
	}
	return found;
}

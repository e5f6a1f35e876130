/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges are from the first to the last address at which samples found a function; slowcpu.h has
 * the contract.
 *
 * Samples name the innermost frame, and inlined code counts to the function that it is in. A frame
 * of a sample is one behind the instruction that ran, as return addresses are. The reach
 * of the ranges is then counted sample by sample, as the code of two functions may lie in one.
 */
#include "slowcpu.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measure/functions.h"
#include "recording/modulemap.h"
#include "stackkeys.h"

enum { ROUTINES_MAX = 1024 };

static const double WHOLE = 100;

/* A sample's innermost frame. */
struct leaf {
	uint32_t path;
	uint32_t name;
	uint64_t at;
};

static bool leaf_of(const struct slow_samples *samples, uint32_t stack, struct leaf *leaf)
{
	const struct recording *recording = samples->recording;
	const struct rec_stack *frames = &recording->stacks[stack];
	const struct frame_names *names = samples->names;
	struct rec_frame frame;

	if (stack == 0 || frames->frame_count == 0 || !names || !names->first ||
	    names->first[frames->first_frame] == names->first[frames->first_frame + 1])
		return false;
	frame = recording->frames[frames->first_frame];
	if (frame.module == NO_INDEX ||
	    rec_module_is_jit(recording, &recording->modules[frame.module]))
		return false;
	const struct rec_module *module = &recording->modules[frame.module];
	*leaf = (struct leaf){
		.path = module->path,
		.name = names->names[names->first[frames->first_frame + 1] - 1],
		.at = frame.offset + module->base - module->start - 1,
	};
	return true;
}

static bool is_in(const struct slow_samples *samples, uint32_t stack, uint32_t function)
{
	const struct stack_functions *of = samples->functions;

	for (uint32_t i = of->first[stack]; i < of->first[stack + 1]; i++)
		if (of->functions[i] == function)
			return true;
	return false;
}

static void add_leaf(struct slow_ranges *ranges, size_t *room, const struct leaf *leaf, uint64_t ns,
		     bool is_of_class)
{
	struct slow_range *range = NULL;

	for (size_t i = 0; i < ranges->count && !range; i++)
		if (ranges->ranges[i].path == leaf->path && ranges->ranges[i].name == leaf->name)
			range = &ranges->ranges[i];
	if (!range) {
		ranges->ranges = memory_grow(ranges->ranges, room, ranges->count + 1,
					     sizeof(*ranges->ranges));
		range = &ranges->ranges[ranges->count++];
		*range =
			(struct slow_range){ leaf->path, leaf->name, leaf->at, leaf->at + 1, 0, 0 };
	}
	range->from = leaf->at < range->from ? leaf->at : range->from;
	range->to = leaf->at >= range->to ? leaf->at + 1 : range->to;
	range->ns += is_of_class ? ns : 0;
	range->all_ns += ns;
}

static void keep_own(struct slow_ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->ranges[i].ns > 0 &&
		    2 * ranges->ranges[i].ns >= ranges->ranges[i].all_ns)
			ranges->ranges[kept++] = ranges->ranges[i];
	ranges->count = kept;
}

static bool is_reached(const struct slow_ranges *ranges, const struct leaf *leaf)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->ranges[i].path == leaf->path && leaf->at >= ranges->ranges[i].from &&
		    leaf->at < ranges->ranges[i].to)
			return true;
	return false;
}

static void measure(struct slow_ranges *ranges, const struct slow_samples *samples,
		    uint32_t function)
{
	struct sample_weights weights = { .recording = samples->recording };
	uint64_t of_ns = 0, both_ns = 0, reached_ns = 0;

	for (size_t i = 0; i < samples->recording->sample_count; i++) {
		uint32_t stack = samples->recording->samples[i].stack;
		uint64_t ns = sample_weight_next(&weights);
		struct leaf leaf;

		if (stack == 0)
			continue;
		bool is_of = is_in(samples, stack, function);
		bool is_slowed = leaf_of(samples, stack, &leaf) && is_reached(ranges, &leaf);
		of_ns += is_of ? ns : 0;
		reached_ns += is_slowed ? ns : 0;
		both_ns += is_of && is_slowed ? ns : 0;
	}
	ranges->covered_percent = of_ns ? WHOLE * (double)both_ns / (double)of_ns : 0;
	ranges->purity_percent = reached_ns ? WHOLE * (double)both_ns / (double)reached_ns : 0;
}

void slow_ranges_build(struct slow_ranges *ranges, const struct slow_samples *samples,
		       uint32_t function)
{
	struct sample_weights weights = { .recording = samples->recording };
	size_t room = 0;

	*ranges = (struct slow_ranges){ .count = 0 };
	if (!samples->functions || !samples->functions->first)
		return;
	for (size_t i = 0; i < samples->recording->sample_count; i++) {
		uint32_t stack = samples->recording->samples[i].stack;
		uint64_t ns = sample_weight_next(&weights);
		struct leaf leaf;

		if (leaf_of(samples, stack, &leaf))
			add_leaf(ranges, &room, &leaf, ns, is_in(samples, stack, function));
	}
	keep_own(ranges);
	measure(ranges, samples, function);
}

void slow_ranges_free(struct slow_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct slow_ranges){ .count = 0 };
}

static void put_shares(FILE *file, double covered, double purity)
{
	fprintf(file, "\"covered_percent\":%.2f,\"purity_percent\":%.2f,", covered, purity);
}

void slow_ranges_put(FILE *file, const struct slow_samples *samples, uint32_t function)
{
	struct slow_ranges ranges;

	slow_ranges_build(&ranges, samples, function);
	put_shares(file, ranges.covered_percent, ranges.purity_percent);
	fputs("\"rules\":[{\"word\":\"range\",\"keys\":[", file);
	for (size_t i = 0; i < ranges.count; i++) {
		const struct slow_range *range = &ranges.ranges[i];

		fprintf(file, "%s\"%016" PRIx64 ":%" PRIx64 ":%" PRIx64 "\"", i ? "," : "",
			stack_key_of_name(samples->recording->strings[range->path]), range->from,
			range->to);
	}
	fputs("]}]", file);
	slow_ranges_free(&ranges);
}

/* --- Threads ---------------------------------------------------------------------------------- */

/* The key of a thread's start routine; that of "main" where there is none. 0: in no module. */
static uint64_t routine_key(const struct recording *recording, const struct modulemap *map,
			    uint32_t thread)
{
	const struct rec_thread *of = &recording->threads[thread];
	uint64_t address =
		of->op == NO_INDEX || !recording->extras ? 0 : recording->extras[of->op].address;

	if (!address)
		return stack_key_of_name("main");
	uint32_t module =
		modulemap_find(map, of->process, address, recording->ops[of->op].start_ns);
	if (module == NO_INDEX)
		return 0;
	return stack_key_of_frame(
		recording, (struct rec_frame){ module, address - recording->modules[module].base });
}

static uint64_t *routine_keys(const struct recording *recording)
{
	uint64_t *keys = memory_new(recording->thread_count, sizeof(*keys));
	struct modulemap map;

	modulemap_build(&map, recording);
	for (uint32_t i = 0; i < recording->thread_count; i++)
		keys[i] = routine_key(recording, &map, i);
	modulemap_free(&map);
	return keys;
}

static bool has_key(const uint64_t *keys, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i] == key)
			return true;
	return false;
}

/* Threads are many, their routines few. */
void slow_routines_put(FILE *file, const struct recording *recording,
		       const struct class_table *classes, const bool *is_marked)
{
	uint64_t *of_thread = routine_keys(recording);
	uint64_t *keys = memory_new(ROUTINES_MAX, sizeof(*keys));
	size_t count = 0, known = 0, of = 0, all = 0;

	for (uint32_t i = 0; i < recording->thread_count; i++) {
		uint32_t op = recording->threads[i].op;

		if (op == NO_INDEX || !is_marked[classes->of_op[op]])
			continue;
		of++;
		known += of_thread[i] != 0;
		if (of_thread[i] && count < ROUTINES_MAX && !has_key(keys, count, of_thread[i]))
			keys[count++] = of_thread[i];
	}
	for (uint32_t i = 0; i < recording->thread_count; i++)
		all += has_key(keys, count, of_thread[i]);
	put_shares(file, of ? WHOLE * (double)known / (double)of : 0,
		   all ? WHOLE * (double)known / (double)all : 0);
	fputs("\"rules\":[{\"word\":\"routine\",\"keys\":[", file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s\"%016" PRIx64 "\"", i ? "," : "", keys[i]);
	fputs("]}]", file);
	free(keys);
	free(of_thread);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up slices, ops and samples by class and stretch; costs.h has the contract.
 *
 * Slices of a thread come in order of time, so its stretch moves on with them. Classes are numbered
 * as they are seen: those of ops first, as in the table of classes, then waits and functions.
 */
#include "costs_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ask/reach.h"
#include "base/memory.h"
#include "export/walk.h"
#include "format.h"
#include "measure/functions.h"
#include "recording/addresses.h"
#include "recording/words.h"
#include "report/followed.h"

static const double OWN_LEAST = 0.5; /* of the time of a call that is no wait */

/* In place of a reason: what follows is a function. */
#define OF_FUNCTION UINT32_MAX
/* The same: what follows is the number of a part of paths. */
#define OF_PATH (UINT32_MAX - 1)

struct adding {
	struct costs *costs;
	const struct analysis *analysis;
	const struct stretches *stretches;
	struct addresses beyond; /* waits (reason, name) and functions, behind the classes of ops */
	double **amounts;        /* by class */
	size_t room;
	struct reach reach; /* of the script, if there is one */
	struct request_paths paths;
};

static double *amounts_of(struct adding *adding, size_t class)
{
	size_t stretches = adding->stretches->count, known = adding->costs->class_count;
	adding->amounts =
		memory_grow(adding->amounts, &adding->room, class + 1, sizeof(*adding->amounts));
	for (; known <= class; known++)
		adding->amounts[known] = NULL;
	if (adding->costs->class_count <= class)
		adding->costs->class_count = class + 1;
	if (!adding->amounts[class])
		adding->amounts[class] = memory_new(COST_PARTS * stretches, sizeof(double));
	return adding->amounts[class];
}

static size_t class_beyond(struct adding *adding, uint32_t reason, uint32_t name)
{
	return adding->analysis->classes.count + addresses_add(&adding->beyond, reason, name);
}

static void add_count(struct adding *adding, size_t class, uint64_t at_ns)
{
	uint32_t stretch = stretches_at(adding->stretches, at_ns);
	if (stretch != NO_INDEX)
		amounts_of(adding, class)[COST_COUNT * adding->stretches->count + stretch]++;
}

/* To each stretch its part. */
static void add_time(struct adding *adding, size_t class, enum cost_part part, uint64_t start_ns,
		     uint64_t end_ns)
{
	const struct stretches *stretches = adding->stretches;
	const uint64_t *borders_ns = stretches->borders_ns;
	if (start_ns < borders_ns[0])
		start_ns = borders_ns[0];
	if (end_ns > borders_ns[stretches->count])
		end_ns = borders_ns[stretches->count];
	if (start_ns >= end_ns)
		return;
	double *amounts = amounts_of(adding, class) + (size_t)part * stretches->count;
	for (size_t i = stretches_at(stretches, start_ns + 1); start_ns < end_ns; i++) {
		uint64_t to_ns = end_ns < borders_ns[i + 1] ? end_ns : borders_ns[i + 1];
		amounts[i] += (double)(to_ns - start_ns);
		start_ns = to_ns;
	}
}

/* --- where amounts come from --- */

static const enum cost_part part_of[WALK_STATES] = {
	[WALK_RUNNING] = COST_CPU,         [WALK_QUEUED] = COST_QUEUED,
	[WALK_BLOCKED] = COST_BLOCKED,     [WALK_IDLE] = COST_BLOCKED,
	[WALK_UNEXPLAINED] = COST_BLOCKED,
};

static void add_slice(struct adding *adding, const struct walk_slice *slice)
{
	const struct recording *recording = adding->analysis->recording;
	size_t class = slice->class;
	if (slice->state == WALK_IDLE)
		return;
	if (slice->wait != NO_INDEX)
		class = class_beyond(adding, recording->waits[slice->wait].reason, slice->name);
	else if (slice->class == NO_INDEX)
		return;
	add_time(adding, class, part_of[slice->state], slice->start_ns, slice->end_ns);
	add_time(adding, class, COST_TIME, slice->start_ns, slice->end_ns);
}

static void add_slices(struct adding *adding)
{
	struct walk walk;
	struct walk_slice slice;
	walk_begin(&walk, adding->analysis);
	for (uint32_t thread = 0; thread < walk_thread_count(&walk); thread++)
		for (walk_thread(&walk, thread); walk_next(&walk, &slice);)
			add_slice(adding, &slice);
	walk_end(&walk);
}

/* An op of a call or lock, with the stretch that it ended in. */
struct length {
	uint64_t ns;
	uint32_t class;
	uint32_t stretch;
};

static int compare_lengths(const void *left, const void *right)
{
	const struct length *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->stretch != b->stretch)
		return a->stretch < b->stretch ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

static void add_medians(struct adding *adding, struct length *lengths, size_t count)
{
	size_t stretches = adding->stretches->count;
	if (count > 1)
		qsort(lengths, count, sizeof(*lengths), compare_lengths);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && lengths[to].class == lengths[from].class &&
				lengths[to].stretch == lengths[from].stretch;)
			to++;
		double *amounts = amounts_of(adding, lengths[from].class);
		uint32_t stretch = lengths[from].stretch;
		amounts[COST_USUAL * stretches + stretch] =
			(double)lengths[from + (to - from) / 2].ns;
		amounts[COST_MEDIANS * stretches + stretch] = 1;
	}
}

/* Its time is that of slices, or of other ops. */
static bool is_container(uint16_t kind)
{
	return kind == KIND_PROCESS || kind == KIND_EXEC;
}

static void add_ops(struct adding *adding)
{
	const struct recording *recording = adding->analysis->recording;
	const enum arrival_sort *arrivals =
		adding->analysis->has_script ? adding->analysis->script.arrivals : NULL;
	struct length *lengths = memory_new(recording->op_count, sizeof(*lengths));
	size_t count = 0;
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint32_t class = adding->analysis->classes.of_op[i];
		if (is_container(op->kind) || (arrivals && arrivals[class] != ARRIVAL_NONE))
			continue;
		add_count(adding, class, op->end_ns);
		uint32_t stretch = stretches_at(adding->stretches, op->end_ns);
		if (stretch != NO_INDEX && op->kind != KIND_THREAD)
			lengths[count++] =
				(struct length){ op->end_ns - op->start_ns, class, stretch };
		if (!words_is_call(op->kind) && op->kind != KIND_THREAD)
			add_time(adding, class, COST_TIME, op->start_ns, op->end_ns);
	}
	add_medians(adding, lengths, count);
	free(lengths);
}

static void add_waits(struct adding *adding)
{
	const struct recording *recording = adding->analysis->recording;
	const struct labels *labels = adding->analysis->labels;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t name = labels && labels->waits ? labels->waits[i] : wait->ident;
		add_count(adding, class_beyond(adding, wait->reason, name), wait->end_ns);
	}
}

/* The innermost function of the program, not of what is beneath it, has what a sample stands for.
 */
static void add_samples(struct adding *adding)
{
	const struct recording *recording = adding->analysis->recording;
	const struct labels *labels = adding->analysis->labels;
	const struct frame_names *names = labels ? &labels->frames : NULL;
	uint32_t functions[FUNCTION_STACK_MAX];
	struct sample_weights weights = { .recording = recording };
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		uint64_t ns = sample_weight_next(&weights);
		uint32_t stretch = stretches_at(adding->stretches, sample->at_ns);
		size_t count = 0, at = 0;
		if (ns && stretch != NO_INDEX && names)
			count = frame_names_of_stack(names, recording, sample->stack, functions,
						     FUNCTION_STACK_MAX);
		while (at < count && frame_names_is_runtime(names, recording, sample->stack, at))
			at++;
		if (at == count)
			continue;
		size_t class = class_beyond(adding, OF_FUNCTION, functions[at]);
		amounts_of(adding, class)[COST_TIME * adding->stretches->count + stretch] +=
			(double)ns;
	}
}

/* Each request's way, in the stretch in which it ended. */
static void add_paths(struct adding *adding)
{
	const struct requests *requests = &adding->analysis->script.requests;
	const struct request_paths *paths = &adding->paths;
	for (size_t r = 0; r < requests->count; r++) {
		if (!stretches_is_unit(requests, &requests->requests[r]))
			continue;
		uint32_t stretch = stretches_at(adding->stretches, requests->requests[r].end_ns);
		for (size_t i = paths->first[r]; i < paths->first[r + 1]; i++) {
			size_t class = class_beyond(adding, OF_PATH, paths->part[i]);
			double *times_ns =
				amounts_of(adding, class) + COST_TIME * adding->stretches->count;
			times_ns[stretch] += (double)paths->ns[i];
		}
	}
}

/* --- names --- */

char *costs_copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_new(bytes, 1), text, bytes);
}

/* A call whose time is mostly not its own: it waits for another recorded thread, as a read of an
 * answer does. */
static bool is_awaiting(const struct adding *adding, size_t class)
{
	double total_ns = 0;
	if (!adding->analysis->has_script ||
	    !words_is_call(adding->analysis->classes.classes[class].kind))
		return false;
	for (size_t i = 0; i < adding->stretches->count; i++)
		total_ns += adding->amounts[class][COST_TIME * adding->stretches->count + i];
	return adding->reach.total_ns[class] < OWN_LEAST * total_ns;
}

/* "lock", "table, held by flush cache.c:12". */
static struct cost_class path_named(const struct adding *adding, uint32_t number,
				    const struct mapping *mapping)
{
	const struct path_part part = path_parts_at(&adding->paths.parts, number);
	const char **strings = adding->analysis->recording->strings;
	char *text = NULL;
	if (asprintf(&text, part.by ? "%s, held by %s" : "%s", strings[part.name],
		     strings[part.by]) < 0)
		text = costs_copy("");
	struct cost_class named = { .kind = costs_copy(path_kind_word(part.kind)),
				    .name = mapping ? mapping_apply(mapping, text)
						    : costs_copy(text),
				    .is_path = true,
				    .is_within = true };
	free(text);
	return named;
}

static struct cost_class class_named(const struct adding *adding, size_t index,
				     const struct mapping *mapping)
{
	const struct recording *recording = adding->analysis->recording;
	const struct class_table *classes = &adding->analysis->classes;
	struct cost_class named = { .amounts = adding->amounts[index] };
	const char *kind, *name;
	if (index < classes->count) {
		kind = recording->kinds.words[classes->classes[index].kind];
		name = recording->strings[classes->classes[index].name];
		uint16_t word = classes->classes[index].kind;
		named.is_within = !words_is_call(word) && word != KIND_THREAD;
		named.is_wait = is_awaiting(adding, index);
	} else {
		const struct address_key *key = &adding->beyond.keys[index - classes->count];
		if (key->process == OF_PATH) {
			named = path_named(adding, (uint32_t)key->address, mapping);
			named.amounts = adding->amounts[index];
			return named;
		}
		named.is_within = key->process == OF_FUNCTION;
		named.is_wait = !named.is_within;
		kind = named.is_wait ? recording->reasons.words[key->process] : "func";
		name = recording->strings[key->address];
	}
	named.kind = costs_copy(kind);
	named.name = mapping ? mapping_apply(mapping, name) : costs_copy(name);
	return named;
}

int costs_compare_names(const void *left, const void *right)
{
	const struct cost_class *a = left, *b = right;
	int kinds = strcmp(a->kind, b->kind);
	if (a->is_path != b->is_path)
		return a->is_path ? 1 : -1;
	return kinds ? kinds : strcmp(a->name, b->name);
}

/* Sorts the classes; what the mapping gives one name becomes one. */
static void unite(struct costs *costs)
{
	size_t kept = 0;
	if (costs->class_count > 1)
		qsort(costs->classes, costs->class_count, sizeof(*costs->classes),
		      costs_compare_names);
	for (size_t i = 0; i < costs->class_count; i++) {
		struct cost_class *class = &costs->classes[i];
		if (!kept || costs_compare_names(&costs->classes[kept - 1], class) != 0) {
			costs->classes[kept++] = *class;
			continue;
		}
		for (size_t k = 0; k < COST_PARTS * costs->stretch_count; k++)
			costs->classes[kept - 1].amounts[k] += class->amounts[k];
		free(class->kind);
		free(class->name);
		free(class->amounts);
	}
	costs->class_count = kept;
}

static void name_all(struct adding *adding, const struct mapping *mapping)
{
	struct costs *costs = adding->costs;
	size_t seen = costs->class_count, count = 0;
	costs->classes = memory_new(seen, sizeof(*costs->classes));
	for (size_t i = 0; i < seen; i++)
		if (adding->amounts[i])
			costs->classes[count++] = class_named(adding, i, mapping);
	costs->class_count = count;
	unite(costs);
}

/* --- requests --- */

static int compare_taken(const void *left, const void *right)
{
	const struct cost_request *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
	if (a->is_cut != b->is_cut)
		return a->is_cut ? 1 : -1;
	return (a->stretch > b->stretch) - (a->stretch < b->stretch);
}

void costs_sort_requests(struct costs *costs)
{
	if (costs->request_count > 1)
		qsort(costs->requests, costs->request_count, sizeof(*costs->requests),
		      compare_taken);
}

static void take_requests(struct adding *adding)
{
	const struct requests *requests = &adding->analysis->script.requests;
	struct costs *costs = adding->costs;
	costs->requests = memory_new(requests->count, sizeof(*costs->requests));
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		if (!stretches_is_unit(requests, request))
			continue;
		costs->requests[costs->request_count++] =
			(struct cost_request){ request->taken_ns,
					       stretches_at(adding->stretches, request->end_ns),
					       request->is_unfinished };
		assert(costs->requests[costs->request_count - 1].stretch != NO_INDEX);
		costs->unfinished += request->is_unfinished;
	}
	costs_sort_requests(costs);
}

/* --- all of it --- */

void costs_build(struct costs *costs, const struct analysis *analysis, enum diff_unit unit,
		 const struct mapping *mapping)
{
	struct stretches stretches;
	struct adding adding = { .costs = costs, .analysis = analysis, .stretches = &stretches };
	stretches_build(&stretches, analysis, unit == UNIT_REQUEST);
	*costs = (struct costs){ .unit = stretches.unit,
				 .recordings = 1,
				 .stretch_count = stretches.count,
				 .units = memory_new(stretches.count, sizeof(*costs->units)),
				 .elapsed_ns =
					 memory_new(stretches.count, sizeof(*costs->elapsed_ns)) };
	for (size_t i = 0; i < stretches.count; i++) {
		costs->units[i] = stretches.units[i];
		costs->elapsed_ns[i] =
			(double)(stretches.borders_ns[i + 1] - stretches.borders_ns[i]);
	}
	if (stretches.count > 0) {
		if (analysis->has_script)
			reach_build(&adding.reach, &analysis->script);
		add_slices(&adding);
		add_ops(&adding);
		add_waits(&adding);
		add_samples(&adding);
		if (unit == UNIT_REQUEST) {
			followed_build(&adding.paths, analysis);
			add_paths(&adding);
		}
		name_all(&adding, mapping);
		if (unit == UNIT_REQUEST) {
			take_requests(&adding);
			request_paths_free(&adding.paths);
		}
	}
	free(adding.amounts);
	if (adding.reach.first)
		reach_free(&adding.reach);
	addresses_free(&adding.beyond);
	stretches_free(&stretches);
}

void costs_free(struct costs *costs)
{
	for (size_t i = 0; i < costs->class_count; i++) {
		free(costs->classes[i].kind);
		free(costs->classes[i].name);
		free(costs->classes[i].amounts);
	}
	free(costs->classes);
	free(costs->units);
	free(costs->elapsed_ns);
	free(costs->requests);
	*costs = (struct costs){ 0 };
}

const struct cost_class *costs_find(const struct costs *costs, const char *kind, const char *name,
				    bool is_path)
{
	const struct cost_class key = { .kind = (char *)kind,
					.name = (char *)name,
					.is_path = is_path };
	return costs->class_count ? bsearch(&key, costs->classes, costs->class_count,
					    sizeof(*costs->classes), costs_compare_names)
				  : NULL;
}

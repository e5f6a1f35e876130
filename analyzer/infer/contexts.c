/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hash tables with open addressing: one finds the context of two stacks, one finds equal
 * contexts. Neither shrinks. One thread.
 */
#include "contexts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/intern.h"

enum { NAME_BYTES = 2048 }; /* of a function; what is longer is cut off */

/* --- the functions of a stack --- */

struct function_list {
	uint32_t *ids;
	uint32_t *frames;
	size_t count;
	size_t capacity;
	size_t frame_capacity;
	bool *are_interpreter;
	size_t room; /* of these */
};

static void add_function(struct function_list *list, uint32_t id, uint32_t frame, size_t from)
{
	for (size_t k = from; k < list->count; k++)
		if (list->ids[k] == id) {
			list->frames[k] = frame;
			return;
		}
	list->ids = memory_grow(list->ids, &list->capacity, list->count + 1, sizeof(id));
	list->frames =
		memory_grow(list->frames, &list->frame_capacity, list->count + 1, sizeof(frame));
	list->ids[list->count] = id;
	list->frames[list->count++] = frame;
}

static void note_interpreter(struct function_list *list, uint32_t id)
{
	size_t before = list->room;

	list->are_interpreter = memory_grow(list->are_interpreter, &list->room, (size_t)id + 1,
					    sizeof(*list->are_interpreter));
	memset(list->are_interpreter + before, 0, list->room - before);
	list->are_interpreter[id] = true;
}

static void add_place(struct function_list *list, struct recording *rec, struct callers *callers,
		      struct rec_frame frame, const struct symbol_place *place, uint32_t index,
		      size_t from)
{
	char text[NAME_BYTES];

	for (size_t i = 0; i < place->frame_count; i++) {
		const char *name = place->frames[i].function;

		if ((!name && !place->function_start) ||
		    callers_is_runtime(callers, frame, &place->frames[i]))
			continue;
		uint32_t id =
			recording_intern(rec, symbols_function_text(place, i, text, sizeof(text)));
		add_function(list, id, index, from);
		if (callers_is_interpreter(callers, frame))
			note_interpreter(list, id);
	}
}

static bool *used_stacks(const struct recording *rec)
{
	bool *is_used = memory_new(rec->stack_count, sizeof(*is_used));

	for (size_t i = 0; i < rec->sample_count; i++)
		is_used[rec->samples[i].stack] = true;
	for (size_t i = 0; rec->extras && i < rec->op_count; i++)
		is_used[rec->extras[i].stack] = true;
	for (size_t i = 0; i < rec->wait_count; i++)
		is_used[rec->waits[i].stack] = true;
	for (size_t i = 0; i < rec->link_count; i++)
		is_used[rec->links[i].stack] = rec->links[i].thread != NO_INDEX;
	return is_used;
}

static void note_callers(struct stack_functions *of, size_t stack)
{
	for (uint32_t i = of->first[stack]; i + 1 < of->first[stack + 1]; i++) {
		uint32_t *caller = &of->callers[of->functions[i]];

		if (*caller && *caller != of->functions[i + 1])
			*caller = NO_INDEX;
		else
			*caller = of->functions[i + 1];
	}
}

void stack_functions_build(struct stack_functions *of, struct recording *rec,
			   struct symbols *symbols, struct callers *callers)
{
	struct function_list list = { 0 };

	if (!rec->stack_count)
		return;
	bool *is_used = used_stacks(rec);
	of->first = memory_new(rec->stack_count + 1, sizeof(*of->first));
	for (size_t s = 0; s < rec->stack_count; s++) {
		const struct rec_stack *stack = &rec->stacks[s];

		of->first[s] = (uint32_t)list.count;
		for (uint32_t f = 0; s && is_used[s] && f < stack->frame_count; f++) {
			struct rec_frame frame = rec->frames[stack->first_frame + f];

			add_place(&list, rec, callers, frame, symbols_place(symbols, frame, true),
				  f, of->first[s]);
		}
	}
	of->first[rec->stack_count] = (uint32_t)list.count;
	of->functions = list.ids;
	of->frames = list.frames;
	of->are_interpreter = memory_new(rec->string_count, sizeof(*of->are_interpreter));
	for (size_t i = 0; i < list.room && i < rec->string_count; i++)
		of->are_interpreter[i] = list.are_interpreter[i];
	free(list.are_interpreter);
	of->callers = memory_new(rec->string_count, sizeof(*of->callers));
	for (size_t s = 0; s < rec->stack_count; s++)
		note_callers(of, s);
	free(is_used);
}

void stack_functions_free(struct stack_functions *of)
{
	free(of->first);
	free(of->functions);
	free(of->frames);
	free(of->callers);
	free(of->are_interpreter);
	*of = (struct stack_functions){ 0 };
}

/* --- contexts --- */

static size_t mix(uint64_t hash)
{
	hash *= 0x9e3779b97f4a7c15u;
	return (size_t)(hash ^ hash >> 32);
}

static size_t function_count(const struct contexts *contexts, uint32_t context)
{
	return contexts->first[context + 1] - contexts->first[context];
}

static const uint32_t *functions_of(const struct contexts *contexts, uint32_t context)
{
	return contexts->functions + contexts->first[context];
}

static size_t bucket_of(const struct contexts *contexts, uint32_t context)
{
	const uint32_t *functions = functions_of(contexts, context);
	size_t count = function_count(contexts, context), bytes = count * sizeof(*functions);
	size_t at = count;

	for (size_t i = 0; i < count; i++)
		at = mix(at ^ functions[i]);
	for (at &= contexts->bucket_count - 1; contexts->buckets[at];
	     at = (at + 1) & (contexts->bucket_count - 1)) {
		uint32_t known = contexts->buckets[at];

		if (function_count(contexts, known) == count &&
		    !memcmp(functions_of(contexts, known), functions, bytes))
			break;
	}
	return at;
}

static void widen_buckets(struct contexts *contexts)
{
	free(contexts->buckets);
	contexts->bucket_count = contexts->bucket_count ? contexts->bucket_count * 2 : 64;
	contexts->buckets = memory_new(contexts->bucket_count, sizeof(*contexts->buckets));
	for (uint32_t i = 1; i < contexts->count; i++)
		contexts->buckets[bucket_of(contexts, i)] = i;
}

/* To the context that is being put together, the one after the last. */
static void add(struct contexts *contexts, uint32_t function)
{
	uint32_t *end = &contexts->first[contexts->count + 1];

	contexts->functions = memory_grow(contexts->functions, &contexts->function_capacity,
					  (size_t)*end + 1, sizeof(function));
	contexts->functions[(*end)++] = function;
}

static void open_next(struct contexts *contexts)
{
	contexts->first = memory_grow(contexts->first, &contexts->first_capacity,
				      contexts->count + 2, sizeof(*contexts->first));
	contexts->first[contexts->count + 1] = contexts->first[contexts->count];
}

/* The context that was put together, or one that it is equal to. */
static uint32_t close_next(struct contexts *contexts)
{
	if (!function_count(contexts, (uint32_t)contexts->count))
		return 0;
	if (2 * (contexts->count + 1) > contexts->bucket_count)
		widen_buckets(contexts);
	uint32_t *bucket = &contexts->buckets[bucket_of(contexts, (uint32_t)contexts->count)];
	if (!*bucket)
		*bucket = (uint32_t)contexts->count++;
	return *bucket;
}

/* How many frames two stacks have in common, from the outermost one on. */
static uint32_t common_frames(const struct recording *rec, uint32_t stack, uint32_t other)
{
	const struct rec_stack *a = &rec->stacks[stack], *b = &rec->stacks[other];
	uint32_t least = a->frame_count < b->frame_count ? a->frame_count : b->frame_count;
	uint32_t count = 0;

	for (; count < least; count++) {
		const struct rec_frame *left =
			&rec->frames[a->first_frame + a->frame_count - 1 - count];
		const struct rec_frame *right =
			&rec->frames[b->first_frame + b->frame_count - 1 - count];

		if (left->module != right->module || left->offset != right->offset)
			break;
	}
	return count;
}

/* Whether function `index` of a list is also on that stack, and no farther inside than `depth`
 * frames from the outermost one. */
static bool is_on(const struct contexts *contexts, uint32_t index, uint32_t stack, uint32_t depth)
{
	const struct stack_functions *of = contexts->of;

	for (uint32_t k = of->first[stack]; k < of->first[stack + 1]; k++)
		if (of->functions[k] == of->functions[index])
			return !of->frames ||
			       contexts->rec->stacks[stack].frame_count - of->frames[k] <= depth;
	return false;
}

/* Stacks that are cut off have no frames in common: all functions of both must do then. */
static void add_common(struct contexts *contexts, uint32_t stack, uint32_t other)
{
	const struct stack_functions *of = contexts->of;
	uint32_t common = of->frames ? common_frames(contexts->rec, stack, other) : 0;
	uint32_t depth = common ? common + 1 : UINT32_MAX, i = of->first[stack];

	/* wrappers of the call, if it is the same one */
	while (of->frames && stack == other && i + 1 < of->first[stack + 1] &&
	       of->callers[of->functions[i]] == NO_INDEX)
		i++;
	for (; i < of->first[stack + 1]; i++)
		if (stack == other ||
		    (is_on(contexts, i, stack, depth) && is_on(contexts, i, other, depth)))
			add(contexts, of->functions[i]);
}

static uint32_t make(struct contexts *contexts, uint32_t stack, uint32_t other, uint32_t program)
{
	const struct stack_functions *of = contexts->of;

	open_next(contexts);
	if (of && other != NO_INDEX)
		add_common(contexts, stack, other);
	for (uint32_t i = of ? of->first[stack] : 0;
	     of && other == NO_INDEX && i < of->first[stack + 1]; i++)
		add(contexts, of->functions[i]);
	if (program)
		add(contexts, program);
	return close_next(contexts);
}

static struct context_pair *pair_of(const struct contexts *contexts, uint32_t stack, uint32_t other,
				    uint32_t program)
{
	size_t at = mix(mix(mix(stack) ^ other) ^ program) & (contexts->pair_room - 1);

	for (; contexts->pairs[at].context; at = (at + 1) & (contexts->pair_room - 1))
		if (contexts->pairs[at].stack == stack && contexts->pairs[at].other == other &&
		    contexts->pairs[at].program == program)
			break;
	return &contexts->pairs[at];
}

static void widen_pairs(struct contexts *contexts)
{
	struct context_pair *old = contexts->pairs;
	size_t old_room = contexts->pair_room;

	contexts->pair_room = old_room ? old_room * 2 : 256;
	contexts->pairs = memory_new(contexts->pair_room, sizeof(*contexts->pairs));
	for (size_t i = 0; i < old_room; i++)
		if (old[i].context)
			*pair_of(contexts, old[i].stack, old[i].other, old[i].program) = old[i];
	free(old);
}

void contexts_begin(struct contexts *contexts, const struct recording *rec,
		    const struct stack_functions *of)
{
	*contexts = (struct contexts){ .of = of && of->first ? of : NULL, .rec = rec };
	contexts->first = memory_grow(NULL, &contexts->first_capacity, 2, sizeof(*contexts->first));
	contexts->first[0] = contexts->first[1] = 0;
	contexts->count = 1;
}

uint32_t contexts_between(struct contexts *contexts, uint32_t stack, uint32_t other,
			  uint32_t program)
{
	assert(contexts->count);
	if (2 * (contexts->pair_count + 1) > contexts->pair_room)
		widen_pairs(contexts);
	struct context_pair *pair = pair_of(contexts, stack, other, program);
	if (!pair->context) {
		uint32_t context = make(contexts, stack, other, program);

		*pair = (struct context_pair){ stack, other, program, context + 1 };
		contexts->pair_count++;
	}
	return pair->context - 1;
}

uint32_t contexts_within(struct contexts *contexts, uint32_t stack, uint32_t program)
{
	return contexts_between(contexts, stack, NO_INDEX, program);
}

bool contexts_have(const struct contexts *contexts, uint32_t context, uint32_t function)
{
	assert(context < contexts->count);
	for (uint32_t i = contexts->first[context]; i < contexts->first[context + 1]; i++)
		if (contexts->functions[i] == function)
			return true;
	return false;
}

void contexts_free(struct contexts *contexts)
{
	free(contexts->first);
	free(contexts->functions);
	free(contexts->pairs);
	free(contexts->buckets);
	*contexts = (struct contexts){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own frames, by the globs of runtime.def.
 *
 * Frames of runtime modules are passed over without looking up their names, so their debug
 * information is not even opened. Code made at run time that no map names is passed over too.
 * One thread.
 */
#include "callers.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/addresses.h"

static const char *const runtime_modules[] = {
#define RUNTIME_MODULE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const interpreter_modules[] = {
#define INTERPRETER_MODULE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const runtime_functions[] = {
#define RUNTIME_FUNCTION(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const runtime_files[] = {
#define RUNTIME_FILE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const thread_starts[] = {
#define THREAD_START(name, meaning) name,
#include "runtime.def"
	NULL,
};

struct found {
	struct caller innermost;
	struct caller outermost;
	bool has_innermost; /* the field is filled in */
	bool has_outermost;
};

enum module_sort { MODULE_OWN, MODULE_RUNTIME, MODULE_INTERPRETER };

struct callers {
	const struct recording *recording;
	struct symbols *symbols;
	struct callers_options options;
	enum module_sort *module_sorts; /* per module */
	struct found *found;            /* per stack */
	struct addresses texts;         /* the names that were asked about, by where they stand */
	bool *are_own;                  /* of these */
	size_t own_room;
};

static bool fits(const char *const *globs, const char *text)
{
	for (; *globs; globs++)
		if (fnmatch(*globs, text, 0) == 0)
			return true;
	return false;
}

static bool is_skipped(const struct callers *callers, const char *text)
{
	for (size_t i = 0; i < callers->options.skip_count; i++)
		if (regexec(&callers->options.skips[i], text, 0, NULL, 0) == 0)
			return true;
	return false;
}

static bool is_executable(const struct recording *recording, const struct rec_module *module)
{
	return module->process < recording->process_count &&
	       recording->processes[module->process].exe == module->path;
}

static enum module_sort sort_of_module(const struct callers *callers, uint32_t index)
{
	const struct recording *recording = callers->recording;
	const struct rec_module *module = &recording->modules[index];
	const char *name = symbols_module_name(callers->symbols, index);
	const char *slash = strrchr(recording->strings[module->path], '/');

	/* A program may call itself what it likes: its file says what it is. */
	if (rec_module_is_jit(recording, module))
		return MODULE_OWN;
	if (fits(interpreter_modules, slash ? slash + 1 : name))
		return MODULE_INTERPRETER;
	if (fits(runtime_modules, name) ||
	    (!is_executable(recording, module) && is_skipped(callers, name)))
		return MODULE_RUNTIME;
	return MODULE_OWN;
}

static bool is_thread_start(const char *function)
{
	for (const char *const *name = thread_starts; *name; name++)
		if (!strcmp(*name, function))
			return true;
	return false;
}

struct callers *callers_new(const struct recording *recording, struct symbols *symbols,
			    const struct callers_options *options)
{
	struct callers *callers = memory_new(1, sizeof(*callers));

	callers->recording = recording;
	callers->symbols = symbols;
	if (options)
		callers->options = *options;
	callers->module_sorts = memory_new(recording->module_count, sizeof(*callers->module_sorts));
	callers->found = memory_new(recording->stack_count, sizeof(*callers->found));
	for (uint32_t i = 0; i < recording->module_count; i++)
		callers->module_sorts[i] = sort_of_module(callers, i);
	return callers;
}

void callers_free(struct callers *callers)
{
	if (!callers)
		return;
	free(callers->module_sorts);
	free(callers->found);
	addresses_free(&callers->texts);
	free(callers->are_own);
	free(callers);
}

enum { FUNCTIONS, FILES };

/* Symbols keep a name where it is: the patterns are tried once. */
static bool is_own_text(struct callers *callers, const char *text, unsigned sort)
{
	size_t known = callers->texts.count;

	if (!text)
		return true;
	uint32_t number = addresses_add(&callers->texts, sort, (uintptr_t)text);
	if (number == known) {
		callers->are_own = memory_grow(callers->are_own, &callers->own_room, known + 1,
					       sizeof(*callers->are_own));
		callers->are_own[number] = sort == FILES ? !fits(runtime_files, text)
							 : !fits(runtime_functions, text) &&
								   !is_skipped(callers, text);
	}
	return callers->are_own[number];
}

static bool is_own_function(struct callers *callers, const struct symbol_frame *frame)
{
	return is_own_text(callers, frame->function, FUNCTIONS) &&
	       is_own_text(callers, frame->file, FILES);
}

/* The innermost frame of a place that is the program's own, or the outermost. */
static struct caller own_frame(struct callers *callers, const struct symbol_place *place,
			       bool is_outermost)
{
	for (size_t i = 0; i < place->frame_count; i++) {
		size_t frame = is_outermost ? place->frame_count - 1 - i : i;

		if (place->is_jit && !place->frames[frame].function)
			continue;
		if (is_own_function(callers, &place->frames[frame]))
			return (struct caller){ .place = place, .frame = frame };
	}
	return (struct caller){ .place = NULL };
}

static struct caller find_caller(struct callers *callers, uint32_t stack, bool is_outermost)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];
	struct caller caller = { .place = NULL };
	bool is_interpreted = false;

	for (uint32_t i = 0; i < frames->frame_count && !caller.place; i++) {
		uint32_t at = is_outermost ? frames->frame_count - 1 - i : i;
		struct rec_frame frame = callers->recording->frames[frames->first_frame + at];

		if (frame.module == NO_INDEX || callers->module_sorts[frame.module] != MODULE_OWN) {
			is_interpreted |= frame.module != NO_INDEX &&
					  callers->module_sorts[frame.module] == MODULE_INTERPRETER;
			continue;
		}
		caller = own_frame(callers, symbols_place(callers->symbols, frame, true),
				   is_outermost);
		/*
		 * A library's function that an interpreter calls does not say what the thread is
		 * for.
		 */
		if (is_outermost && is_interpreted && caller.place && !caller.place->is_jit)
			return (struct caller){ .place = NULL };
	}
	return caller;
}

/* The next own frame of a place outwards from `from`. */
static struct caller next_own_frame(struct callers *callers, const struct symbol_place *place,
				    size_t from)
{
	for (size_t i = from; i < place->frame_count; i++) {
		if (place->is_jit && !place->frames[i].function)
			continue;
		if (is_own_function(callers, &place->frames[i]))
			return (struct caller){ .place = place, .frame = i };
	}
	return (struct caller){ .place = NULL };
}

struct caller callers_second(struct callers *callers, uint32_t stack)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];
	struct caller first = { .place = NULL }, next;

	for (uint32_t i = 0; i < frames->frame_count; i++) {
		struct rec_frame frame = callers->recording->frames[frames->first_frame + i];
		const struct symbol_place *place;

		if (frame.module == NO_INDEX || callers->module_sorts[frame.module] != MODULE_OWN)
			continue;
		place = symbols_place(callers->symbols, frame, true);
		next = next_own_frame(callers, place, 0);
		if (!first.place && next.place) {
			first = next;
			next = next_own_frame(callers, place, first.frame + 1);
		}
		if (next.place)
			return next;
	}
	return (struct caller){ .place = NULL };
}

struct caller callers_named(struct callers *callers, uint32_t stack)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];

	for (uint32_t i = 0; i < frames->frame_count; i++) {
		struct rec_frame frame = callers->recording->frames[frames->first_frame + i];
		const struct symbol_place *place;

		if (frame.module == NO_INDEX || callers->module_sorts[frame.module] != MODULE_OWN)
			continue;
		place = symbols_place(callers->symbols, frame, true);
		for (size_t k = 0; k < place->frame_count; k++) {
			const char *function = place->frames[k].function;

			if (function && is_own_function(callers, &place->frames[k]) &&
			    strcmp(function, "main") != 0)
				return (struct caller){ .place = place, .frame = k };
		}
	}
	return (struct caller){ .place = NULL };
}

bool callers_is_interpreter(const struct callers *callers, struct rec_frame frame)
{
	return frame.module != NO_INDEX &&
	       callers->module_sorts[frame.module] == MODULE_INTERPRETER;
}

struct caller callers_interpreter(struct callers *callers, uint32_t stack)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];

	for (uint32_t i = 0; i < frames->frame_count; i++) {
		struct rec_frame frame = callers->recording->frames[frames->first_frame + i];
		const struct symbol_place *place;

		if (frame.module == NO_INDEX ||
		    callers->module_sorts[frame.module] != MODULE_INTERPRETER)
			continue;
		place = symbols_place(callers->symbols, frame, true);
		if (place->frames[0].function)
			return (struct caller){ .place = place, .frame = 0 };
	}
	return (struct caller){ .place = NULL };
}

/* Whether the last frame is where threads start: stacks are cut off at some depth. */
static bool reaches_start(struct callers *callers, uint32_t stack)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];
	const struct symbol_place *place;
	struct rec_frame last;
	const char *function;

	if (!frames->frame_count)
		return false;
	last = callers->recording->frames[frames->first_frame + frames->frame_count - 1];
	if (last.module == NO_INDEX)
		return false;
	place = symbols_place(callers->symbols, last, true);
	function = place->frames[place->frame_count - 1].function;
	return function ? is_thread_start(function)
			: callers->module_sorts[last.module] != MODULE_OWN;
}

struct caller callers_innermost(struct callers *callers, uint32_t stack)
{
	struct found *found = &callers->found[stack];

	assert(stack < callers->recording->stack_count);
	if (!found->has_innermost)
		found->innermost = find_caller(callers, stack, false);
	found->has_innermost = true;
	return found->innermost;
}

struct caller callers_outermost(struct callers *callers, uint32_t stack)
{
	struct found *found = &callers->found[stack];

	assert(stack < callers->recording->stack_count);
	if (!found->has_outermost && reaches_start(callers, stack))
		found->outermost = find_caller(callers, stack, true);
	found->has_outermost = true;
	return found->outermost;
}

bool callers_is_runtime(struct callers *callers, struct rec_frame frame,
			const struct symbol_frame *function)
{
	if (frame.module != NO_INDEX && callers->module_sorts[frame.module] == MODULE_RUNTIME)
		return true;
	return function->function &&
	       (!is_own_function(callers, function) || is_thread_start(function->function));
}

struct caller callers_routine(struct callers *callers, uint32_t process, uint64_t address,
			      uint64_t at_ns)
{
	uint32_t module = symbols_module(callers->symbols, process, address, at_ns);

	if (module == NO_INDEX || callers->module_sorts[module] != MODULE_OWN)
		return (struct caller){ .place = NULL };
	return own_frame(callers,
			 symbols_place_of_address(callers->symbols, process, address, at_ns), true);
}

const char *callers_function_text(struct caller caller, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (caller.place)
		symbols_function_text(caller.place, caller.frame, text, text_bytes);
	return text;
}

const char *callers_site_text(struct caller caller, char *text, size_t text_bytes)
{
	const struct symbol_frame *frame;
	const char *slash;

	text[0] = '\0';
	if (!caller.place)
		return text;
	frame = &caller.place->frames[caller.frame];
	if (!frame->function)
		return symbols_frame_text(caller.place, caller.frame, text, text_bytes);
	if (frame->file && frame->line) {
		slash = strrchr(frame->file, '/');
		snprintf(text, text_bytes, "%s() %s:%" PRIu32, frame->function,
			 slash ? slash + 1 : frame->file, frame->line);
	} else {
		snprintf(text, text_bytes, "%s()+0x%" PRIx64, frame->function,
			 caller.place->function_offset);
	}
	return text;
}

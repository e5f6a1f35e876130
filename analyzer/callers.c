/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own frames, by the globs of runtime.def.
 *
 * Frames of runtime modules are passed over without looking up their names, so their debug
 * information is not even opened. Frames outside all modules (code made at run time) have names
 * that no two runs share and are passed over too. One thread.
 */
#include "callers.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const char *const runtime_modules[] = {
#define RUNTIME_MODULE(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

static const char *const runtime_functions[] = {
#define RUNTIME_FUNCTION(glob, meaning) glob,
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

struct callers {
	const struct recording *recording;
	struct symbols *symbols;
	struct callers_options options;
	bool *is_runtime_module; /* per module */
	struct found *found;     /* per stack */
};

static bool fits(const char *const *globs, const char *text)
{
	for (; globs && *globs; globs++)
		if (fnmatch(*globs, text, 0) == 0)
			return true;
	return false;
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
	callers->is_runtime_module = memory_new(recording->module_count, sizeof(bool));
	callers->found = memory_new(recording->stack_count, sizeof(*callers->found));
	for (size_t i = 0; i < recording->module_count; i++) {
		const char *name = symbols_module_name(symbols, (uint32_t)i);

		callers->is_runtime_module[i] =
			fits(runtime_modules, name) || fits(callers->options.modules, name);
	}
	return callers;
}

void callers_free(struct callers *callers)
{
	if (!callers)
		return;
	free(callers->is_runtime_module);
	free(callers->found);
	free(callers);
}

static bool is_own_function(const struct callers *callers, const char *function)
{
	return !function ||
	       !(fits(runtime_functions, function) || fits(callers->options.functions, function));
}

/* The innermost frame of a place that is the program's own, or the outermost. */
static struct caller own_frame(const struct callers *callers, const struct symbol_place *place,
			       bool is_outermost)
{
	for (size_t i = 0; i < place->frame_count; i++) {
		size_t frame = is_outermost ? place->frame_count - 1 - i : i;

		if (place->is_jit && !place->frames[frame].function)
			continue;
		if (is_own_function(callers, place->frames[frame].function))
			return (struct caller){ .place = place, .frame = frame };
	}
	return (struct caller){ .place = NULL };
}

static struct caller find_caller(struct callers *callers, uint32_t stack, bool is_outermost)
{
	const struct rec_stack *frames = &callers->recording->stacks[stack];
	struct caller caller = { .place = NULL };

	for (uint32_t i = 0; i < frames->frame_count && !caller.place; i++) {
		uint32_t at = is_outermost ? frames->frame_count - 1 - i : i;
		struct rec_frame frame = callers->recording->frames[frames->first_frame + at];

		if (frame.module == NO_INDEX || callers->is_runtime_module[frame.module])
			continue;
		caller = own_frame(callers, symbols_place(callers->symbols, frame, true),
				   is_outermost);
	}
	return caller;
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
	return function ? is_thread_start(function) : callers->is_runtime_module[last.module];
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

struct caller callers_routine(struct callers *callers, uint32_t process, uint64_t address,
			      uint64_t at_ns)
{
	uint32_t module = symbols_module(callers->symbols, process, address, at_ns);

	if (module == NO_INDEX || callers->is_runtime_module[module])
		return (struct caller){ .place = NULL };
	return own_frame(callers,
			 symbols_place_of_address(callers->symbols, process, address, at_ns), true);
}

const char *callers_function_text(struct caller caller, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (caller.place && caller.place->frames[caller.frame].function)
		snprintf(text, text_bytes, "%s", caller.place->frames[caller.frame].function);
	else if (caller.place)
		symbols_frame_text(caller.place, caller.frame, text, text_bytes);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose call a recorded stack is: the innermost frame that belongs to the program itself.
 *
 * One thread. Each stack is looked at once. The recording and the symbols must live longer.
 */
#ifndef WCPROF_CALLERS_H
#define WCPROF_CALLERS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"
#include "symbols.h"

/*
 * More patterns of what is not the program itself, besides the rows of runtime.def. Functions match
 * by their readable name, libraries by their file's name without the directory. The executable
 * never matches.
 */
struct callers_options {
	const regex_t *skips; /* compiled, at least one */
	size_t skip_count;
};

/* A frame of a place; place is NULL when the stack has none that will do. */
struct caller {
	const struct symbol_place *place;
	size_t frame;
};

struct callers;

/* `options` may be NULL. */
struct callers *callers_new(const struct recording *recording, struct symbols *symbols,
			    const struct callers_options *options);

void callers_free(struct callers *callers);

/* The innermost frame of `stack` that is the program's own. */
struct caller callers_innermost(struct callers *callers, uint32_t stack);

/* The innermost of those that have a name and are not main; for a program that is stripped of the
 * names of its static functions. */
struct caller callers_named(struct callers *callers, uint32_t stack);

/* The one that called it: the next frame outwards that is the program's own. */
struct caller callers_second(struct callers *callers, uint32_t stack);

/* Whether the frame is that of a language's interpreter, which says nothing about the program. */
bool callers_is_interpreter(const struct callers *callers, struct rec_frame frame);

/* The innermost frame of an interpreter that has a name. */
struct caller callers_interpreter(struct callers *callers, uint32_t stack);

/* The outermost one, if the stack reaches down to the start of its thread, and no interpreter's
 * lies between. */
struct caller callers_outermost(struct callers *callers, uint32_t stack);

/* Whether a function in that frame is a runtime's, or where threads start. An interpreter's are
 * what the program runs on, and no runtime's. Its texts must stay where they are for as long as
 * `callers` lives. */
bool callers_is_runtime(struct callers *callers, struct rec_frame frame,
			const struct symbol_frame *function);

/* The start routine at `address` at that time, unless it belongs to a runtime. */
struct caller callers_routine(struct callers *callers, uint32_t process, uint64_t address,
			      uint64_t at_ns);

/* Writes the function's name, or "module+0x1234"; "" for none. Returns text. */
const char *callers_function_text(struct caller caller, char *text, size_t text_bytes);

/* Writes "function() file.c:12", "function()+0x1f" or "module+0x1234"; "" for none. Returns text.
 */
const char *callers_site_text(struct caller caller, char *text, size_t text_bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code by lines of source, and functions that are copied into others. One thread.
 */
#ifndef WCPROF_SOURCE_H
#define WCPROF_SOURCE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOURCE_PLACES_MAX = 64 };

struct source_place {
	uint64_t address;
	Dwarf_Off function; /* of the innermost one, which may be inlined */
};

/* One line. */
struct source_line {
	const char *file; /* as the compiler was given it; NULL: there is no such file */
	uint32_t line;    /* that has code: the one that was asked for, or one behind it */
	struct source_place places[SOURCE_PLACES_MAX]; /* the first of each function */
	size_t count;
	bool is_too_many;
};

/* A file is known by its path, or the end of that. Line 0 in the result: no code from there on. */
void source_find(Dwarf *dwarf, const char *file, uint32_t line, struct source_line *found);

/* Calls `see` for each piece of code that the line has. */
void source_ranges(Dwarf *dwarf, const char *file, uint32_t line,
		   void (*see)(void *context, uint64_t low, uint64_t high), void *context);

/* Calls `see` for each copy of a function in another: where it is called, and its first line. False
 * from `see` ends that. */
void source_inlined(Dwarf *dwarf, const char *function,
		    bool (*see)(void *context, const char *file, uint32_t line), void *context);

/* Whether a path is meant by a name: it is that, or ends with it behind a slash. */
bool source_is_called(const char *path, const char *name);

/* Calls `see` for each line that has code, not in order: of a file, or of [low, high) if `file` is
 * NULL. */
void source_lines(Dwarf *dwarf, const char *file, uint64_t low, uint64_t high,
		  void (*see)(void *context, const char *file, uint32_t line), void *context);

#endif

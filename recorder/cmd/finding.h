/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the places of one probe's text; probe_spec.h has the contract. One thread.
 */
#ifndef WCPROF_FINDING_H
#define WCPROF_FINDING_H

#include "grammar.h"
#include "mapped.h"
#include "probe_spec.h"
#include "variables.h"

struct probe_target {
	struct mapped mapped;
};

struct finding {
	struct mapped *mapped;
	const struct probe_text *text;
	struct probe_places *found;
	char *error;
	int result; /* 0 until something stops it */
};

/* One of finding*.c each: adds places, or sets the result. */
void finding_functions(struct finding *finding);
void finding_lines(struct finding *finding);
void finding_marks(struct finding *finding);

/* Sets the result, once; false. */
bool finding_fail(struct finding *finding, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a line to what is said of a success. */
void finding_note(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether the text may mean this file. The library itself is none of the program's. */
bool finding_searches(const struct finding *finding, const struct mapped_file *file);
/* "/usr/bin/x", "/usr/bin/x and its libraries", "libfoo.so" */
void finding_write_files(const struct finding *finding, char *to, size_t size);
/* NULL: it is there already, or the result says why not. */
struct probe_place *finding_add(struct finding *finding, struct mapped_file *file,
				enum probe_kind kind, uint64_t address);
/* The function around an address, by symbols; NULL: none. Fills in the place's bounds and name. */
const struct mapped_function *finding_name(struct finding *finding, struct mapped_file *file,
					   struct probe_place *place);
/* The same by the tables for unwinding, without a name; false: they do not say. */
bool finding_bounds(const struct mapped_file *file, uint64_t address, uint64_t *low,
		    uint64_t *high);
/* Opens the variables at the place, and says what they say of it. False: no debug information. */
bool finding_open(struct finding *finding, struct mapped_file *file,
		  const struct mapped_function *function, struct probe_place *place,
		  struct variables *variables);

/* "query.c" of "src/query.c" */
const char *finding_base_name(const char *path);
/* A symbol as the program's text has it, without parameters. To be freed; NULL: no memory. */
char *finding_readable(const char *symbol);
/* "query::parse" is called "parse", too. */
bool finding_is_end(const char *name, const char *wanted);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the parameters of a function are at its entry, by their types and the convention for calls
 * (System V, x86-64).
 *
 * Debug information of unoptimised code says only where they will be after the first instructions.
 * That of optimised code may say nothing of one that is not used. One thread.
 */
#ifndef WCPROF_VARIABLES_CONVENTION_H
#define WCPROF_VARIABLES_CONVENTION_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "variables_location.h"

/* As many as functions have. */
struct convention {
	unsigned integers; /* registers that are taken */
	unsigned vectors;
	int64_t stack;    /* bytes above the return address that are taken */
	bool takes_stack; /* some parameter is there */
	bool is_rust;     /* which promises nothing */
	bool is_unknown;  /* so neither of those that follow is known */
};

/* Before the first parameter; the type of what is returned may be NULL: nothing. */
void convention_begin(struct convention *convention, Dwarf_Die *returned, bool is_rust);
/* The next one: NULL, or why it cannot be had. Each is to be asked about in turn. */
const char *convention_next(struct convention *convention, Dwarf_Die *type,
			    struct location *location);
/* The value that a function returns, just after that. */
const char *convention_returned(Dwarf_Die *type, bool is_rust, struct location *location);

/* Whether a class of C++ is copied byte by byte; all else is. */
bool convention_is_trivial(Dwarf_Die *type);

/* The type behind names and qualifiers; false: it is void. Also for others. */
bool convention_strip(Dwarf_Die *type, Dwarf_Die *stripped);

#endif

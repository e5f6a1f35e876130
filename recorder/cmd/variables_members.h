/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a variable to the part that an expression of C wants of it, and how that is shown. One
 * thread.
 */
#ifndef WCPROF_VARIABLES_MEMBERS_H
#define WCPROF_VARIABLES_MEMBERS_H

#include <elfutils/libdw.h>
#include <stddef.h>

#include "grammar.h"
#include "variables_location.h"

enum { MEMBERS_WHY_BYTES = 512 };

/* Turns a variable's place and type into the program of the expression, in location->program.
 * False: `why` is a sentence's end that begins behind the expression's text. */
bool members_fetch(const struct probe_expression *expression, Dwarf_Die *type,
		   struct location *location, char why[MEMBERS_WHY_BYTES]);

/* A type as it is written in C, as far as that goes: "struct query *". */
void members_write_type(Dwarf_Die *type, char *to, size_t size);
bool members_is_reference(Dwarf_Die *type);

#endif

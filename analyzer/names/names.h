/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol names as people write them: demangled, without parameters and without what compilers
 * append.
 *
 * One thread. Each spelling is demangled once; the results live until names_free(). Two equal
 * results are one pointer.
 */
#ifndef WCPROF_NAMES_H
#define WCPROF_NAMES_H

#include <stddef.h>

#include "base/blocks.h"

struct names_entry;

struct names {
	struct blocks blocks;
	struct names_entry *entries;
	size_t count;
	size_t room; /* a power of two, or 0 */
};

/* The readable form of `symbol`. */
const char *names_readable(struct names *names, const char *symbol);

/* The one copy of `text`. */
const char *names_intern(struct names *names, const char *text);

void names_free(struct names *names);

#endif

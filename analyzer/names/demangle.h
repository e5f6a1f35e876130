/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol names as people write them: demangled, without parameters and without what compilers
 * append.
 *
 * One thread. Each spelling is demangled once; the results live until demangle_free(). Two equal
 * results are one pointer.
 */
#ifndef WCPROF_DEMANGLE_H
#define WCPROF_DEMANGLE_H

#include <stddef.h>

#include "base/blocks.h"

struct demangle_entry;

struct demangler {
	struct blocks blocks;
	struct demangle_entry *entries;
	size_t count;
	size_t room; /* a power of two, or 0 */
};

/* The readable form of `symbol`. */
const char *demangle_symbol(struct demangler *demangler, const char *symbol);

/* The one copy of `text`. */
const char *demangle_intern(struct demangler *demangler, const char *text);

void demangle_free(struct demangler *demangler);

#endif

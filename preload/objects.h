/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a loaded object, read without the loader's lock. */
#ifndef WCPROF_OBJECTS_H
#define WCPROF_OBJECTS_H

#include <link.h>

#include "hooks.h"

struct symbol_row {
	const char *symbol;
	const char *version; /* NULL: the default one */
	bool is_data;        /* no function */
};

/* The tables of one loaded object. */
struct object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * versions;
	const ElfW(Verdef) * definitions;
	const char *name;            /* its soname; "" = it has none */
	const ElfW(Rela) * slots[2]; /* relocations that bind calls: of the procedure linkage table,
				      * and of all else */
	size_t slot_counts[2];
};

void object_read(struct object *, const struct link_map *) HIDDEN;
/* NULL: it does not define that. */
void *object_look_up(const struct object *, const struct symbol_row *) HIDDEN;
bool object_is_equal(const char *, const char *) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a loaded object of another process exports. They are read from its memory: the
 * file may be another one by now, or in another mount name space.
 */
#ifndef WCPROF_ATTACH_SYMBOLS_H
#define WCPROF_ATTACH_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_symbol {
	const char *name;
	uint64_t address;
	uint64_t bytes;
};

struct attach_symbols {
	uint64_t start; /* addresses of the object */
	uint64_t end;
	char *strings;
	struct attach_symbol *all;
	size_t count;
};

/* Of the object whose file's name begins so. 0; -ENOENT: there is none; or -errno. */
int attach_symbols_read(struct attach_symbols *symbols, pid_t pid, int memory, const char *name);
void attach_symbols_free(struct attach_symbols *symbols);
/* The first one from `from` on that has the name; NULL: there is none (any more). */
const struct attach_symbol *attach_symbols_next(const struct attach_symbols *symbols,
						const char *name, const struct attach_symbol *from);
/* 0: there is none. */
uint64_t attach_symbols_address(const struct attach_symbols *symbols, const char *name);

#endif

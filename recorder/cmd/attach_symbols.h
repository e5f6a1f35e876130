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
};

struct attach_symbols {
	uint64_t code_end; /* of its last segment that is executed */
	uint64_t data_end; /* of its last one that is written */
	char *strings;
	struct attach_symbol *all;
	size_t count;
};

/* Of the object whose file's name begins so. 0; -ENOENT: there is none; or -errno. */
int attach_symbols_read(struct attach_symbols *symbols, pid_t pid, int memory, const char *name);
void attach_symbols_free(struct attach_symbols *symbols);
/* 0: there is none. */
uint64_t attach_symbols_address(const struct attach_symbols *symbols, const char *name);

#endif

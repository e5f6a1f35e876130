/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks that a program's authors have left in it (USDT): notes that say where, and where the values
 * are. One thread; nothing is allocated.
 */
#ifndef WCPROF_USDT_H
#define WCPROF_USDT_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_code.h"

struct usdt_mark {
	uint64_t address;   /* of the NOP, in the file */
	uint64_t semaphore; /* of the counter, in the file; 0: none */
	const char *provider;
	const char *name;
	const char *arguments; /* "-4@%eax 8@-16(%rbp)" */
};

/* Calls `see` for each mark of the file until it returns false. The strings are the file's. */
void usdt_each(Elf *elf, bool (*see)(void *context, const struct usdt_mark *mark), void *context);

/*
 * One fetch for each argument, up to `max`; the number of them. One whose place is of no known kind
 * has a size of 0. `find` gives the address of a variable of the module, 0: there is none.
 */
size_t usdt_arguments(const char *text, struct probe_fetch *fetches, size_t max,
		      uint64_t (*find)(void *context, const char *symbol, size_t length),
		      void *context);

#endif

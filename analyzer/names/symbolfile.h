/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of names for one file's addresses: the file itself, or the dump. For code outside all
 * files it is the map that a run-time compiler wrote.
 *
 * One thread. The recording must live longer.
 */
#ifndef WCPROF_SYMBOLFILE_H
#define WCPROF_SYMBOLFILE_H

#include <stdbool.h>

#include "objectfile.h"
#include "perfmap.h"
#include "recording/recording.h"
#include "symbols.h"

struct symbol_file {
	uint32_t path; /* string ids of the recording */
	uint32_t build_id;
	uint32_t process; /* of code outside all files, else NO_INDEX */
	uint32_t module;  /* the first one that is this file */
	uint32_t naming;  /* index of the names that the dump has for it, NO_INDEX = none */
	bool is_opened;
	struct objectfile *object; /* NULL: not opened, or code outside all files */
	struct perfmap map;
};

/* The file of module `index`; not opened. */
struct symbol_file symbol_file_of(const struct recording *recording, uint32_t index);

bool symbol_file_is_same(const struct symbol_file *a, const struct symbol_file *b);

/* Opens it if it is not yet, below the directory `root` if it is there; NULL = no such directory.
 * `dumps` are paths of dumps. Never one of which the dump says the names. */
void symbol_file_open(struct symbol_file *file, const struct recording *recording, const char *root,
		      char *const *dumps, size_t dump_count);

struct symbol_file_info symbol_file_info(const struct symbol_file *file,
					 const struct recording *recording);

void symbol_file_close(struct symbol_file *file);

#endif

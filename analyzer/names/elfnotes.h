/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes in an ELF file: its build id, and the package that it is of (.note.package).
 *
 * Any thread.
 */
#ifndef WCPROF_ELFNOTES_H
#define WCPROF_ELFNOTES_H

#include <stdbool.h>

#include "read/jsontexts.h"

enum { ELF_BUILD_ID_BYTES = 129 };

struct elf_notes {
	char build_id[ELF_BUILD_ID_BYTES]; /* hexadecimal, "" = none */
	/* As the note has them, "" = no such note. */
	char type[JSON_TEXTS_BYTES]; /* "deb", "rpm" ... */
	char name[JSON_TEXTS_BYTES];
	char version[JSON_TEXTS_BYTES];
};

/* False: no such file, or it is no ELF file. */
bool elf_notes_read(struct elf_notes *notes, const char *path);

#endif

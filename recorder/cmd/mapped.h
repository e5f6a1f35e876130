/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a process has mapped as code: their functions and their debug information. They
 * are read as the process sees them, which may be in another mount name space.
 *
 * One thread. A file is read when it is first asked about. Addresses are those of its own symbol
 * table, never of the process.
 */
#ifndef WCPROF_MAPPED_H
#define WCPROF_MAPPED_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe_spec.h"

struct mapped_function {
	const char *name; /* as the linker spells it, perhaps with "@VERSION" */
	uint64_t address;
	uint64_t bytes;       /* 0: not known */
	bool is_chosen_later; /* the code there only chooses a function (IFUNC) */
	bool is_exported;     /* callers may be anywhere: it keeps to the convention for calls */
};

struct mapped_file {
	struct probe_module module;
	char *path;
	uint64_t start, end, offset; /* of its first mapping with code */
	bool is_opened;
	bool has_functions;
	bool has_dwarf;
	Dwfl *dwfl; /* NULL: it cannot be read */
	Dwfl_Module *dwfl_module;
	Elf *elf;
	Dwarf *dwarf;                      /* NULL: none */
	struct mapped_function *functions; /* in order of address */
	size_t function_count;
};

struct mapped {                    /* stays where it is while it is open */
	pid_t pid;                 /* 0: no process, one file */
	struct mapped_file *files; /* the program first, then by address */
	size_t count;
	char *debug_path; /* where debug information is looked for */
	Dwfl_Callbacks callbacks;
};

/* 0, or -errno: its map cannot be read. */
int mapped_open(struct mapped *mapped, pid_t pid);
/* The same, of a file that is not mapped anywhere; -ENOEXEC: not an ELF file. */
int mapped_open_file(struct mapped *mapped, const char *path);
void mapped_close(struct mapped *mapped);

/* Whether the user may call it `name`: its path, the end of that, or "libfoo" for libfoo.so.1. */
bool mapped_is_called(const struct mapped_file *file, const char *name);

/* Opens it; false: it cannot be read, or is not of this machine's kind. Sets its bias and build id.
 */
bool mapped_load(struct mapped *mapped, struct mapped_file *file);
/* Its functions; the number is 0 if it cannot be read. */
size_t mapped_functions(struct mapped *mapped, struct mapped_file *file,
			const struct mapped_function **functions);
/* Its debug information; NULL: it has none here. */
Dwarf *mapped_dwarf(struct mapped *mapped, struct mapped_file *file);
/* Where an address of code is in the file's bytes; false: not code. */
bool mapped_offset(struct mapped_file *file, uint64_t address, uint64_t *offset);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF file of a recording on this machine: whether it still is that file, and what its symbols
 * say.
 *
 * One thread. Names point into the file's own tables and live until objectfile_close().
 */
#ifndef WCPROF_OBJECTFILE_H
#define WCPROF_OBJECTFILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intervals.h"
#include "unitindex.h"

enum objectfile_state {
	OBJECTFILE_OPEN,
	OBJECTFILE_MISSING,    /* no such file, or not an ELF file */
	OBJECTFILE_OTHER_BUILD /* a file of that name, but built from something else: it must not
				  name anything */
};

enum { BUILD_ID_TEXT_BYTES = 128 };

struct objectfile {
	enum objectfile_state state;
	char found_build_id[BUILD_ID_TEXT_BYTES]; /* OTHER_BUILD: in hexadecimal, "" = none */
	Dwfl *dwfl;
	Dwfl_Module *module;
	bool has_symbols; /* the tables below have been read */
	bool has_units;
	struct intervals functions; /* value = index into names */
	struct intervals objects;
	const char **names;
	size_t name_count;
	struct unitindex units;
};

/*
 * Opens the file at `path`, or the debug file that is installed for `build_id`. The id is
 * hexadecimal; if it is empty, any file at the path will do. "[vdso]" is the kernel's page, as it
 * is in this process. The outcome is in `state`.
 */
void objectfile_open(struct objectfile *file, const char *path, const char *build_id);

/*
 * The symbol of the function or data object at virtual address `address` and how far into it the
 * address is; NULL when there is none.
 */
const char *objectfile_function(struct objectfile *file, uint64_t address, uint64_t *offset);
const char *objectfile_object(struct objectfile *file, uint64_t address, uint64_t *offset);

/* Where the function at `address` starts, by the tables for unwinding, which stripping leaves
 * there; 0 = not known. */
uint64_t objectfile_function_start(struct objectfile *file, uint64_t address);

/* As unitindex_frames(). Reads the debug information, also from a separate file, at the first call.
 */
size_t objectfile_frames(struct objectfile *file, uint64_t address,
			 struct unitindex_frame frames[UNITINDEX_FRAMES_MAX]);

/*
 * The code at `address`, and how many bytes of code there are before it and from it on; NULL where
 * the file has none. As long as the file is open.
 */
const uint8_t *objectfile_code(struct objectfile *file, uint64_t address, size_t *before,
			       size_t *after);

void objectfile_close(struct objectfile *file);

#endif

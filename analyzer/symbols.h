/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of a recording as names: functions with file and line, data objects.
 *
 * Addresses are looked up in the files that the recording names, if they still are the same builds;
 * where a name is not to be had, the answer is "module+0x1234", never an error. Each distinct
 * address is looked up once. One thread; answers live until symbols_free(), and the recording must
 * live longer.
 */
#ifndef WCPROF_SYMBOLS_H
#define WCPROF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording.h"

struct symbols;

/* A function that an address is in: its own, or one that another function was inlined into. */
struct symbol_frame {
	const char *function; /* readable, NULL = not known */
	const char *file;     /* as the compiler was told, NULL = not known */
	uint32_t line;
	bool is_inlined; /* into the next frame */
};

/* What is known about one address. */
struct symbol_place {
	const struct symbol_frame *frames; /* innermost first, at least one */
	size_t frame_count;
	const char *module;       /* the file's name without its directory, "" outside all */
	uint64_t offset;          /* as recorded: virtual address in the module, or the address */
	uint64_t function_offset; /* from the function's start, 0 when that is not known */
};

struct symbols_counts {
	size_t files_missing;
	size_t files_other_build; /* found, but not what was recorded */
	size_t places_named;
	size_t places_unnamed;
};

struct symbols *symbols_new(const struct recording *recording);

void symbols_free(struct symbols *symbols);

/* Return addresses are those of the instruction after the call: the call itself is what gets named.
 */
const struct symbol_place *symbols_place(struct symbols *symbols, struct rec_frame frame,
					 bool is_return_address);

/* The place of a mapped code address of a process. */
const struct symbol_place *symbols_place_of_address(struct symbols *symbols, uint32_t process,
						    uint64_t address);

/* The module of a process that `address` lies in, or NO_INDEX. */
uint32_t symbols_module(const struct symbols *symbols, uint32_t process, uint64_t address);

/* The file name without its directory of module `module`; "" for NO_INDEX. */
const char *symbols_module_name(const struct symbols *symbols, uint32_t module);

/*
 * Writes the data object at `address` ("table_lock", "cache+16", else "module+0x1234") into `text`.
 * False when the address is in no module; `text` then is empty.
 */
bool symbols_object_text(struct symbols *symbols, uint32_t process, uint64_t address, char *text,
			 size_t text_bytes);

/* Writes frame `index` of a place: "function file.c:12", "function", "module+0x1234". Returns text.
 */
const char *symbols_frame_text(const struct symbol_place *place, size_t index, char *text,
			       size_t text_bytes);

struct symbols_counts symbols_counts(const struct symbols *symbols);

/*
 * The files that could not be used, for warnings: calls back once a file with its path and whether
 * it was found but is another build.
 */
void symbols_each_unusable(const struct symbols *symbols,
			   void (*report)(void *context, const char *path, bool is_other_build),
			   void *context);

#endif

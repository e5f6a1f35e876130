/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of a recording as names: functions with file and line, data objects.
 *
 * Addresses are looked up in the files that the recording names, if they still are the same builds.
 * A dump may bring the names with it; then no file is opened. Code outside all files is looked up
 * in the maps of run-time compilers. Where a name is not to be had, the answer is "module+0x1234",
 * never an error. Each distinct address is looked up once. One thread; answers live until
 * symbols_free(), and the recording must live longer.
 */
#ifndef WCPROF_SYMBOLS_H
#define WCPROF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

struct symbols;

/* A function that an address is in: its own, or one that another function was inlined into. */
struct symbol_frame {
	const char *function; /* readable, NULL = not known */
	const char *file;     /* as the compiler was told, NULL = not known */
	uint32_t line;
	bool is_inlined; /* into the next frame */
};

/* The answer for one address. */
struct symbol_place {
	const struct symbol_frame *frames; /* innermost first, at least one */
	size_t frame_count;
	const char *module;       /* the file's name without its directory, "" outside all */
	uint64_t offset;          /* as recorded: virtual address in the module, or the address */
	uint64_t function_offset; /* from the function's start, 0 when that is not known */
	uint64_t function_start;  /* of one without a name: as `offset`, 0 when it is not known */
	bool is_jit;              /* outside all files */
};

/* A data object at or below an address; name is NULL where there is none. */
struct symbol_object {
	const char *name;
	uint64_t object_offset; /* of the address from the object's start */
	uint32_t module;
	uint64_t offset; /* virtual address in the module */
};

/* `dumps` are the paths of the recording's dumps: maps of run-time code are looked for beside them.
 */
struct symbols *symbols_new(const struct recording *recording, char *const *dumps,
			    size_t dump_count);

/* Files are looked for below this directory first; "" = nowhere else. Before any place is asked
 * for. */
void symbols_look_below(struct symbols *symbols, const char *root);

void symbols_free(struct symbols *symbols);

/* Return addresses are those of the instruction after the call: the call itself is what gets named.
 */
const struct symbol_place *symbols_place(struct symbols *symbols, struct rec_frame frame,
					 bool is_return_address);

/* The code that a frame was running, as objectfile_code(); NULL when its file is not here. */
const uint8_t *symbols_code(struct symbols *symbols, struct rec_frame frame, bool is_return_address,
			    size_t *before, size_t *after);

/* The place of a code address that a process had mapped at that time. */
const struct symbol_place *symbols_place_of_address(struct symbols *symbols, uint32_t process,
						    uint64_t address, uint64_t at_ns);

/* The module of a process that `address` lay in at that time, or NO_INDEX. */
uint32_t symbols_module(const struct symbols *symbols, uint32_t process, uint64_t address,
			uint64_t at_ns);

/* The file name without its directory of module `module`; "" for NO_INDEX. */
const char *symbols_module_name(const struct symbols *symbols, uint32_t module);

/* The data object at `address`; false when the address is in no module. */
bool symbols_object(struct symbols *symbols, uint32_t process, uint64_t address, uint64_t at_ns,
		    struct symbol_object *object);

/*
 * Writes the data object at `address` ("table_lock", "cache+16", else "module+0x1234") into `text`.
 * A function that begins there stands for an object of its library. False when the address is in no
 * module; `text` then is empty.
 */
bool symbols_object_text(struct symbols *symbols, uint32_t process, uint64_t address,
			 uint64_t at_ns, char *text, size_t text_bytes);

/* Writes frame `index` of a place: "function file.c:12", "function", "module+0x1234", "[jit]".
 * Returns text. */
const char *symbols_frame_text(const struct symbol_place *place, size_t index, char *text,
			       size_t text_bytes);

/* As that, but of the function alone: "function", or for one without a name "module+0x1234", where
 * it starts as far as that is known. */
const char *symbols_function_text(const struct symbol_place *place, size_t index, char *text,
				  size_t text_bytes);

/* --- What was used: for warnings, and to put the names into a dump --- */

enum symbol_file_state {
	SYMBOL_FILE_UNUSED, /* no address in it was asked for */
	SYMBOL_FILE_OPEN,
	SYMBOL_FILE_MISSING,
	SYMBOL_FILE_OTHER_BUILD, /* found, but not what was recorded */
	SYMBOL_FILE_GIVEN        /* the dump brings its names */
};

/* Files are numbered from 0; code outside all files counts as one for each process. */
struct symbol_file_info {
	const char *path;
	const char *build_id;
	const char *found_build_id; /* of another build; "" = it has none */
	const char *client;         /* "" but for code outside all files */
	enum symbol_file_state state;
};

size_t symbols_file_count(const struct symbols *symbols);
struct symbol_file_info symbols_file(const struct symbols *symbols, uint32_t file);
uint32_t symbols_file_of_module(const struct symbols *symbols, uint32_t module);

/* Calls back for each place that has been asked for or given, in no order. */
struct symbol_found {
	const struct symbol_place *place;
	uint32_t file;
	bool is_return_address;
};
void symbols_each_place(const struct symbols *symbols,
			void (*visit)(void *context, const struct symbol_found *found),
			void *context);

#endif

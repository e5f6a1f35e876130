/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses in a living process. libdw reads the files; nothing is stopped.
 *
 * A lock that is taken in C++ is a call in a header of the library's, compiled into the program's
 * own function. The line that tells something is the one in the program's own text. runtime.def
 * says which inlined functions are the library's. One thread.
 */
#include "frames.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"

struct frames {
	Dwfl *dwfl;
	char *debug_path; /* libdw's own */
	Dwfl_Callbacks callbacks;
};

/* The process of the frames that are open: libdw does not say for which it wants a file. */
static pid_t process;

/* The file that the process sees: another one may have its path here. */
static int find_file(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr base,
		     char **file_name, Elf **elf)
{
	int fd = -ENOENT;

	if (name[0] == '/')
		fd = procfs_open_seen(process, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return dwfl_linux_proc_find_elf(module, own, name, base, file_name, elf);
	*file_name = strdup(name);
	return fd;
}

struct frames *frames_open(pid_t pid)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	process = pid;
	frames->callbacks = (Dwfl_Callbacks){
		.find_elf = find_file,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &frames->debug_path,
	};
	frames->dwfl = dwfl_begin(&frames->callbacks);
	if (frames->dwfl && dwfl_linux_proc_report(frames->dwfl, pid) == 0 &&
	    dwfl_report_end(frames->dwfl, NULL, NULL) == 0)
		return frames;
	frames_close(frames);
	return NULL;
}

void frames_close(struct frames *frames)
{
	if (!frames)
		return;
	if (frames->dwfl)
		dwfl_end(frames->dwfl);
	free(frames);
}

/* libdw takes an address behind the last file for one of that file's. */
static Dwfl_Module *find_module(struct frames *frames, uint64_t address)
{
	Dwfl_Module *module = frames ? dwfl_addrmodule(frames->dwfl, address) : NULL;
	Dwarf_Addr start = 0, end = 0;

	if (module)
		dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	return address >= start && address < end ? module : NULL;
}

struct behind {
	uint64_t address;
	Dwfl_Module *module; /* the last one that begins before it */
	Dwarf_Addr start;
};

static int is_behind(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr start,
		     void *argument)
{
	struct behind *behind = argument;

	(void)own;
	(void)name;
	if (start <= behind->address && start >= behind->start) {
		behind->module = module;
		behind->start = start;
	}
	return DWARF_CB_OK;
}

/* Variables that begin as zeros may lie behind what is mapped of their file. */
static Dwfl_Module *find_module_of_variable(struct frames *frames, uint64_t address)
{
	struct behind behind = { .address = address };
	Dwfl_Module *module = find_module(frames, address);

	if (!module && frames)
		(void)dwfl_getmodules(frames->dwfl, is_behind, &behind, 0);
	return module ? module : behind.module;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* The name as the program's text has it: no version, no parameters, C++ and Rust readable. To be
 * freed; NULL for none. */
static char *readable_name(const char *name)
{
	char *plain = name ? strndup(name, strcspn(name, "@")) : NULL;
	char *readable = plain ? cplus_demangle(plain, DMGL_ANSI | DMGL_AUTO) : NULL;

	if (!readable)
		return plain;
	free(plain);
	return readable;
}

/* As runtime.def has it. */
static bool is_runtime(const char *function)
{
	static const char *const globs[] = {
#define RUNTIME_FUNCTION(glob, meaning) glob,
#include "runtime.def"
	};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (fnmatch(globs[i], function, 0) == 0)
			return true;
	return false;
}

static bool is_of_runtime(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
	char *readable = readable_name(name ? name : dwarf_diename(function));
	bool is_its = readable && is_runtime(readable);

	free(readable);
	return is_its;
}

/* A line of source. */
struct place {
	const char *file; /* libdw's own; NULL = unknown */
	int line;
};

static struct place place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct place place = { NULL, 0 };
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0)
		place = (struct place){ dwarf_filesrc(files, file, NULL, NULL), (int)line };
	return place;
}

/* The function at an address and what surrounds it, innermost first, to be freed. */
static int scopes_at(Dwfl_Module *module, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	Dwarf_Addr bias;
	Dwarf_Die innermost;
	int count = dwarf_getscopes(unit, address, scopes);

	if (count <= 0)
		return 0;
	/* Those that it finds around an inlined function are around its definition. */
	if (!dwarf_offdie(dwfl_module_getdwarf(module, &bias), dwarf_dieoffset(*scopes),
			  &innermost))
		return 0;
	free(*scopes);
	*scopes = NULL;
	count = dwarf_getscopes_die(&innermost, scopes);
	return count > 0 ? count : 0;
}

/* Where the innermost inlined functions are a runtime's, the line that calls the outermost. */
static struct place place_behind_runtime(Dwfl_Module *module, Dwarf_Die *unit, Dwarf_Addr address)
{
	struct place place = { NULL, 0 };
	Dwarf_Die *scopes = NULL;
	int count = scopes_at(module, unit, address, &scopes);

	for (int i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_inlined_subroutine)
			continue;
		if (!is_of_runtime(&scopes[i]))
			break;
		place = place_of_call(unit, &scopes[i]);
	}
	free(scopes);
	return place;
}

/* libdw takes what is behind a unit's code for the unit's last line. */
static struct place place_of(Dwfl_Module *module, uint64_t address)
{
	struct place place = { NULL, 0 };
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
	Dwfl_Line *line;

	if (!unit || dwarf_haspc(unit, address - bias) <= 0)
		return place;
	place = place_behind_runtime(module, unit, address - bias);
	line = place.file ? NULL : dwfl_module_getsrc(module, address);
	if (line)
		place.file = dwfl_lineinfo(line, NULL, &place.line, NULL, NULL, NULL);
	return place;
}

/* " (file.c:34)", or " (libx.so)" */
static void append_place(Dwfl_Module *module, uint64_t address, char *to, size_t size)
{
	struct place place = place_of(module, address);
	const char *file = NULL;
	size_t used = strlen(to);

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
	if (place.file)
		snprintf(to + used, size - used, " (%s:%d)", base_name(place.file), place.line);
	else if (file)
		snprintf(to + used, size - used, " (%s)", base_name(file));
}

void frames_describe(struct frames *frames, uint64_t return_address, char *to, size_t size)
{
	/* It may be the first byte after its function: what called lies before it. */
	uint64_t address = return_address - 1;
	Dwfl_Module *module = find_module(frames, address);
	GElf_Off offset = 0;
	GElf_Sym symbol;
	char *name = NULL;

	if (module)
		name = readable_name(
			dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL));
	if (name)
		snprintf(to, size, "%.200s+0x%" PRIx64, name, (uint64_t)offset + 1);
	else
		snprintf(to, size, "0x%" PRIx64, return_address);
	if (module)
		append_place(module, address, to, size);
	free(name);
}

bool frames_name_variable(struct frames *frames, uint64_t address, char *to, size_t size)
{
	Dwfl_Module *module = find_module_of_variable(frames, address);
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *symbol_name = NULL;
	char *name;

	if (module)
		symbol_name =
			dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	if (!symbol_name || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || offset >= symbol.st_size)
		return false;
	name = readable_name(symbol_name);
	if (!name)
		return false;
	if (offset == 0)
		snprintf(to, size, "%.200s", name);
	else
		snprintf(to, size, "%.200s+0x%" PRIx64, name, (uint64_t)offset);
	free(name);
	return true;
}

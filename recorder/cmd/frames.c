/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses in a living process. See frames.h. libdw reads the files; nothing is stopped.
 */
#include "frames.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frames {
	Dwfl *dwfl;
	char *debug_path; /* libdw's own */
	Dwfl_Callbacks callbacks;
};

struct frames *frames_open(pid_t pid)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_linux_proc_find_elf,
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

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* " (file.c:34)", or " (libx.so)" */
static void append_place(Dwfl_Module *module, uint64_t address, char *to, size_t size)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, address);
	int number = 0;
	const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	const char *file = NULL;
	size_t used = strlen(to);

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
	if (source)
		snprintf(to + used, size - used, " (%s:%d)", base_name(source), number);
	else if (file)
		snprintf(to + used, size - used, " (%s)", base_name(file));
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
	Dwfl_Module *module = find_module(frames, address);
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

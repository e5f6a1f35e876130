/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files by libdwfl, each reported at its own virtual addresses.
 *
 * libdwfl finds separate debug files by build id and debug link, compressed symbol tables
 * (.gnu_debugdata) and shared debug files. It contacts a debug server only when DEBUGINFOD_URLS
 * says so. Its own look-up of a symbol walks the whole table each time, so the tables are sorted
 * here.
 *
 * One thread. A file is opened by the path that the recording names, which on another machine may
 * be anything. Only regular files are opened, and a file whose build id differs never names an
 * address.
 */
#include "objectfile.h"

#include <assert.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "recording/recording.h"

enum { PATH_BYTES_MAX = 4096 };

static const char debug_directory[] = "/usr/lib/debug/.build-id";
static const char vdso_path[] = "[vdso]";

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static void to_hex(const unsigned char *bytes, size_t count, char text[BUILD_ID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;

	for (size_t i = 0; i < count && length + 2 < BUILD_ID_TEXT_BYTES; i++) {
		text[length++] = digits[bytes[i] >> 4];
		text[length++] = digits[bytes[i] & 15];
	}
	text[length] = '\0';
}

static bool is_regular(const char *path)
{
	struct stat status;

	return path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Takes the file at `path`, or what `fd` has if that is not -1, which then is the module's. */
static enum objectfile_state try_file(struct objectfile *file, const char *path, int fd,
				      const char *build_id)
{
	char found[BUILD_ID_TEXT_BYTES];
	const void *bytes;
	GElf_Addr bias;
	ssize_t count;
	Elf *elf;

	file->dwfl = dwfl_begin(&callbacks);
	if (!file->dwfl) {
		if (fd >= 0)
			close(fd);
		return OBJECTFILE_MISSING;
	}
	dwfl_report_begin(file->dwfl);
	file->module = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
	dwfl_report_end(file->dwfl, NULL, NULL);
	if (!file->module && fd >= 0)
		close(fd);
	elf = file->module ? dwfl_module_getelf(file->module, &bias) : NULL;
	if (elf) {
		count = dwelf_elf_gnu_build_id(elf, &bytes);
		to_hex(bytes, count > 0 ? (size_t)count : 0, found);
		if (!build_id[0] || strcmp(found, build_id) == 0)
			return OBJECTFILE_OPEN;
		memcpy(file->found_build_id, found, sizeof(found));
	}
	dwfl_end(file->dwfl);
	file->dwfl = NULL;
	file->module = NULL;
	return elf ? OBJECTFILE_OTHER_BUILD : OBJECTFILE_MISSING;
}

static enum objectfile_state try_path(struct objectfile *file, const char *path,
				      const char *build_id)
{
	return is_regular(path) ? try_file(file, path, -1, build_id) : OBJECTFILE_MISSING;
}

/* The kernel's page is no file: it is copied to one. */
static enum objectfile_state try_vdso(struct objectfile *file, const char *build_id)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = elf ? elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize : 0;
	int fd = elf ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	enum objectfile_state state = OBJECTFILE_MISSING;

	if (fd >= 0 && write(fd, elf, bytes) == (ssize_t)bytes)
		state = try_file(file, vdso_path, fd, build_id);
	else if (fd >= 0)
		close(fd);
	return state;
}

void objectfile_open(struct objectfile *file, const char *path, const char *build_id)
{
	char debug_path[PATH_BYTES_MAX];

	*file = (struct objectfile){ 0 };
	file->state = strcmp(path, vdso_path) == 0 ? try_vdso(file, build_id)
						   : try_path(file, path, build_id);
	if (file->state == OBJECTFILE_OPEN || strlen(build_id) < 3 || strchr(build_id, '/'))
		return;
	snprintf(debug_path, sizeof(debug_path), "%s/%.2s/%s.debug", debug_directory, build_id,
		 build_id + 2);
	if (try_path(file, debug_path, build_id) == OBJECTFILE_OPEN)
		file->state = OBJECTFILE_OPEN;
}

struct symbol {
	uint64_t start;
	uint64_t end;
	const char *name;
	bool is_function;
	bool is_sized;
};

/* Whether symbol `i` names code or data of this file; if so, fills in `symbol`. */
static bool read_symbol(struct objectfile *file, int i, struct symbol *symbol)
{
	GElf_Word section;
	GElf_Addr address;
	GElf_Sym sym;
	const char *name =
		dwfl_module_getsym_info(file->module, i, &sym, &address, &section, NULL, NULL);
	int type;

	if (!name || !name[0] || section == SHN_UNDEF || !address)
		return false;
	type = GELF_ST_TYPE(sym.st_info);
	symbol->is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	if (!symbol->is_function && (type != STT_OBJECT || !sym.st_size))
		return false;
	symbol->start = address;
	symbol->end = address + sym.st_size;
	symbol->is_sized = sym.st_size != 0;
	symbol->name = name;
	return symbol->end >= symbol->start;
}

/* How little a name looks like an alias for the library's own use: of two names the lower one is
 * shown. */
static size_t alias_rank(const char *name)
{
	size_t underscores = strspn(name, "_");

	return underscores * 1000 + strlen(name);
}

static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;
	size_t rank_a, rank_b;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	rank_a = alias_rank(a->name);
	rank_b = alias_rank(b->name);
	/* The later one of two equal ranges is the one found, so the best name comes last. */
	if (rank_a != rank_b)
		return rank_a > rank_b ? -1 : 1;
	return strcmp(b->name, a->name);
}

/* Functions written in assembly may have no size: they reach to the next symbol. */
static void give_sizes(struct symbol *symbols, size_t count)
{
	uint64_t next = 0;

	for (size_t i = count; i-- > 0;) {
		if (i + 1 < count && symbols[i + 1].start != symbols[i].start)
			next = symbols[i + 1].start;
		if (!symbols[i].is_sized && next)
			symbols[i].end = next;
	}
}

static void index_symbols(struct objectfile *file, const struct symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		file->names[i] = symbols[i].name;
		intervals_add(symbols[i].is_function ? &file->functions : &file->objects,
			      symbols[i].start, symbols[i].end, (uint32_t)i);
	}
	file->name_count = count;
	intervals_index(&file->functions);
	intervals_index(&file->objects);
}

static void read_symbols(struct objectfile *file)
{
	struct symbol *symbols;
	size_t count = 0;
	int total;

	if (file->has_symbols)
		return;
	file->has_symbols = true;
	total = dwfl_module_getsymtab(file->module);
	if (total <= 0)
		return;
	symbols = memory_new((size_t)total, sizeof(*symbols));
	file->names = memory_new((size_t)total, sizeof(*file->names));
	for (int i = 0; i < total; i++)
		count += read_symbol(file, i, &symbols[count]);
	qsort(symbols, count, sizeof(*symbols), compare_symbols);
	give_sizes(symbols, count);
	index_symbols(file, symbols, count);
	free(symbols);
}

static const char *find_symbol(struct objectfile *file, const struct intervals *table,
			       uint64_t address, uint64_t *offset)
{
	uint32_t row;

	if (file->state != OBJECTFILE_OPEN)
		return NULL;
	read_symbols(file);
	row = intervals_find(table, address);
	if (row == NO_INDEX)
		return NULL;
	assert(table->rows[row].value < file->name_count);
	*offset = address - table->rows[row].start;
	return file->names[table->rows[row].value];
}

const char *objectfile_function(struct objectfile *file, uint64_t address, uint64_t *offset)
{
	return find_symbol(file, &file->functions, address, offset);
}

const char *objectfile_object(struct objectfile *file, uint64_t address, uint64_t *offset)
{
	return find_symbol(file, &file->objects, address, offset);
}

size_t objectfile_frames(struct objectfile *file, uint64_t address,
			 struct unitindex_frame frames[UNITINDEX_FRAMES_MAX])
{
	if (file->state != OBJECTFILE_OPEN)
		return 0;
	if (!file->has_units) {
		Dwarf_Addr bias = 0;
		Dwarf *dwarf = dwfl_module_getdwarf(file->module, &bias);

		file->has_units = true;
		unitindex_open(&file->units, dwarf, bias);
	}
	return unitindex_frames(&file->units, address, frames);
}

/* A file of debug information alone has the segment, and nothing in it. */
static bool is_code(const GElf_Phdr *segment, uint64_t address, size_t file_bytes)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
	       address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz &&
	       segment->p_offset <= file_bytes &&
	       segment->p_filesz <= file_bytes - segment->p_offset;
}

const uint8_t *objectfile_code(struct objectfile *file, uint64_t address, size_t *before,
			       size_t *after)
{
	GElf_Addr bias;
	GElf_Phdr segment;
	size_t segments = 0, file_bytes = 0;

	if (file->state != OBJECTFILE_OPEN)
		return NULL;
	Elf *elf = dwfl_module_getelf(file->module, &bias);
	const char *bytes = elf ? elf_rawfile(elf, &file_bytes) : NULL;
	if (!bytes || elf_getphdrnum(elf, &segments) != 0)
		return NULL;
	for (size_t i = 0; i < segments; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) ||
		    !is_code(&segment, address - bias, file_bytes))
			continue;
		*before = address - bias - segment.p_vaddr;
		*after = segment.p_filesz - *before;
		return (const uint8_t *)bytes + segment.p_offset + *before;
	}
	return NULL;
}

/* --- where functions start --- */

/* The header of the tables for unwinding, with the only encodings that linkers write. */
struct unwind_header {
	uint8_t version;
	uint8_t tables_encoding;
	uint8_t count_encoding;
	uint8_t row_encoding;
	int32_t tables;
	uint32_t count;
};

struct unwind_row {
	int32_t start; /* of the function, from the header on */
	int32_t table;
};

enum {
	UNWIND_VERSION = 1,
	UNWIND_TABLES = 0x1b, /* relative to itself, four bytes */
	UNWIND_COUNT = 0x03,  /* four bytes */
	UNWIND_ROWS = 0x3b    /* relative to the header, four bytes */
};

/* The last row at or below the address; rows are in order of addresses, in a file's bytes, which
 * may be anything. */
static uint64_t start_in_rows(const char *bytes, uint32_t count, uint64_t header, uint64_t address)
{
	struct unwind_row row;
	uint64_t start = 0;

	for (uint32_t low = 0, high = count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		memcpy(&row, bytes + (size_t)middle * sizeof(row), sizeof(row));
		if (header + (uint64_t)(int64_t)row.start > address) {
			high = middle;
			continue;
		}
		start = header + (uint64_t)(int64_t)row.start;
		low = middle + 1;
	}
	return start;
}

uint64_t objectfile_function_start(struct objectfile *file, uint64_t address)
{
	struct unwind_header header;
	GElf_Addr bias;
	GElf_Phdr segment;
	size_t segments = 0, file_bytes = 0, before = 0, after;

	/* a function is in one segment */
	if (!objectfile_code(file, address, &before, &after))
		return 0;
	Elf *elf = dwfl_module_getelf(file->module, &bias);
	const char *bytes = elf ? elf_rawfile(elf, &file_bytes) : NULL;
	if (!bytes || elf_getphdrnum(elf, &segments) != 0)
		return 0;
	for (size_t i = 0; i < segments; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME ||
		    segment.p_offset > file_bytes ||
		    segment.p_filesz > file_bytes - segment.p_offset ||
		    segment.p_filesz < sizeof(header))
			continue;
		memcpy(&header, bytes + segment.p_offset, sizeof(header));
		if (header.version != UNWIND_VERSION || header.tables_encoding != UNWIND_TABLES ||
		    header.count_encoding != UNWIND_COUNT || header.row_encoding != UNWIND_ROWS ||
		    header.count > (segment.p_filesz - sizeof(header)) / sizeof(struct unwind_row))
			return 0;
		uint64_t start = start_in_rows(bytes + segment.p_offset + sizeof(header),
					       header.count, segment.p_vaddr, address - bias);
		return start && address - bias - start <= before ? start + bias : 0;
	}
	return 0;
}

void objectfile_close(struct objectfile *file)
{
	unitindex_close(&file->units);
	intervals_free(&file->functions);
	intervals_free(&file->objects);
	free(file->names);
	if (file->dwfl)
		dwfl_end(file->dwfl);
	*file = (struct objectfile){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported functions of a loaded object of another process. See attach_symbols.h.
 *
 * This memory is a stranger's: every address and number is checked, and every table has a bound.
 * One thread.
 */
#include "attach_symbols.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HEADERS_MAX = 64,
	DYNAMIC_MAX = 256,
	SYMBOLS_MAX = 1 << 20,
	STRINGS_MAX = 1 << 26,
	BUCKETS_MAX = 1 << 20
};

static bool read_at(int memory, uint64_t address, void *to, size_t bytes)
{
	return pread(memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* --- Where it is ------------------------------------------------------------------------------ */

/* The first mapping of the file. */
static bool find_object(pid_t pid, const char *name, uint64_t *start)
{
	char path[64], *line = NULL;
	unsigned long from, offset;
	size_t size = 0;
	bool is_found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	stream = fopen(path, "re");
	while (stream && !is_found && getline(&line, &size, stream) > 0) {
		const char *slash = strrchr(line, '/');

		is_found = slash && strncmp(slash + 1, name, strlen(name)) == 0 &&
			   sscanf(line, "%lx-%*x %*s %lx", &from, &offset) == 2 && offset == 0;
		*start = from;
	}
	free(line);
	if (stream)
		fclose(stream);
	return is_found;
}

/* --- Its tables ------------------------------------------------------------------------------- */

struct tables {
	uint64_t base; /* to be added to its own addresses */
	uint64_t symbols;
	uint64_t strings;
	uint64_t string_bytes;
	uint64_t gnu_hash;
	uint64_t code_end;
	uint64_t data_end;
};

/* The loader has relocated these pointers in place, except in objects whose table is read-only. */
static uint64_t pointer_of(const struct tables *tables, uint64_t value)
{
	return value < tables->base ? value + tables->base : value;
}

static void note_entry(struct tables *tables, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		tables->symbols = pointer_of(tables, entry->d_un.d_ptr);
		break;
	case DT_STRTAB:
		tables->strings = pointer_of(tables, entry->d_un.d_ptr);
		break;
	case DT_STRSZ:
		tables->string_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		tables->gnu_hash = pointer_of(tables, entry->d_un.d_ptr);
		break;
	default:
		break;
	}
}

/* Of the last segment with such rights. */
static uint64_t end_of(const Elf64_Phdr *headers, int count, uint32_t rights, uint64_t base)
{
	uint64_t end = 0;

	for (int i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & rights)
			end = base + headers[i].p_vaddr + headers[i].p_memsz;
	return end;
}

static bool find_tables(int memory, uint64_t start, struct tables *tables)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t dynamic = 0;
	Elf64_Ehdr header;
	ssize_t got;

	*tables = (struct tables){ .base = start };
	if (!read_at(memory, start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > HEADERS_MAX ||
	    header.e_phentsize != sizeof(headers[0]) ||
	    !read_at(memory, start + header.e_phoff, headers, header.e_phnum * sizeof(headers[0])))
		return false;
	for (int i = 0; i < header.e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			tables->base = start - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = headers[i].p_vaddr;
	}
	tables->code_end = end_of(headers, header.e_phnum, PF_X, tables->base);
	tables->data_end = end_of(headers, header.e_phnum, PF_W, tables->base);
	got = dynamic ? pread(memory, entries, sizeof(entries), (off_t)(tables->base + dynamic))
		      : 0;
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(entries[0]); i++) {
		if (entries[i].d_tag == DT_NULL)
			break;
		note_entry(tables, &entries[i]);
	}
	return tables->symbols && tables->strings && tables->gnu_hash &&
	       tables->string_bytes < STRINGS_MAX;
}

/* Only the table of hashes has their number: the last one of the last chain. */
static uint32_t count_symbols(int memory, const struct tables *tables)
{
	uint32_t head[4], bucket, entry = 0, last = 0;
	uint64_t at;

	if (!read_at(memory, tables->gnu_hash, head, sizeof(head)) || head[0] > BUCKETS_MAX ||
	    head[2] > BUCKETS_MAX)
		return 0;
	at = tables->gnu_hash + sizeof(head) + head[2] * sizeof(uint64_t);
	for (uint32_t i = 0; i < head[0]; i++)
		if (read_at(memory, at + i * sizeof(bucket), &bucket, sizeof(bucket)) &&
		    bucket > last)
			last = bucket;
	at += head[0] * sizeof(bucket);
	while (last >= head[1] && last < SYMBOLS_MAX && !(entry & 1)) {
		if (!read_at(memory, at + (last - head[1]) * sizeof(entry), &entry, sizeof(entry)))
			return 0;
		last++;
	}
	return last < SYMBOLS_MAX ? last : 0;
}

static void keep_functions(struct attach_symbols *symbols, const struct tables *tables,
			   const Elf64_Sym *all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (ELF64_ST_TYPE(all[i].st_info) != STT_FUNC || all[i].st_shndx == SHN_UNDEF ||
		    all[i].st_name >= tables->string_bytes)
			continue;
		symbols->all[symbols->count++] = (struct attach_symbol){
			symbols->strings + all[i].st_name,
			tables->base + all[i].st_value,
		};
	}
}

static bool read_symbols(struct attach_symbols *symbols, int memory, const struct tables *tables)
{
	uint32_t count = count_symbols(memory, tables);
	Elf64_Sym *all = malloc((count + 1) * sizeof(*all));
	bool is_read;

	symbols->strings = calloc(tables->string_bytes + 1, 1);
	symbols->all = calloc(count + 1, sizeof(*symbols->all));
	is_read = count > 0 && all && symbols->strings && symbols->all &&
		  read_at(memory, tables->symbols, all, count * sizeof(*all)) &&
		  read_at(memory, tables->strings, symbols->strings, tables->string_bytes);
	if (is_read)
		keep_functions(symbols, tables, all, count);
	free(all);
	return is_read;
}

int attach_symbols_read(struct attach_symbols *symbols, pid_t pid, int memory, const char *name)
{
	struct tables tables;
	uint64_t start = 0;

	*symbols = (struct attach_symbols){ 0 };
	if (!find_object(pid, name, &start))
		return -ENOENT;
	if (!find_tables(memory, start, &tables) || !read_symbols(symbols, memory, &tables)) {
		attach_symbols_free(symbols);
		return -EINVAL;
	}
	symbols->code_end = tables.code_end;
	symbols->data_end = tables.data_end;
	return 0;
}

void attach_symbols_free(struct attach_symbols *symbols)
{
	free(symbols->strings);
	free(symbols->all);
	*symbols = (struct attach_symbols){ 0 };
}

uint64_t attach_symbols_address(const struct attach_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (strcmp(symbols->all[i].name, name) == 0)
			return symbols->all[i].address;
	return 0;
}

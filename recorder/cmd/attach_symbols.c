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

static bool is_line_of(const char *line, const char *name, uint64_t *start, uint64_t *end)
{
	const char *slash = strrchr(line, '/');
	unsigned long from, to, offset;

	if (!slash || strncmp(slash + 1, name, strlen(name)) != 0 ||
	    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) != 3)
		return false;
	if (offset == 0)
		*start = from;
	*end = to;
	return offset == 0;
}

/* The first mapping of the file, and the end of its last. */
static bool find_object(pid_t pid, const char *name, uint64_t *start, uint64_t *end)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool is_found = false;
	uint64_t other, last;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	stream = fopen(path, "re");
	while (stream && getline(&line, &size, stream) > 0) {
		last = 0;
		if (!is_found)
			is_found = is_line_of(line, name, start, end);
		else if (is_line_of(line, name, &other, &last))
			break;
		else if (last != 0)
			*end = last;
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
			all[i].st_size,
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

	*symbols = (struct attach_symbols){ 0 };
	if (!find_object(pid, name, &symbols->start, &symbols->end))
		return -ENOENT;
	if (!find_tables(memory, symbols->start, &tables) ||
	    !read_symbols(symbols, memory, &tables)) {
		attach_symbols_free(symbols);
		return -EINVAL;
	}
	return 0;
}

void attach_symbols_free(struct attach_symbols *symbols)
{
	free(symbols->strings);
	free(symbols->all);
	*symbols = (struct attach_symbols){ 0 };
}

const struct attach_symbol *attach_symbols_next(const struct attach_symbols *symbols,
						const char *name, const struct attach_symbol *from)
{
	for (const struct attach_symbol *at = from ? from + 1 : symbols->all;
	     at < symbols->all + symbols->count; at++)
		if (strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

uint64_t attach_symbols_address(const struct attach_symbols *symbols, const char *name)
{
	const struct attach_symbol *found = attach_symbols_next(symbols, name, NULL);

	return found ? found->address : 0;
}

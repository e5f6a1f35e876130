/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a loaded object: what it defines, by name and version, and what it was bound to.
 *
 * Threads: any; an object is only read, and must be loaded meanwhile. Never here: a call of any
 * function outside this file, but for an indirect function's own choice.
 */
#include "objects.h"

bool object_is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The loader has relocated these pointers in place, except in objects whose table is read-only. */
static const void *object_pointer(const struct link_map *map, ElfW(Addr) value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

void object_read(struct object *object, const struct link_map *map)
{
	size_t name = 0;

	*object = (struct object){ .base = map->l_addr, .name = "" };
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		const void *pointer = object_pointer(map, entry->d_un.d_ptr);
		switch (entry->d_tag) {
		case DT_SYMTAB:
			object->symbols = pointer;
			break;
		case DT_STRTAB:
			object->strings = pointer;
			break;
		case DT_STRSZ:
			object->string_bytes = entry->d_un.d_val;
			break;
		case DT_GNU_HASH:
			object->gnu_hash = pointer;
			break;
		case DT_HASH:
			object->sysv_hash = pointer;
			break;
		case DT_VERSYM:
			object->versions = pointer;
			break;
		case DT_VERDEF:
			object->definitions = pointer;
			break;
		case DT_VERNEED:
			object->needs = pointer;
			break;
		case DT_SONAME:
			name = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			object->slots[0] = pointer;
			break;
		case DT_PLTRELSZ:
			object->slot_counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			object->slots[1] = pointer;
			break;
		case DT_RELASZ:
			object->slot_counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
	if (name != 0 && object->strings)
		object->name = object->strings + name;
}

static const char *version_name(const struct object *object, unsigned index)
{
	const ElfW(Verdef) *at = object->definitions;
	while (at) {
		if ((at->vd_ndx & 0x7fff) == index) {
			const ElfW(Verdaux) *name = (const void *)((const char *)at + at->vd_aux);
			return object->strings + name->vda_name;
		}
		at = at->vd_next ? (const void *)((const char *)at + at->vd_next) : NULL;
	}
	return NULL;
}

const char *object_version_wanted(const struct object *object, size_t symbol)
{
	const ElfW(Verneed) *file = object->versions ? object->needs : NULL;

	while (file) {
		const ElfW(Vernaux) *version = (const void *)((const char *)file + file->vn_aux);

		for (int i = 0; i < file->vn_cnt; i++) {
			if ((version->vna_other & 0x7fff) == (object->versions[symbol] & 0x7fff))
				return object->strings + version->vna_name;
			version = (const void *)((const char *)version + version->vna_next);
		}
		file = file->vn_next ? (const void *)((const char *)file + file->vn_next) : NULL;
	}
	return "";
}

/* Whether the symbol at this index is the version that the row wants. */
static bool version_fits(const struct object *object, uint32_t index, const struct symbol_row *row)
{
	if (!object->versions)
		return true;
	unsigned version = object->versions[index];
	bool is_default = !(version & 0x8000);
	version &= 0x7fff;
	if (!row->version[0] || version == VER_NDX_GLOBAL || version == VER_NDX_LOCAL)
		return is_default;
	const char *name = version_name(object, version);
	const char *wanted = row->version;
	while (*wanted == '@')
		wanted++;
	return name && object_is_equal(name, wanted);
}

static uint64_t word_at(const char *from)
{
	uint64_t word;
	__builtin_memcpy(&word, from, sizeof(word));
	return word;
}

/* Word by word: this is done for each of our hooks when a process starts. */
static bool has_name(const struct object *object, size_t at, const struct symbol_row *row)
{
	const char *name = object->strings + at;
	size_t i = 0;
	if (object->string_bytes < row->bytes || at > object->string_bytes - row->bytes)
		return false;
	for (; i + sizeof(uint64_t) <= row->bytes; i += sizeof(uint64_t))
		if (word_at(name + i) != word_at(row->symbol + i))
			return false;
	if (i > 0)
		return word_at(name + row->bytes - sizeof(uint64_t)) ==
		       word_at(row->symbol + row->bytes - sizeof(uint64_t));
	while (i < row->bytes && name[i] == row->symbol[i])
		i++;
	return i == row->bytes;
}

static bool has_type(const ElfW(Sym) * symbol, const struct symbol_row *row)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (row->type == SYMBOL_FUNCTION)
		return type == STT_FUNC || type == STT_GNU_IFUNC;
	return type == (row->type == SYMBOL_DATA ? STT_OBJECT : STT_TLS);
}

static const ElfW(Sym) *
	symbol_at(const struct object *object, uint32_t index, const struct symbol_row *row)
{
	const ElfW(Sym) *symbol = &object->symbols[index];
	if (symbol->st_shndx == SHN_UNDEF || !has_type(symbol, row) ||
	    !has_name(object, symbol->st_name, row) || !version_fits(object, index, row))
		return NULL;
	return symbol;
}

/* Two bits of a word of the table's filter are set for each symbol that is there. */
static bool may_have(const uint32_t *table, uint32_t hash)
{
	const ElfW(Addr) *filter = (const void *)(table + 4);
	uint32_t words = table[2], shift = table[3];
	unsigned bits = 8 * sizeof(*filter);
	/* The format has a power of two. */
	ElfW(Addr) word = filter[hash / bits & (words - 1)];
	return word >> hash % bits & word >> (hash >> shift) % bits & 1;
}

static const ElfW(Sym) * look_up_gnu(const struct object *object, const struct symbol_row *row)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t bucket_count = table[0];
	uint32_t first = table[1];
	const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = row->hash;
	if (bucket_count == 0 || !may_have(table, hash))
		return NULL;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t entry = chain[index - first];
		if ((entry | 1) == (hash | 1)) {
			const ElfW(Sym) *symbol = symbol_at(object, index, row);
			if (symbol)
				return symbol;
		}
		if (entry & 1)
			return NULL;
	}
}

static const ElfW(Sym) * look_up_sysv(const struct object *object, const struct symbol_row *row)
{
	const uint32_t *table = object->sysv_hash;
	uint32_t hash = 0;
	for (const char *c = row->symbol; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= (hash >> 24) & 0xf0;
	}
	hash &= 0x0fffffff;
	if (table[0] == 0)
		return NULL;
	const uint32_t *chain = table + 2 + table[0];
	for (uint32_t index = table[2 + hash % table[0]]; index; index = chain[index]) {
		const ElfW(Sym) *symbol = symbol_at(object, index, row);
		if (symbol)
			return symbol;
	}
	return NULL;
}

const ElfW(Sym) * object_find(const struct object *object, const struct symbol_row *row)
{
	if (!object->symbols || !object->strings)
		return NULL;
	if (object->gnu_hash)
		return look_up_gnu(object, row);
	return object->sysv_hash ? look_up_sysv(object, row) : NULL;
}

void *object_look_up(const struct object *object, const struct symbol_row *row)
{
	const ElfW(Sym) *symbol = object_find(object, row);
	if (!symbol)
		return NULL;
	void *address = (void *)(object->base + symbol->st_value);
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		address = ((void *(*)(void))address)();
	return address;
}

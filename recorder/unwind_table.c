/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables. See unwind_table.h.
 *
 * Modules come from _dl_find_object(), which takes no lock. The header has a sorted table of all
 * functions, in the only form that linkers write: offsets of four bytes. An entry (FDE) has the
 * instructions of one function, and leads to what it shares with others (CIE).
 */
#include "unwind_table.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "in_target.h"

enum { PAGE_BYTES = 4096 };

/* How a pointer is written. */
enum encoding {
	ENCODING_SIZE = 0x07, /* 0: a word; 2, 3, 4: 2, 4, 8 bytes; 1: seven bits a byte */
	ENCODING_SIGNED = 0x08,
	ENCODING_FROM = 0x70,
	ENCODING_FROM_HERE = 0x10,
	ENCODING_FROM_HEADER = 0x30,
	ENCODING_INDIRECT = 0x80
};

/* Missing before glibc 2.35: there, stacks have one frame. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* --- Modules --------------------------------------------------------------------------------- */

/* Readable segments, from the program headers at the module's start; none if they are not there. */
static void find_segments(struct unwind_module *module, const struct dl_find_object *found)
{
	uint64_t start = (uint64_t)(uintptr_t)found->dlfo_map_start;
	const ElfW(Ehdr) *elf = found->dlfo_map_start;
	const ElfW(Phdr) * header;
	bool first = true;
	uint64_t bias = 0;

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(*header) ||
	    elf->e_phoff + elf->e_phnum * sizeof(*header) > PAGE_BYTES)
		return;
	header = (const ElfW(Phdr) *)(uintptr_t)(start + elf->e_phoff);
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (header[i].p_type != PT_LOAD)
			continue;
		if (first)
			bias = start - (header[i].p_vaddr & -(uint64_t)PAGE_BYTES);
		first = false;
		if (!(header[i].p_flags & PF_R) || module->segment_count == UNWIND_SEGMENTS_MAX)
			continue;
		module->segments[module->segment_count++] = (struct unwind_segment){
			.start = bias + (header[i].p_vaddr & -(uint64_t)PAGE_BYTES),
			.end = bias + ((header[i].p_vaddr + header[i].p_memsz + PAGE_BYTES - 1) &
				       -(uint64_t)PAGE_BYTES)
		};
	}
}

bool unwind_module_at(uint64_t pc, struct unwind_module *module)
{
	struct dl_find_object found;

	if (!_dl_find_object || _dl_find_object((void *)(uintptr_t)pc, &found) != 0)
		return false;
	module->header = found.dlfo_eh_frame;
	module->segment_count = 0;
	find_segments(module, &found);
	return true;
}

static const struct unwind_segment *segment_of(const struct unwind_module *module, uint64_t address)
{
	for (uint32_t i = 0; i < module->segment_count; i++)
		if (address >= module->segments[i].start && address < module->segments[i].end)
			return &module->segments[i];
	return NULL;
}

bool unwind_module_may_read(const struct unwind_module *module, uint64_t address, uint64_t bytes)
{
	const struct unwind_segment *segment = segment_of(module, address);

	return segment && segment->end - address >= bytes;
}

/* From an address to the end of its segment. */
static struct unwind_bytes bytes_at(const struct unwind_module *module, uint64_t address)
{
	const struct unwind_segment *segment = segment_of(module, address);
	const uint8_t *at = (const uint8_t *)(uintptr_t)address;

	if (!segment)
		return (struct unwind_bytes){ at, at, true };
	return (struct unwind_bytes){ at, (const uint8_t *)(uintptr_t)segment->end, false };
}

/* --- The sorted table ------------------------------------------------------------------------ */

/* An entry of the table, both relative to the header. */
struct place {
	int32_t code;
	int32_t entry;
};

/* The table of the header; NULL: there is none of the usual form. */
static const struct place *find_places(const struct unwind_module *module, uint32_t *count)
{
	enum { VERSION = 1, UDATA4 = 0x03, SDATA4_PC = 0x1b, SDATA4_TABLE = 0x3b, TABLE_AT = 12 };
	const uint8_t *header = module->header;
	uint64_t address = (uint64_t)(uintptr_t)header;

	if (!header || !unwind_module_may_read(module, address, TABLE_AT) || header[0] != VERSION ||
	    header[1] != SDATA4_PC || header[2] != UDATA4 || header[3] != SDATA4_TABLE)
		return NULL;
	memcpy(count, header + 8, sizeof(*count));
	if (*count == 0 || !unwind_module_may_read(module, address + TABLE_AT,
						   (uint64_t)*count * sizeof(struct place)))
		return NULL;
	return (const struct place *)(const void *)(header + TABLE_AT);
}

/* Where the entry of the last function is that begins at or before `pc`; 0: before all. */
static uint64_t find_place(const struct unwind_module *module, uint64_t pc)
{
	uint64_t base = (uint64_t)(uintptr_t)module->header;
	uint32_t low = 0, high;
	const struct place *places = find_places(module, &high);
	struct place place;

	if (!places)
		return 0;
	/* The one looked for is below `high`, and those below `low` begin at or before `pc`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		memcpy(&place, &places[middle], sizeof(place));
		if (base + (uint64_t)(int64_t)place.code <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	memcpy(&place, &places[low - 1], sizeof(place));
	return base + (uint64_t)(int64_t)place.entry;
}

/* --- Entries --------------------------------------------------------------------------------- */

/* A pointer, or with `is_bare` the number in it alone, as for a length. */
static uint64_t read_pointer(struct unwind_bytes *bytes, const struct unwind_module *module,
			     uint8_t encoding, bool is_bare)
{
	static const uint8_t sizes[ENCODING_SIZE + 1] = { 8, 0, 2, 4, 8, 0, 0, 0 };
	uint64_t here = (uint64_t)(uintptr_t)bytes->at;
	unsigned size = sizes[encoding & ENCODING_SIZE];
	uint64_t number;

	if (encoding & ENCODING_INDIRECT || size == 0) {
		bytes->has_failed = true;
		return 0;
	}
	number = encoding & ENCODING_SIGNED ? (uint64_t)bytes_signed(bytes, size)
					    : bytes_number(bytes, size);
	if (is_bare || !(encoding & ENCODING_FROM))
		return number;
	if ((encoding & ENCODING_FROM) == ENCODING_FROM_HERE)
		return number + here;
	if ((encoding & ENCODING_FROM) == ENCODING_FROM_HEADER)
		return number + (uint64_t)(uintptr_t)module->header;
	bytes->has_failed = true;
	return 0;
}

/* The bytes of an entry behind its length. A long one, as no linker writes them, has failed. */
static struct unwind_bytes read_entry(const struct unwind_module *module, uint64_t address)
{
	struct unwind_bytes bytes = bytes_at(module, address);

	return bytes_take(&bytes, bytes_number(&bytes, 4));
}

/* The letters behind 'z' say so; their data has a length. Letters behind an unknown one are not
 * understood. */
static void read_letters(const uint8_t *letters, struct unwind_bytes data, uint8_t *encoding,
			 struct unwind_entry *entry)
{
	static const uint8_t sizes[ENCODING_SIZE + 1] = { 8, 0, 2, 4, 8, 0, 0, 0 };

	for (; *letters; letters++) {
		if (*letters == 'R')
			*encoding = (uint8_t)bytes_number(&data, 1);
		else if (*letters == 'L')
			(void)bytes_number(&data, 1);
		else if (*letters == 'P')
			(void)bytes_take(&data, sizes[bytes_number(&data, 1) & ENCODING_SIZE]);
		else if (*letters == 'S')
			entry->is_signal = true;
		else
			return;
	}
}

/* The part that an entry shares with others. False: it is of a kind that is not known. */
static bool read_common(struct unwind_bytes bytes, uint8_t *encoding, bool *has_data,
			struct unwind_entry *entry)
{
	enum { OLD = 1, NEW = 3 };
	bool is_common = bytes_number(&bytes, 4) == 0;
	uint64_t version = bytes_number(&bytes, 1);
	const uint8_t *letters = bytes.at;

	while (bytes_number(&bytes, 1) != 0 && !bytes.has_failed)
		;
	entry->code_factor = bytes_uleb(&bytes);
	entry->data_factor = bytes_sleb(&bytes);
	entry->return_column = version == OLD ? bytes_number(&bytes, 1) : bytes_uleb(&bytes);
	if (bytes.has_failed || !is_common || (version != OLD && version != NEW))
		return false;
	*has_data = *letters == 'z';
	if (*has_data)
		read_letters(letters + 1, bytes_take(&bytes, bytes_uleb(&bytes)), encoding, entry);
	else if (*letters)
		return false;
	entry->common = bytes;
	return !bytes.has_failed;
}

bool unwind_entry_at(const struct unwind_module *module, uint64_t pc, struct unwind_entry *entry)
{
	uint64_t place = find_place(module, pc), back, length;
	struct unwind_bytes bytes = read_entry(module, place), common;
	uint64_t own_at = (uint64_t)(uintptr_t)bytes.at;
	uint8_t encoding = 0;
	bool has_data;

	*entry = (struct unwind_entry){ .start = 0 };
	back = bytes_number(&bytes, 4);
	common = read_entry(module, own_at - back);
	if (bytes.has_failed || back == 0 || common.has_failed ||
	    !read_common(common, &encoding, &has_data, entry))
		return false;
	entry->start = read_pointer(&bytes, module, encoding, false);
	length = read_pointer(&bytes, module, encoding, true);
	if (has_data)
		(void)bytes_take(&bytes, bytes_uleb(&bytes));
	entry->own = bytes;
	return !bytes.has_failed && pc - entry->start < length;
}

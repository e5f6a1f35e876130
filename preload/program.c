/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program as it lies in memory. See program.h.
 *
 * A program of Go has a note of its linker's, if nobody has left it out. One that is linked by Go
 * itself begins its data with what it was built from. One that is linked by a C compiler exports
 * what C calls. No file is read, and of memory what the loader has read already, or one line.
 *
 * A library in Go that a program in C opens is another matter: its runtime leaves all signals alone
 * but those of faults. Threads: the constructor alone.
 */
#include "program.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "objects.h"

/* Written by the loader before any object is relocated; its first object is the program. */
extern struct r_debug _r_debug;

enum { NOTE_ALIGNMENT = 4 };

static bool has_note(const char *at, size_t bytes)
{
	static const char name[4] = "Go";
	const char *end = at + bytes;

	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr)) + sizeof(name)) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		size_t rest = (size_t)(end - at) - sizeof(*note);
		size_t name_bytes = (note->n_namesz + 3ul) & ~3ul;
		size_t text_bytes = (note->n_descsz + 3ul) & ~3ul;

		if (note->n_namesz == sizeof(name) && memcmp(note + 1, name, sizeof(name)) == 0)
			return true;
		if (name_bytes + text_bytes > rest)
			return false;
		at += sizeof(*note) + name_bytes + text_bytes;
	}
	return false;
}

static bool begins_as_go(const char *data, size_t bytes)
{
	static const char magic[] = "\xff Go buildinf:";

	return bytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic) - 1) == 0;
}

struct headers {
	const ElfW(Phdr) * first;
	size_t count;
};

/* A part in no segment of the file's is not in memory, whatever its header says. */
static bool is_loaded(const struct headers *headers, const ElfW(Phdr) * part)
{
	for (size_t i = 0; i < headers->count; i++) {
		const ElfW(Phdr) *load = &headers->first[i];
		uint64_t at = part->p_vaddr - load->p_vaddr;

		if (load->p_type == PT_LOAD && (load->p_flags & PF_R) && at <= load->p_filesz &&
		    part->p_filesz <= load->p_filesz - at)
			return true;
	}
	return false;
}

static bool segment_is_go(const struct headers *headers, const ElfW(Phdr) * header, uintptr_t base)
{
	const char *start = (const char *)(base + header->p_vaddr);

	if (header->p_type == PT_NOTE && header->p_align <= NOTE_ALIGNMENT)
		return is_loaded(headers, header) && has_note(start, header->p_filesz);
	if (header->p_type == PT_LOAD && header->p_flags == (PF_R | PF_W))
		return begins_as_go(start, header->p_filesz);
	return false;
}

bool program_is_go(void)
{
	static const struct symbol_row row = SYMBOL_ROW("_cgo_topofstack", "", SYMBOL_FUNCTION);
	const struct headers headers = {
		(const ElfW(Phdr) *)getauxval(AT_PHDR),
		getauxval(AT_PHNUM),
	};
	const struct link_map *map = _r_debug.r_map;
	struct object object;

	if (!headers.first || !map)
		return false;
	for (size_t i = 0; i < headers.count; i++)
		if (segment_is_go(&headers, &headers.first[i], map->l_addr))
			return true;
	object_read(&object, map);
	return object_look_up(&object, &row) != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are mapped where. See modules.h.
 *
 * Read from /proc/self/maps and, with process_vm_readv, from the ELF headers in memory: neither can
 * hang on the loader's lock or fault when a library is unloaded meanwhile.
 */
#include "modules.h"

#include <assert.h>
#include <elf.h>
#include <string.h>
#include <sys/uio.h>

#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum { LINE_BYTES = 4600, PHDRS_MAX = 24, NOTE_BYTES_MAX = 1024 };

/* Lines of a file, by raw reads. */
struct line_reader {
	int fd;
	size_t used;
	size_t next;
	bool ended;
	char bytes[LINE_BYTES];
};

/* The next line without its newline, ended by a NUL; NULL at the end. Overlong lines are cut. */
static char *read_line(struct line_reader *reader)
{
	for (;;) {
		char *line = reader->bytes + reader->next;
		char *end = memchr(line, '\n', reader->used - reader->next);
		long got;

		if (end) {
			*end = '\0';
			reader->next = (size_t)(end + 1 - reader->bytes);
			return line;
		}
		if (reader->ended)
			return NULL;
		reader->used -= reader->next;
		memmove(reader->bytes, line, reader->used);
		reader->next = 0;
		if (reader->used >= LINE_BYTES - 1)
			reader->used = 0;
		got = sys_read(reader->fd, reader->bytes + reader->used,
			       LINE_BYTES - 1 - reader->used);
		reader->ended = got <= 0;
		reader->used += got > 0 ? (size_t)got : 0;
	}
}

static uint64_t parse_hex(const char **at)
{
	uint64_t value = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

static bool read_memory(const struct arena *arena, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes };
	struct iovec remote = { (void *)(uintptr_t)address, bytes };

	return sys_call(SYS_process_vm_readv, arena->pid, (long)&local, 1, (long)&remote, 1, 0) ==
	       (long)bytes;
}

static void find_build_id(const struct arena *arena, struct module_entry *module, uint64_t address,
			  uint64_t bytes)
{
	_Alignas(8) char notes[NOTE_BYTES_MAX];
	uint64_t size = bytes < sizeof(notes) ? bytes : sizeof(notes);
	uint64_t at = 0;

	if (!read_memory(arena, address, notes, size))
		return;
	while (at + sizeof(Elf64_Nhdr) <= size) {
		const Elf64_Nhdr *note = (const Elf64_Nhdr *)(notes + at);
		uint64_t name = at + sizeof(*note);
		uint64_t content = name + ((note->n_namesz + 3) & ~UINT64_C(3));
		uint64_t length = note->n_descsz;

		if (content + length > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0) {
			module->build_id_bytes = (uint32_t)(length < 20 ? length : 20);
			memcpy(module->build_id, notes + content, module->build_id_bytes);
			return;
		}
		at = content + ((length + 3) & ~UINT64_C(3));
	}
}

/* What the ELF file mapped at module->start says of itself; false when it is none. */
static bool read_elf(const struct arena *arena, struct module_entry *module)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr header;
	uint64_t end = 0;
	bool has_load = false;

	if (!read_memory(arena, module->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > PHDRS_MAX ||
	    !read_memory(arena, module->start + header.e_phoff, phdrs,
			 header.e_phnum * sizeof(phdrs[0])))
		return false;
	for (int i = 0; i < header.e_phnum; i++) {
		if (phdrs[i].p_type != PT_LOAD)
			continue;
		if (!has_load)
			module->base = module->start - (phdrs[i].p_vaddr & ~UINT64_C(4095));
		has_load = true;
		if (phdrs[i].p_vaddr + phdrs[i].p_memsz > end)
			end = phdrs[i].p_vaddr + phdrs[i].p_memsz;
	}
	module->bytes = module->base + end - module->start;
	for (int i = 0; i < header.e_phnum && has_load && module->build_id_bytes == 0; i++)
		if (phdrs[i].p_type == PT_NOTE)
			find_build_id(arena, module, module->base + phdrs[i].p_vaddr,
				      phdrs[i].p_memsz);
	return has_load;
}

static bool is_known(const struct arena *arena, const struct module_entry *module)
{
	for (uint32_t i = arena->module_count; i-- > 0;) {
		const struct module_entry *other = modules_at(arena, i);

		if (other->start == module->start)
			return other->bytes == module->bytes &&
			       strcmp(other->path, module->path) == 0 &&
			       memcmp(other->build_id, module->build_id, sizeof(other->build_id)) ==
				       0;
	}
	return false;
}

static void add(struct arena *arena, const struct module_entry *module)
{
	uint64_t offset = ARENA_MODULES + (uint64_t)arena->module_count * MODULE_BYTES;

	if (arena->module_count >= MODULES_MAX || is_known(arena, module) ||
	    !arena_ready(arena, offset, MODULE_BYTES))
		return;
	memcpy(arena_at(arena, offset), module, MODULE_BYTES);
	/* Pairs with the drainer's load: an entry below the count is complete. */
	store_release(&arena->module_count, arena->module_count + 1);
}

/* A line such as "7f12a000-7f12b000 r--p 00000000 08:01 1234    /usr/lib/libc.so.6". */
static void read_mapping(struct arena *arena, const char *line)
{
	struct module_entry module = { 0 };
	const char *path = strchr(line, '/');
	const char *at = line;
	uint64_t offset;
	size_t length;

	if (!path)
		path = strstr(line, "[vdso]");
	module.start = parse_hex(&at);
	if (!path || *at++ != '-')
		return;
	(void)parse_hex(&at);
	if (at[0] != ' ' || at[1] != 'r' || strlen(at) < 6)
		return;
	at += 6;
	offset = parse_hex(&at);
	length = strlen(path);
	if (offset != 0 || length >= sizeof(module.path))
		return;
	memcpy(module.path, path, length);
	if (read_elf(arena, &module))
		add(arena, &module);
}

void modules_save(struct arena *arena)
{
	struct line_reader reader = { .fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0) };
	const char *line;

	if (reader.fd < 0)
		return;
	while ((line = read_line(&reader)) != NULL)
		read_mapping(arena, line);
	sys_close(reader.fd);
}

static bool has_address(const struct arena *arena, uint32_t index, uint64_t address)
{
	const struct module_entry *module = modules_at(arena, index);

	return address - module->start < module->bytes;
}

uint32_t modules_find(const struct arena *arena, uint32_t count, uint64_t address, uint32_t hint)
{
	assert(count <= MODULES_MAX);
	if (hint < count && has_address(arena, hint, address))
		return hint;
	for (uint32_t i = count; i-- > 0;)
		if (has_address(arena, i, address))
			return i;
	return UINT32_MAX;
}

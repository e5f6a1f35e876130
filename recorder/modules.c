/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are mapped where and when. See modules.h.
 *
 * Read from the list of mappings and, with process_vm_readv, from the ELF headers in memory.
 * Neither can hang on the loader's lock or fault when a library is unloaded meanwhile.
 *
 * Loading has no end that a hook could see, as dlopen() must be called by its caller alone. So the
 * time at which it begins is kept. The modules that it loaded are looked for when the next one
 * begins, before anything is unloaded, and in a dump. An unloaded module is known at once, from
 * _dl_find_object(), which takes no lock.
 *
 * Never here: the path or the build id of an entry below the count changes.
 */
#include "modules.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "clock.h"
#include "deployment.h"
#include "gate.h"
#include "maps.h"
#include "spare.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	PHDRS_MAX = 24,
	START_BYTES = 2048, /* of a module: most have their headers and their build id there */
	NOTE_BYTES_MAX = 1024,
	LOCK_TRIES_MAX = 1000 /* a pass through the maps takes some 100 us */
};

/* Missing before glibc 2.35: there, unloading is noticed at the next dump. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* When the first loading began of which nobody has looked for the modules yet; 0 = none. */
static uint64_t loading_since;

/* One pass through the maps. */
struct saving {
	struct arena *arena;
	uint64_t since;                      /* new modules were not there before; 0 = not known */
	bool is_quick;                       /* a module of a known place and path is the same */
	uint64_t is_there[MODULES_MAX / 64]; /* bit = the entry is mapped */
};

/* A mapped file, of which the start was read by one call. */
struct image {
	const struct arena *arena;
	uint64_t start;
	_Alignas(8) char bytes[START_BYTES];
};

static bool read_image(const struct image *image, uint64_t address, void *to, size_t bytes)
{
	uint64_t at = address - image->start;

	if (at >= START_BYTES || bytes > START_BYTES - at)
		return sys_read_memory(image->arena->pid, address, to, bytes);
	memcpy(to, image->bytes + at, bytes);
	return true;
}

static void find_build_id(const struct image *image, struct module_entry *module, uint64_t address,
			  uint64_t bytes)
{
	_Alignas(8) char notes[NOTE_BYTES_MAX];
	uint64_t size = bytes < sizeof(notes) ? bytes : sizeof(notes);
	uint64_t at = 0;

	if (!read_image(image, address, notes, size))
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

/* Reads the facts that the ELF file mapped at module->start has of itself; false when it is
 * none. */
static bool read_elf(const struct arena *arena, struct module_entry *module)
{
	struct image image = { .arena = arena, .start = module->start };
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr header;
	uint64_t end = 0;
	bool has_load = false;

	if (!sys_read_memory(arena->pid, module->start, image.bytes, sizeof(image.bytes)) ||
	    !read_image(&image, module->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > PHDRS_MAX ||
	    !read_image(&image, module->start + header.e_phoff, phdrs,
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
			find_build_id(&image, module, module->base + phdrs[i].p_vaddr,
				      phdrs[i].p_memsz);
	return has_load;
}

static bool is_same_file(const struct module_entry *a, const struct module_entry *b)
{
	return a->start == b->start && a->bytes == b->bytes && strcmp(a->path, b->path) == 0 &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

/* The entry that is this module, or MODULES_MAX. */
static uint32_t find_same(const struct arena *arena, const struct module_entry *module)
{
	for (uint32_t i = arena->module_count; i-- > 0;)
		if (is_same_file(modules_at(arena, i), module))
			return i;
	return MODULES_MAX;
}

/* The same by what a line of the maps says, if it was not gone since. */
static uint32_t find_there(const struct arena *arena, uint64_t start, const char *path)
{
	for (uint32_t i = arena->module_count; i-- > 0;) {
		const struct module_entry *other = modules_at(arena, i);

		if (other->start == start && !load_relaxed(&other->unloaded) &&
		    strcmp(other->path, path) == 0)
			return i;
	}
	return MODULES_MAX;
}

static struct module_entry *entry_at(const struct arena *arena, uint32_t index)
{
	return (struct module_entry *)(uintptr_t)modules_at(arena, index);
}

/* Addresses that two have had in turn: of these, only the time says whose they were. */
static void mark_shared(const struct arena *arena, struct module_entry *module)
{
	for (uint32_t i = 0; i < arena->module_count; i++) {
		struct module_entry *other = entry_at(arena, i);

		if (module->start >= other->start + other->bytes ||
		    other->start >= module->start + module->bytes)
			continue;
		module->is_shared = 1;
		store_relaxed(&other->is_shared, 1);
	}
}

/* Returns the module's place; MODULES_MAX when there is no room. */
static uint32_t add(struct arena *arena, struct module_entry *module)
{
	uint64_t offset = ARENA_MODULES + (uint64_t)arena->module_count * MODULE_BYTES;

	if (arena->module_count >= MODULES_MAX || !arena_ready(arena, offset, MODULE_BYTES))
		return MODULES_MAX;
	mark_shared(arena, module);
	memcpy(arena_at(arena, offset), module, MODULE_BYTES);
	/* Pairs with the drainer's load: an entry below the count is complete. */
	store_release(&arena->module_count, arena->module_count + 1);
	return arena->module_count - 1;
}

static void note(struct saving *saving, struct module_entry *module)
{
	uint32_t index = MODULES_MAX;

	if (saving->is_quick)
		index = find_there(saving->arena, module->start, module->path);
	if (index == MODULES_MAX && read_elf(saving->arena, module)) {
		index = find_same(saving->arena, module);
		module->loaded = saving->since;
		if (index == MODULES_MAX)
			index = add(saving->arena, module);
		else /* it may have been gone in between */
			store_relaxed(&entry_at(saving->arena, index)->unloaded, 0);
	}
	if (index < MODULES_MAX)
		saving->is_there[index / 64] |= UINT64_C(1) << index % 64;
}

/* A file, or the kernel's own library. */
static bool may_be_module(const struct mapping *mapping)
{
	return mapping->is_readable && mapping->offset == 0 &&
	       (mapping->path[0] == '/' || strcmp(mapping->path, "[vdso]") == 0) &&
	       strlen(mapping->path) < sizeof(((struct module_entry *)0)->path);
}

static void note_mapping(struct saving *saving, const struct mapping *mapping)
{
	struct module_entry module = { .start = mapping->start };

	memcpy(module.path, mapping->path, strlen(mapping->path));
	note(saving, &module);
}

/* Every namespace has a libc of its own: the copies at other places than the first. */
static void count_namespaces(struct arena *arena)
{
	const struct module_entry *first = NULL;
	uint64_t others = 0;

	for (uint32_t i = 0; i < arena->module_count; i++) {
		const struct module_entry *module = modules_at(arena, i);
		const char *slash = strrchr(module->path, '/');

		if (!slash || strcmp(slash, "/libc.so.6") != 0)
			continue;
		others += first && module->start != first->start;
		first = first ? first : module;
	}
	store_relaxed(&arena->counters[COUNTER_unseen_namespaces], others);
}

static bool lock(struct arena *arena)
{
	for (int i = 0; i < LOCK_TRIES_MAX; i++) {
		uint32_t expected = 0;

		/* Pairs with unlock(): what others have added is seen. */
		if (cas_acq_rel(&arena->module_lock, &expected, 1))
			return true;
		sys_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return false;
}

static void unlock(struct arena *arena)
{
	store_release(&arena->module_lock, 0);
}

static void mark_gone(struct arena *arena, uint32_t index)
{
	uint64_t none = 0;

	cas_acq_rel(&entry_at(arena, index)->unloaded, &none, clock_now_ticks());
}

static void pass(struct saving *saving)
{
	struct mapping mapping;
	struct maps maps;

	if (!maps_open(&maps))
		return;
	while (maps_next(&maps, &mapping)) {
		deployment_look(saving->arena, &mapping);
		if (may_be_module(&mapping))
			note_mapping(saving, &mapping);
	}
	maps_close(&maps);
	for (uint32_t i = 0; i < saving->arena->module_count; i++)
		if (!(saving->is_there[i / 64] >> i % 64 & 1))
			mark_gone(saving->arena, i);
}

static void save_by(void *saving)
{
	struct arena *arena = ((struct saving *)saving)->arena;

	if (!lock(arena))
		return;
	pass(saving);
	count_namespaces(arena);
	unlock(arena);
}

static void save(struct arena *arena, uint64_t since, bool is_quick)
{
	struct saving saving = { .arena = arena, .since = since, .is_quick = is_quick };

	spare_call_surely(save_by, &saving);
}

void modules_save(struct arena *arena)
{
	save(arena, exchange_acq_rel(&loading_since, 0), false);
}

/* A child of fork() may come here before it has an arena of its own. */
static struct arena *own_arena(void)
{
	struct arena *arena = gate_is_confined() ? NULL : load_acquire(&recorder_arena);

	return arena && arena->pid == (uint32_t)sys_getpid() ? arena : NULL;
}

void modules_loading(void)
{
	struct arena *arena = own_arena();
	uint64_t since = arena ? exchange_acq_rel(&loading_since, clock_now_ticks()) : 0;

	if (since)
		save(arena, since, true);
}

void modules_note(void)
{
	struct arena *arena = own_arena();
	uint64_t since = arena ? exchange_acq_rel(&loading_since, 0) : 0;

	if (since)
		save(arena, since, true);
}

void modules_note_last(void)
{
	struct arena *arena = own_arena();

	if (arena)
		save(arena, exchange_acq_rel(&loading_since, 0), true);
}

/* Mappings that the loader does not know, such as the kernel's page, nobody unloads by
 * dlclose(). */
void modules_unloaded(void)
{
	struct arena *arena = own_arena();
	struct dl_find_object found;

	if (!arena || !_dl_find_object || !lock(arena))
		return;
	for (uint32_t i = 0; i < arena->module_count; i++) {
		const struct module_entry *module = modules_at(arena, i);

		if (module->path[0] == '/' && !load_relaxed(&module->unloaded) &&
		    _dl_find_object((void *)(uintptr_t)module->start, &found) != 0)
			mark_gone(arena, i);
	}
	unlock(arena);
}

static bool has_address(const struct arena *arena, uint32_t index, uint64_t address)
{
	const struct module_entry *module = modules_at(arena, index);

	return address - module->start < module->bytes;
}

static uint32_t latest_with(const struct arena *arena, uint32_t count, uint64_t address,
			    uint32_t hint)
{
	if (hint < count && has_address(arena, hint, address))
		return hint;
	for (uint32_t i = count; i-- > 0;)
		if (has_address(arena, i, address))
			return i;
	return UINT32_MAX;
}

uint32_t modules_find(const struct arena *arena, uint32_t count, uint64_t address, uint32_t hint)
{
	uint32_t found = latest_with(arena, count, address, hint);

	assert(count <= MODULES_MAX);
	return found < count && load_relaxed(&modules_at(arena, found)->is_shared) ? UINT32_MAX
										   : found;
}

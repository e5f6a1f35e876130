/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of function pointers in the data of loaded objects. See slots_copies.h.
 *
 * Only pages that are in memory are read: others would have to be made for it, and hold no pointer
 * that the program has written. The program may write meanwhile, and each word is read once.
 * Threads: the control thread.
 */
#include "slots_copies.h"

#include <string.h>
#include <sys/syscall.h>

#include "hooks.h"

enum {
	PAGE_BYTES = 4096,
	PAGES_AT_ONCE = 256,
	/* Of one object: some milliseconds, in which no other can be loaded. */
	PAGES_MAX = 8192
};

struct scan {
	bool (*is_function)(const void *held, const void *context);
	const void *context;
	uint32_t pages_left;
	uint32_t count;
};

static void scan_page(struct scan *scan, uintptr_t page, uintptr_t from, uintptr_t to)
{
	uintptr_t at = page > from ? page : from;
	uintptr_t end = page + PAGE_BYTES < to ? page + PAGE_BYTES : to;

	/* Relaxed: the number may be of any moment. */
	for (at = (at + sizeof(void *) - 1) & -sizeof(void *); at + sizeof(void *) <= end;
	     at += sizeof(void *)) {
		const void *held = __atomic_load_n((void *const *)at, __ATOMIC_RELAXED);

		scan->count += held && scan->is_function(held, scan->context);
	}
}

static void scan_range(struct scan *scan, uintptr_t from, uintptr_t to)
{
	unsigned char is_there[PAGES_AT_ONCE];
	uintptr_t page = from & -(uintptr_t)PAGE_BYTES;

	while (page < to && scan->pages_left > 0) {
		uintptr_t pages = (to - page + PAGE_BYTES - 1) / PAGE_BYTES;

		pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
		if (real.syscall(SYS_mincore, (long)page, (long)(pages * PAGE_BYTES),
				 (long)is_there, 0, 0, 0) != 0)
			return;
		for (uintptr_t i = 0; i < pages && scan->pages_left > 0; i++) {
			if (!(is_there[i] & 1))
				continue;
			scan_page(scan, page + i * PAGE_BYTES, from, to);
			scan->pages_left--;
		}
		page += pages * PAGE_BYTES;
	}
}

/* Their own tables are no matter of the program's. */
static bool is_system(const struct dl_phdr_info *info)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0;
}

uint32_t copies_count(const struct dl_phdr_info *info,
		      bool (*is_function)(const void *held, const void *context),
		      const void *context)
{
	struct scan scan = { is_function, context, PAGES_MAX, 0 };

	for (int i = 0; i < info->dlpi_phnum && !is_system(info); i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_W)
			scan_range(&scan, from, from + header->p_memsz);
	}
	return scan.count;
}

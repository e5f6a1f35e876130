/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is mapped late, and tables that are mapped when they are first needed. See mapping.h.
 *
 * Never here: an unmapping of what somebody may have seen.
 */
#include "mapping.h"

#include <assert.h>
#include <sys/mman.h>

#include "atomics.h"
#include "syscalls.h"

#include "in_target.h"

/* Written once, by whoever has taken the number. */
static struct {
	void *start; /* written last */
	size_t bytes;
} tables[MAPPINGS_MAX];

static uint32_t table_count;

static void note(void *start, size_t bytes)
{
	uint32_t number = add_relaxed(&table_count, 1);

	assert(number < MAPPINGS_MAX);
	if (number >= MAPPINGS_MAX)
		return;
	tables[number].bytes = bytes;
	/* Pairs with mapping_made(). */
	store_release(&tables[number].start, start);
}

/* Without rights a mapping that is locked at once is not populated; until then it is unlocked. */
void *mapping_make(size_t bytes, int fd)
{
	int kind = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *made = sys_mmap(NULL, bytes, PROT_NONE, kind | MAP_NORESERVE, fd);

	if (sys_is_error(made))
		return NULL;
	(void)SYS3(munlock, made, bytes, 0);
	if (SYS3(mprotect, made, bytes, PROT_READ | PROT_WRITE) == 0)
		return made;
	sys_munmap(made, bytes);
	return NULL;
}

bool mapping_ensure(void **at, size_t bytes)
{
	void *nothing = NULL;
	void *made;

	if (load_acquire(at))
		return true;
	made = mapping_make(bytes, -1);
	if (!made)
		return false;
	/* Release: whoever finds the table finds it mapped. Of two at once the first counts. */
	if (cas_acq_rel(at, &nothing, made))
		note(made, bytes);
	else
		sys_munmap(made, bytes);
	return true;
}

const void *mapping_made(uint32_t number, size_t *bytes)
{
	const void *start = load_acquire(&tables[number].start);

	*bytes = start ? tables[number].bytes : 0;
	return start;
}

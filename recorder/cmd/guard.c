/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zeros in place of what is gone. See guard.h.
 *
 * The handler of SIGBUS maps private memory over the rest of the mapping, and the read goes on. A
 * SIGBUS elsewhere ends the command, as it would without us. One thread, which changes the list
 * only where no mapping is read.
 */
#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "grow.h"

enum { PAGE_BYTES = 4096 };

struct region {
	char *begin;
	size_t bytes;
	bool is_torn;
};

static struct region *regions;
static size_t count, room;

static struct region *find(const void *address)
{
	for (size_t i = 0; i < count; i++)
		if ((uintptr_t)address - (uintptr_t)regions[i].begin < regions[i].bytes)
			return &regions[i];
	return NULL;
}

static bool put_zeros(struct region *region, const char *address)
{
	size_t from = (size_t)(address - region->begin) / PAGE_BYTES * PAGE_BYTES;

	region->is_torn = true;
	return mmap(region->begin + from, region->bytes - from, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *unused)
{
	int error = errno;
	struct region *region = find(info->si_addr);

	(void)unused;
	/* The access is tried again: without anything there, it ends the process. */
	if (!region || info->si_code <= 0 || !put_zeros(region, info->si_addr))
		signal(number, SIG_DFL);
	errno = error;
}

static bool start(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	return sigaction(SIGBUS, &action, NULL) == 0;
}

bool guard_add(void *mapping, size_t bytes)
{
	struct region *grown = NULL;

	if (room > 0 || start())
		grown = grow_for_one(regions, &room, count, sizeof(*grown));
	if (!grown)
		return false;
	regions = grown;
	regions[count++] = (struct region){ mapping, bytes, false };
	return true;
}

void guard_remove(const void *mapping)
{
	struct region *region = find(mapping);

	if (region)
		*region = regions[--count];
}

bool guard_is_torn(const void *mapping)
{
	const struct region *region = find(mapping);

	return region && region->is_torn;
}

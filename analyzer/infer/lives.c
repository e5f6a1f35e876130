/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes a semaphore for each request has hundreds at one address, one after the
 * other. Permits of one are none of another, and in a faster program two may be there at once. So
 * the number of semaphores made there before goes into the address, above its 47 bits.
 *
 * Other locks are not told apart: each is given back before it goes. One thread.
 */
#include "lives.h"

#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>

#define ADDRESS_BITS 47
#define LIVES_MAX    ((UINT64_C(1) << (63 - ADDRESS_BITS)) - 1)

struct making {
	uint64_t at_ns;
	uint32_t semaphore;
};

struct makings {
	struct addresses semaphores;
	struct making *rows; /* by semaphore, then time */
	size_t count;
	size_t *first; /* by semaphore, and one more */
};

static int compare_makings(const void *left, const void *right)
{
	const struct making *a = left, *b = right;

	if (a->semaphore != b->semaphore)
		return a->semaphore < b->semaphore ? -1 : 1;
	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static bool is_of_semaphore(const struct rec_wait *wait)
{
	return wait->reason == REASON_SEM && wait->thread != NO_INDEX && wait->address;
}

static void find_semaphores(struct makings *makings, const struct recording *rec)
{
	for (size_t i = 0; i < rec->wait_count; i++)
		if (is_of_semaphore(&rec->waits[i]))
			addresses_add(&makings->semaphores,
				      rec->threads[rec->waits[i].thread].process,
				      rec->waits[i].address);
}

static uint32_t semaphore_of(const struct makings *makings, const struct recording *rec,
			     uint32_t thread, uint64_t address)
{
	if (thread == NO_INDEX || address >> ADDRESS_BITS)
		return NO_INDEX;
	return addresses_find(&makings->semaphores, rec->threads[thread].process, address);
}

static void find_makings(struct makings *makings, const struct recording *rec)
{
	size_t semaphore = 0;

	makings->rows = memory_new(rec->link_count, sizeof(*makings->rows));
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];
		uint32_t found = link->kind == LINK_INIT
					 ? semaphore_of(makings, rec, link->thread, link->address)
					 : NO_INDEX;
		if (found != NO_INDEX)
			makings->rows[makings->count++] = (struct making){ link->at_ns, found };
	}
	if (makings->count)
		qsort(makings->rows, makings->count, sizeof(*makings->rows), compare_makings);
	makings->first = memory_new(makings->semaphores.count + 1, sizeof(*makings->first));
	for (size_t i = 0; i <= makings->count; i++)
		while (semaphore <= makings->semaphores.count &&
		       (i == makings->count || makings->rows[i].semaphore >= semaphore))
			makings->first[semaphore++] = i;
}

/* How many were made there by then. */
static uint64_t life_at(const struct makings *makings, uint32_t semaphore, uint64_t at_ns)
{
	size_t from = makings->first[semaphore], to = makings->first[semaphore + 1];
	size_t begin = from;

	assert(from <= to && to <= makings->count);
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (makings->rows[middle].at_ns <= at_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return (uint64_t)(from - begin) % (LIVES_MAX + 1);
}

static void rename_address(const struct makings *makings, const struct recording *rec,
			   uint32_t thread, uint64_t at_ns, uint64_t *address)
{
	uint32_t semaphore = semaphore_of(makings, rec, thread, *address);

	if (semaphore != NO_INDEX)
		*address |= life_at(makings, semaphore, at_ns) << ADDRESS_BITS;
}

void lives_tell_apart(struct recording *rec)
{
	struct makings makings = { .count = 0 };

	find_semaphores(&makings, rec);
	if (makings.semaphores.count)
		find_makings(&makings, rec);
	for (size_t i = 0; i < rec->wait_count && makings.count; i++)
		if (is_of_semaphore(&rec->waits[i]))
			rename_address(&makings, rec, rec->waits[i].thread, rec->waits[i].start_ns,
				       &rec->waits[i].address);
	for (size_t i = 0; i < rec->link_count && makings.count; i++)
		if (rec->links[i].kind == LINK_POST || rec->links[i].kind == LINK_INIT)
			rename_address(&makings, rec, rec->links[i].thread, rec->links[i].at_ns,
				       &rec->links[i].address);
	addresses_free(&makings.semaphores);
	free(makings.rows);
	free(makings.first);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that processes share: one address for all of them.
 *
 * The dumps say which of a process's addresses are objects in shared memory, and since when. Events
 * at such an address get the object's number as their address. Earlier events do so only if the
 * object is the first that is known of the address: other memory may have been there.
 *
 * An object of the kernel's has a number that is the same in all processes.
 *
 * One thread.
 */
#include "reading.h"

#include "format.h"

#include <assert.h>
#include <stdlib.h>

static int compare_objects(const void *left, const void *right)
{
	const struct shared_object *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

/* The address that the object there has for all processes; the same one if it is not shared. */
static uint64_t share(const struct reading *reading, uint32_t thread, uint64_t address,
		      uint64_t at_ns)
{
	const struct recording *recording = reading->recording;
	const struct shared_object *found = NULL;
	size_t low = 0, high = reading->object_count;

	if (thread == NO_INDEX || address == 0)
		return address;
	if (address & KERNEL_OBJECT && !(address & SHARED_ADDRESS))
		return SHARED_ADDRESS | address;
	assert(thread < recording->thread_count);
	struct shared_object key = { address, at_ns, recording->threads[thread].process, 0 };
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_objects(&reading->objects[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		found = &reading->objects[low - 1];
	if (!found || found->process != key.process || found->address != address)
		found = low < reading->object_count ? &reading->objects[low] : NULL;
	if (!found || found->process != key.process || found->address != address)
		return address;
	return SHARED_ADDRESS | found->object;
}

void read_share(struct reading *reading, uint64_t shift_ns)
{
	struct recording *recording = reading->recording;

	for (size_t i = 0; i < reading->object_count; i++)
		reading->objects[i].since_ns += shift_ns;
	if (reading->object_count)
		qsort(reading->objects, reading->object_count, sizeof(*reading->objects),
		      compare_objects);
	for (size_t i = 0; i < recording->wait_count; i++) {
		struct rec_wait *wait = &recording->waits[i];

		wait->address = share(reading, wait->thread, wait->address, wait->end_ns);
	}
	for (size_t i = 0; i < recording->link_count; i++) {
		struct rec_link *link = &recording->links[i];

		link->address = share(reading, link->thread, link->address, link->at_ns);
	}
	for (size_t i = 0; recording->extras && i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_HOLD)
			recording->extras[i].address =
				share(reading, recording->ops[i].thread,
				      recording->extras[i].address, recording->ops[i].end_ns);
}

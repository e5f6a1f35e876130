/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an address of the network is one's own; flows_names.h has the contract.
 *
 * One thread.
 */
#include "flows_names.h"

#include "base/memory.h"

#include <stdlib.h>

static int compare_owners(const void *left, const void *right)
{
	const struct flow_owner *a = left, *b = right;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->scope > b->scope) - (a->scope < b->scope);
}

void flow_owner_note(struct flow_owners *owners, uint64_t host, uint32_t scope)
{
	owners->list =
		memory_grow(owners->list, &owners->room, owners->count + 1, sizeof(*owners->list));
	owners->list[owners->count++] = (struct flow_owner){ host, scope };
}

void flow_owners_sort(struct flow_owners *owners)
{
	if (owners->count)
		qsort(owners->list, owners->count, sizeof(*owners->list), compare_owners);
}

uint32_t flow_owner_of(const struct flow_owners *owners, uint64_t host)
{
	size_t low = 0, high = owners->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (owners->list[middle].host < host)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == owners->count || owners->list[low].host != host)
		return 0;
	for (size_t i = low; i < owners->count && owners->list[i].host == host; i++)
		if (owners->list[i].scope != owners->list[low].scope)
			return 0;
	return owners->list[low].scope;
}

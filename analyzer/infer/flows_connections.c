/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which accept() got which connection; flows_parts.h has the contract.
 *
 * Method. Both ends of a connection have the same bytes: what goes out of the one that connected
 * comes in at the one that was accepted. An accept() without a recorded connect() got a connection
 * that was asked for before, or by a program that is not recorded. One thread.
 */
#include "flows_parts.h"

#include <stdlib.h>

#include "base/memory.h"

struct meeting {
	uint64_t name; /* of the bytes that are asked with; 0 = its other end is not known */
	size_t side;
};

static int compare_meetings(const void *left, const void *right)
{
	const struct meeting *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return (a->side > b->side) - (a->side < b->side);
}

static uint64_t name_of(const struct flow_names *names, const struct side *side)
{
	const struct recording *rec = names->recording;

	return side->is_write ? flow_names_stream(names, rec->ops[side->op].ident, true)
			      : flow_names_stream(names, rec->extras[side->op].other_ident, false);
}

/* By name, then time. NULL: an accept() does not say what it got. */
static struct meeting *meetings_list(const struct flow_names *names, const struct side *sides,
				     size_t count, size_t *found)
{
	struct meeting *list = memory_new(count, sizeof(*list));

	*found = 0;
	for (size_t i = 0; i < count; i++) {
		if (sides[i].is_look)
			continue;
		if (!sides[i].is_write && !names->recording->extras[sides[i].op].other_ident) {
			free(list);
			return NULL;
		}
		list[(*found)++] = (struct meeting){ name_of(names, &sides[i]), i };
	}
	if (*found)
		qsort(list, *found, sizeof(*list), compare_meetings);
	return list;
}

bool flow_connections_match(const struct flow_names *names, struct side *sides, size_t *count)
{
	size_t found, left = 0;
	struct meeting *list = meetings_list(names, sides, *count, &found);

	if (!list)
		return false;
	for (size_t i = 0; i < *count; i++)
		sides[i].amount = 0;
	for (size_t i = 1; i < found; i++) {
		struct side *connect = &sides[list[i - 1].side], *accept = &sides[list[i].side];

		if (!list[i].name || list[i].name != list[i - 1].name || !connect->is_write ||
		    accept->is_write)
			continue;
		connect->amount = accept->amount = 1;
	}
	for (size_t i = 0; i < *count; i++)
		if (sides[i].amount)
			sides[left++] = sides[i];
	*count = left;
	free(list);
	return true;
}

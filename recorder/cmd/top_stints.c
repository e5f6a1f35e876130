/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads worked for a request; top_stints.h has the contract.
 */
#include "top_stints.h"

#include <stdbool.h>

void top_stints_add(struct top_stints *stints, struct top_stint more)
{
	struct top_stint *stint;
	uint32_t i = 0;

	while (i < stints->count && stints->stints[i].thread != more.thread)
		i++;
	if (i == stints->count && i < TOP_STINTS_MAX) {
		stints->stints[stints->count++] = more;
		return;
	}
	stint = &stints->stints[i < stints->count ? i : TOP_STINTS_MAX - 1];
	stint->begin_ns = more.begin_ns < stint->begin_ns ? more.begin_ns : stint->begin_ns;
	stint->end_ns = more.end_ns > stint->end_ns ? more.end_ns : stint->end_ns;
}

void top_stints_join(struct top_stints *stints, const struct top_stints *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		top_stints_add(stints, from->stints[i]);
}

/* Whether another thread worked then, and until when; else `next_ns` is when one begins to, if that
 * is sooner. */
static bool is_worked_at(const struct top_stints *stints, uint32_t but, uint64_t at_ns,
			 uint64_t *until_ns, uint64_t *next_ns)
{
	for (uint32_t i = 0; i < stints->count; i++) {
		const struct top_stint *stint = &stints->stints[i];

		if (stint->thread == but || stint->end_ns <= at_ns)
			continue;
		if (stint->begin_ns <= at_ns) {
			*until_ns = stint->end_ns;
			return true;
		}
		*next_ns = stint->begin_ns < *next_ns ? stint->begin_ns : *next_ns;
	}
	return false;
}

uint64_t top_stints_outside_ns(const struct top_stints *stints, struct top_stint wait)
{
	uint64_t outside_ns = 0, at_ns = wait.begin_ns;

	while (at_ns < wait.end_ns) {
		uint64_t next_ns = wait.end_ns;

		if (is_worked_at(stints, wait.thread, at_ns, &at_ns, &next_ns))
			continue;
		outside_ns += next_ns - at_ns;
		at_ns = next_ns;
	}
	return outside_ns;
}

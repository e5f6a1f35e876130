/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which call ended a direction of a connection, and which read found that end.
 *
 * Valid as long as the recording that it was collected from.
 */
#ifndef WCPROF_FLOWS_ENDS_H
#define WCPROF_FLOWS_ENDS_H

#include "flows_parts.h"
#include "recording/addresses.h"

struct ending;

struct flow_ends {
	struct ending *list; /* in order of flow, then time */
	size_t count;
	size_t room;
};

/* `names`: of flows, by their numbers. To be freed. */
void flow_ends_collect(struct flow_ends *, const struct recording *, const struct flow_names *,
		       const struct addresses *names);
void flow_ends_free(struct flow_ends *);

/* Of one flow, all of whose bytes were written and read by these sides. False: its end was not
 * found by a read, or it is not known which call made it. */
bool flow_end_find(const struct flow_ends *, const struct recording *, const struct side *,
		   size_t count, uint32_t *closed, uint32_t *found);

#endif

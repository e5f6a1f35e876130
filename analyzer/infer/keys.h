/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks with keys, that a program makes of one condition. Threads wait until nobody is busy with
 * the same thing, as a row, a file or an account.
 *
 * The keys themselves are not recorded. A thread that waited had the key of the one that it waited
 * for. One that went on had a key that nobody had then. It gets any of those, of as many keys as
 * make the recorded share of comers wait.
 *
 * Built once from a recording and its monitors, read-only afterwards.
 */
#ifndef WCPROF_KEYS_H
#define WCPROF_KEYS_H

#include "meetings.h"
#include "monitors.h"
#include "turns.h"

struct keys {
	uint32_t count;    /* of keys, of all conditions */
	uint32_t *entered; /* by section: the key that its thread has from then on; NO_INDEX = none.
			      NULL = there are no keys */
	uint32_t *left;    /* by section: the key that its thread gives back as it ends */
};

/* Conditions that tokens, turns or meetings explain are left to those. */
void keys_build(struct keys *, const struct recording *, const struct monitors *,
		const struct turns *, const struct meetings *);
void keys_free(struct keys *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When each lock was let go: what a wait for it can have waited for.
 *
 * Locks are numbered; whoever needs a lock's number asks here. Built once, read-only afterwards.
 */
#ifndef WCPROF_RELEASES_H
#define WCPROF_RELEASES_H

#include "addresses.h"
#include "recording.h"

struct release {
	uint64_t at_ns;
	uint32_t hold; /* op index */
};

struct releases {
	struct addresses locks;
	struct release *ends; /* lock by lock, each in order of time */
	size_t *first;        /* lock l owns ends [first[l], first[l + 1]) */
	uint32_t *lock_of;    /* by op index: the lock of a hold, NO_INDEX for other ops */
};

void releases_build(struct releases *, const struct recording *);
void releases_free(struct releases *);

/*
 * The release that let `hold` begin, after a wait from after_ns to before_ns. It is found by the
 * numbers of a lock's holds, which were counted while it was held. Where they do not tell (readers,
 * several processes, holds that were lost) it is the last one by time. NULL = none. `hold`
 * NO_INDEX: not known.
 */
const struct release *releases_granting(const struct releases *, const struct recording *,
					uint32_t lock, uint32_t hold, uint64_t after_ns,
					uint64_t before_ns, uint32_t thread);

/* The first release of a lock after this time; where there is none, behind its last one. */
const struct release *releases_first(const struct releases *, uint32_t lock, uint64_t after_ns);

/* The last release of a lock in (after_ns, before_ns] by another thread than `thread`; NULL =
 * none. */
const struct release *releases_last(const struct releases *, const struct recording *,
				    uint32_t lock, uint64_t after_ns, uint64_t before_ns,
				    uint32_t thread);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median of values of which some are known, and of others only bounds.
 *
 * Known values may be a poor sample, as long ones are known more often. So they do not count alike.
 */
#ifndef WCPROF_CENSORED_H
#define WCPROF_CENSORED_H

#include <stddef.h>
#include <stdint.h>

/* Between two bounds, which are the same if it is known. */
struct censored {
	uint64_t least;
	uint64_t most;
};

/* A known value, or an upper bound; 0 of none. Thread-safe. */
uint64_t censored_median(const struct censored *, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of a table that many threads read, and the one that claims it writes: nobody waits for
 * anybody.
 *
 * The entry's sequence number is odd while it is written. Readers take the number, read the data
 * with load_acquire, and take the number again. Acquire keeps the second look after the data, so
 * that data of two writers is never believed. An entry that changes is an entry that is not there.
 * Writers claim, write the data with store_release, and release: release keeps the data after the
 * claim.
 */
#ifndef WCPROF_SEQUENCE_H
#define WCPROF_SEQUENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"

/* Whether what was read since the number was `before` is whole. */
static inline bool sequence_is(const uint32_t *sequence, uint32_t before)
{
	return !(before & 1) && load_relaxed(sequence) == before;
}

/* False if another thread is writing. */
static inline bool sequence_claim(uint32_t *sequence)
{
	uint32_t before = load_relaxed(sequence);

	return !(before & 1) && cas_acq_rel(sequence, &before, before + 1);
}

static inline void sequence_release(uint32_t *sequence)
{
	assert(load_relaxed(sequence) & 1);
	store_release(sequence, load_relaxed(sequence) + 1);
}

/* Scatters what differs in few bits over the whole word. */
static inline uint64_t sequence_scatter(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

#endif

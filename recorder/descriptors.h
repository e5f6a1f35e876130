/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the program's descriptors: a description of each.
 *
 * One word a descriptor: the string that describes it, RECORD_* flags of it, and a generation. That
 * grows whenever it may have become another one: closed, made, put in another's place; the hooks
 * say so. It is described when it is first used. The description is stored only if the generation
 * is still the same: a close in between is noticed. String ids belong to an arena, so all is
 * forgotten when recording is turned on.
 *
 * Any thread, at any time, no lock. The hot path is one load and one branch.
 */
#ifndef WCPROF_DESCRIPTORS_H
#define WCPROF_DESCRIPTORS_H

#include "self.h"

/* A megabyte, of which two pages are taken when a descriptor in them is used. */
enum { DESCRIPTORS_MAX = 65536 };

/* A word is: string id | flags << 32 | DESCRIPTOR_KNOWN | generation * DESCRIPTOR_GENERATION. */
#define DESCRIPTOR_FLAGS_SHIFT 32
#define DESCRIPTOR_KNOWN       (UINT64_C(1) << 40)
#define DESCRIPTOR_GENERATION  (UINT64_C(1) << 41)

/* A word each, and behind all words one more for each. NULL until recording was first on. Words are
 * written by any thread, by compare and swap. A word is whole: relaxed loads will do. */
extern void *descriptors_table HIDDEN;

static inline uint64_t *descriptors_word(int fd)
{
	return (uint64_t *)descriptors_table + (uint32_t)fd;
}

/* Before recording is turned on; false: there is no memory. */
bool descriptors_start(void) HIDDEN;

/* The word of a descriptor that is not known, or beyond the table, or none; describes it. */
uint64_t descriptors_learn(struct self *, int fd) HIDDEN;
/* Whether new names had better be those of many descriptors: locks and threads need room too. */
bool descriptors_are_crowded(void) HIDDEN;
/* While nothing is recorded. */
void descriptors_forget_all(void) HIDDEN;
/* Nothing is recorded any more: what becomes of eventfds is not seen. */
void descriptors_lose_sight(void) HIDDEN;

static inline uint64_t descriptors_get(struct self *self, int fd)
{
	uint64_t word = 0;

	if (LIKELY((uint32_t)fd < DESCRIPTORS_MAX))
		word = load_relaxed(descriptors_word(fd));
	return LIKELY(word & DESCRIPTOR_KNOWN) ? word : descriptors_learn(self, fd);
}

/* Whether it is known to be a connection whose peer is a client. */
static inline bool descriptors_is_accepted(int fd)
{
	uint64_t word = 0;

	if ((uint32_t)fd < DESCRIPTORS_MAX)
		word = load_relaxed(descriptors_word(fd));
	return word >> DESCRIPTOR_FLAGS_SHIFT & RECORD_ACCEPTED;
}

/*
 * Whether the io op is a call of files alone: one that nobody waits for, as it carries no bytes to
 * another thread or client. Calls of two descriptors and for locks on files are not.
 */
bool descriptors_is_of_files(const struct record *) HIDDEN;

/* Says in a record what its descriptor is. */
static inline void descriptors_describe(struct self *self, struct record *record)
{
	uint64_t word = descriptors_get(self, record->fd);

	record->ident = (uint32_t)word;
	record->flags |= (uint8_t)(word >> DESCRIPTOR_FLAGS_SHIFT);
}

#endif

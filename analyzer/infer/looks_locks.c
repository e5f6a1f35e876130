/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds rows of sleeps for a lock on a file; looks.h has the contract.
 *
 * Method. A thread tries to lock a file in vain, sleeps, and tries again. Such sleeps are a row,
 * however few they are, if it gets what it tried to get before the last one. All that it found
 * locked before any of them must be free for the row to end: a database asks for several locks.
 */
#include "looks_parts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

struct lock_search {
	struct looks *looks;
	const struct recording *recording;
	const struct class_table *classes;
	bool *is_taken;
	size_t row_capacity;
	size_t lock_capacity;
	struct look_row row;  /* so far; count 0 = none */
	uint32_t first_sleep; /* of the row, in `sleeps` */
	uint32_t *sleeps;     /* all sleeps that came after a try in vain */
	size_t sleep_count;
	size_t sleep_capacity;
	uint64_t address; /* the last lock that was found taken, 0 = none */
	uint32_t hold;    /* the first one since the last sleep, NO_INDEX = none */
	bool is_new;      /* that was since the last sleep */
	uint64_t *shares; /* addresses of the locks that the thread reads now */
	size_t share_count;
	size_t share_capacity;
};

static void row_begins(struct lock_search *search, uint32_t thread)
{
	search->row = (struct look_row){ .thread = thread,
					 .first_lock = (uint32_t)search->looks->lock_count,
					 .ender = NO_INDEX,
					 .sort = LOOK_LOCKED };
	search->first_sleep = (uint32_t)search->sleep_count;
	search->address = 0;
	search->hold = NO_INDEX;
	search->is_new = false;
}

static bool has_share(const struct lock_search *search, uint64_t address)
{
	for (size_t i = 0; i < search->share_count; i++)
		if (search->shares[i] == address)
			return true;
	return false;
}

static void share_begins(struct lock_search *search, uint64_t address)
{
	search->shares = memory_grow(search->shares, &search->share_capacity,
				     search->share_count + 1, sizeof(*search->shares));
	search->shares[search->share_count++] = address;
}

static void share_ends(struct lock_search *search, uint64_t address)
{
	for (size_t i = search->share_count; i-- > 0;)
		if (search->shares[i] == address) {
			search->shares[i] = search->shares[--search->share_count];
			return;
		}
}

static void lock_found_taken(struct lock_search *search, const struct rec_wait *wait)
{
	struct looks *looks = search->looks;

	search->address = wait->address;
	search->is_new = true;
	for (size_t i = search->row.first_lock; i < looks->lock_count; i++)
		if (looks->locks[i].address == wait->address)
			return;
	looks->locks = memory_grow(looks->locks, &search->lock_capacity, looks->lock_count + 1,
				   sizeof(*looks->locks));
	looks->locks[looks->lock_count++] =
		(struct look_lock){ .address = wait->address,
				    .lock = NO_INDEX,
				    .is_read = wait->reason == REASON_RWLOCK_READ,
				    .has_share = has_share(search, wait->address) };
}

static void sleep_begins(struct lock_search *search, uint32_t thread, uint32_t op)
{
	if (!search->is_new) {
		row_begins(search, thread);
		return;
	}
	if (!search->row.count++) {
		search->row.first = op;
		search->row.first_ns = search->recording->ops[op].start_ns;
		search->row.class = search->classes->of_op[op];
	}
	search->row.last = op;
	search->hold = NO_INDEX;
	search->sleeps = memory_grow(search->sleeps, &search->sleep_capacity,
				     search->sleep_count + 1, sizeof(*search->sleeps));
	search->sleeps[search->sleep_count++] = op;
	search->is_new = false;
}

static void lock_gained(struct lock_search *search, uint32_t thread, uint32_t hold)
{
	struct looks *looks = search->looks;
	uint64_t address = search->recording->extras[hold].address;

	if (rec_is_file_lock(address) && search->hold == NO_INDEX)
		search->hold = hold;
	if (search->is_new || address != search->address)
		return;
	if (search->row.count) {
		search->row.hold = search->hold;
		search->row.lock_count = (uint32_t)looks->lock_count - search->row.first_lock;
		looks->rows = memory_grow(looks->rows, &search->row_capacity, looks->count + 1,
					  sizeof(*looks->rows));
		looks->rows[looks->count++] = search->row;
		for (size_t i = search->first_sleep; i < search->sleep_count; i++)
			search->is_taken[search->sleeps[i]] = true;
	}
	row_begins(search, thread);
}

static bool is_share(const struct recording *recording, uint32_t op)
{
	return recording->ops[op].kind == KIND_HOLD && recording->extras[op].shared &&
	       rec_is_file_lock(recording->extras[op].address);
}

static void happens(struct lock_search *search, uint32_t thread, const struct moment *moment)
{
	const struct recording *recording = search->recording;
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_WAIT_POINT || type == MOMENT_WAIT_END) {
		const struct rec_wait *wait = &recording->waits[moment->index];
		if (wait->timed_out && rec_is_file_lock(wait->address))
			lock_found_taken(search, wait);
	} else if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT) {
		uint16_t kind = recording->ops[moment->index].kind;
		if (kind == KIND_SLEEP)
			sleep_begins(search, thread, moment->index);
		else if (kind == KIND_HOLD)
			lock_gained(search, thread, moment->index);
		if (type == MOMENT_OP_BEGIN && is_share(recording, moment->index))
			share_begins(search, recording->extras[moment->index].address);
	} else if (type == MOMENT_OP_END && is_share(recording, moment->index)) {
		share_ends(search, recording->extras[moment->index].address);
	}
}

static bool has_tries(const struct recording *recording)
{
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].timed_out && rec_is_file_lock(recording->waits[i].address))
			return true;
	return false;
}

bool *look_locks_find(struct looks *looks, const struct recording *recording,
		      const struct class_table *classes, const struct timeline *timeline)
{
	struct lock_search search = { .looks = looks, .recording = recording, .classes = classes };

	if (!has_tries(recording))
		return NULL;
	search.is_taken = memory_new(recording->op_count, sizeof(*search.is_taken));
	for (uint32_t thread = 0; thread < timeline->thread_count; thread++) {
		row_begins(&search, thread);
		search.share_count = 0;
		for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++)
			happens(&search, thread, &timeline->moments[i]);
	}
	free(search.sleeps);
	free(search.shares);
	return search.is_taken;
}

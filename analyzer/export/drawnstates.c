/* SPDX-License-Identifier: Apache-2.0 */
/* States as the page draws them; drawnstates.h has the contract. */
#include "drawnstates.h"

#include "format.h"
#include "measure/locks.h"

const char *const drawn_state_words[DRAWN_STATES] = {
	"running", "queued", "lock", "io", "poll", "sleep", "other", "unknown",
};

static enum drawn_state state_of_blocked(const struct recording *recording,
					 const struct walk_slice *slice)
{
	if (slice->wait != NO_INDEX)
		return lock_is_contention(recording->waits[slice->wait].reason) ? DRAWN_LOCK
										: DRAWN_OTHER;
	if (slice->op == NO_INDEX)
		return DRAWN_OTHER;
	switch (recording->ops[slice->op].kind) {
	case KIND_IO:
	case KIND_DNS:
		return DRAWN_IO;
	case KIND_POLL:
		return DRAWN_POLL;
	case KIND_SLEEP:
		return DRAWN_SLEEP;
	default:
		return DRAWN_OTHER;
	}
}

enum drawn_state drawn_state_of(const struct recording *recording, const struct walk_slice *slice)
{
	switch (slice->state) {
	case WALK_RUNNING:
		return DRAWN_RUNNING;
	case WALK_QUEUED:
		return DRAWN_QUEUED;
	case WALK_IDLE:
		return DRAWN_POLL;
	case WALK_BLOCKED:
		return state_of_blocked(recording, slice);
	case WALK_UNEXPLAINED:
		break;
	}
	return DRAWN_UNKNOWN;
}

bool drawn_waker(const struct walk *walk, const struct walk_slice *slice, struct walk_waker *waker)
{
	struct walk_slice last = *slice;
	if (slice->state != WALK_BLOCKED && slice->state != WALK_IDLE)
		return false;
	if (slice->wait != NO_INDEX && !walk->recording->waits[slice->wait].open)
		last.is_end = true;
	return walk_waker(walk, &last, waker);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what other threads' events ended; joints.h has the contract. */
#include "joints.h"

#include <stdlib.h>

#include "base/memory.h"

/* True: a wait or call ended at this moment, and another thread ended it while it lasted. */
static bool find(struct joint *joint, const struct recording *recording,
		 const struct wakers *wakers, const struct moment *moment, uint32_t thread)
{
	struct waker waker;
	*joint = (struct joint){ .end_ns = moment->at_ns, .index = moment->index };
	if (moment_type(moment) == MOMENT_WAIT_END) {
		joint->is_wait = true;
		joint->start_ns = recording->waits[moment->index].start_ns;
		waker = wakers->of_wait[moment->index];
	} else if (moment_type(moment) == MOMENT_OP_END) {
		joint->start_ns = recording->ops[moment->index].start_ns;
		waker = wakers->of_op[moment->index];
	} else {
		return false;
	}
	joint->at_ns = waker_at_ns(recording, waker);
	joint->thread = waker_thread(recording, waker);
	joint->is_begin = waker.event == WAKER_OP_BEGIN;
	if (joint->at_ns > joint->end_ns)
		joint->at_ns = joint->end_ns;
	return joint->thread != NO_INDEX && joint->thread != thread &&
	       joint->at_ns > joint->start_ns;
}

void joints_build(struct joints *joints, const struct recording *recording,
		  const struct timeline *timeline, const struct wakers *wakers)
{
	struct joint joint;
	size_t room = 0, count = 0;
	*joints = (struct joints){ .thread_count = timeline->thread_count };
	joints->first = memory_new(timeline->thread_count + 1, sizeof(*joints->first));
	for (uint32_t thread = 0; thread < timeline->thread_count; thread++) {
		joints->first[thread] = count;
		if (!wakers->of_wait)
			continue;
		for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
			if (!find(&joint, recording, wakers, &timeline->moments[i], thread))
				continue;
			joints->joints = memory_grow(joints->joints, &room, count + 1,
						     sizeof(*joints->joints));
			joints->joints[count++] = joint;
		}
	}
	joints->first[timeline->thread_count] = count;
}

void joints_free(struct joints *joints)
{
	free(joints->joints);
	free(joints->first);
	*joints = (struct joints){ 0 };
}

const struct joint *joints_before(const struct joints *joints, uint32_t thread, uint64_t at_ns)
{
	size_t low = joints->first[thread], high = joints->first[thread + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (joints->joints[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > joints->first[thread] ? &joints->joints[low - 1] : NULL;
}

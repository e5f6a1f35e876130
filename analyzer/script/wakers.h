/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which event of another thread ended each wait and each call that waited, as recorded.
 *
 * A lock's wait ends with the release that let its hold begin. A read ends with the write of its
 * bytes, and so does a poll before it. A write ends with the read that made room. A join
 * ends with the thread, a permit's wait with the post, a barrier's with the last to come. All else
 * ends with the signal that the recorder names. An event may
 * have been there before its wait. Built once, read-only afterwards.
 */
#ifndef WCPROF_WAKERS_H
#define WCPROF_WAKERS_H

#include "infer/flows.h"
#include "infer/monitors.h"
#include "recording/recording.h"
#include "recording/timeline.h"

enum waker_event {
	WAKER_NONE,       /* or not known */
	WAKER_OP_END,     /* of a hold, a thread, a read */
	WAKER_OP_BEGIN,   /* of a write */
	WAKER_LINK,       /* a signal or a post happened */
	WAKER_WAIT_BEGIN, /* of the last to come to a barrier; its own is its own */
};

struct waker {
	enum waker_event event;
	uint32_t index; /* of the op, link or wait */
};

struct wakers {
	struct waker *of_wait; /* by wait index */
	struct waker *of_op;   /* by op index */
	uint32_t *write_of; /* by op index: of a read, the write of its first byte; or NO_INDEX */
};

/* Of a recording that names threads. */
void wakers_build(struct wakers *, const struct recording *, const struct timeline *,
		  const struct monitors *, const struct flows *);
void wakers_free(struct wakers *);

/* When it happened, on which thread, and at which op: of a link the one that it was in. NO_INDEX =
 * none, or not known. */
uint64_t waker_at_ns(const struct recording *, struct waker);
uint32_t waker_thread(const struct recording *, struct waker);
uint32_t waker_op(const struct recording *, struct waker);

#endif

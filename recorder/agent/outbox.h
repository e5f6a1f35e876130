/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads that wait: a queue of bounded size, tries at growing distances, and what an answer means.
 *
 * The queue is in memory. When it is full the oldest upload is dropped, unless it is under way:
 * what is new says more. All drops are counted. Times are the monotonic clock's, and given by the
 * caller. One thread.
 */
#ifndef WCPROF_OUTBOX_H
#define WCPROF_OUTBOX_H

#include <stdint.h>

#include "config.h"
#include "upload.h"

enum outbox_verdict { OUTBOX_TAKEN, OUTBOX_LATER, OUTBOX_REFUSED };

struct outgoing {
	struct outgoing *next;
	struct config_upload receiver; /* as it was configured then */
	struct upload_request request;
	unsigned tries; /* begun so far */
	uint64_t due_ns;
	bool is_under_way;
};

struct outbox {
	struct outgoing *first, *last;
	uint64_t bytes;
	size_t count;
};

/* Takes the request over, or drops it when it is larger than the queue. */
void outbox_add(struct outbox *outbox, const struct config_upload *receiver,
		struct upload_request *request, uint64_t now_ns, uint64_t bytes_max);
/* One that is due; it is under way then. NULL: none. */
struct outgoing *outbox_next(struct outbox *outbox, uint64_t now_ns);
/* When the next one is due; UINT64_MAX: none waits. */
uint64_t outbox_due_ns(const struct outbox *outbox);
/* A try has ended: the upload is gone, or waits for its next one. `chance` is any number;
 * retry_after_s is what the receiver asked for, 0 = nothing. */
void outbox_settle(struct outbox *outbox, struct outgoing *outgoing, enum outbox_verdict verdict,
		   unsigned retry_after_s, uint64_t chance, unsigned tries_max, uint64_t now_ns);
void outbox_free(struct outbox *outbox);

/* Of an HTTP status; 0: there was none. */
enum outbox_verdict outbox_judge(int status);
/* How long to wait after so many tries: twice as long after each, with a random part of a half. */
uint64_t outbox_wait_ns(unsigned tries, unsigned retry_after_s, uint64_t chance);

#endif

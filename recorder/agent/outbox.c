/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox. See outbox.h.
 */
#include "outbox.h"

#include <assert.h>
#include <stdlib.h>

#include "metrics.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
	FIRST_WAIT_S = 2,
	WAIT_S_MOST = 300, /* a receiver that was away for an hour gets what is new soon after */
	DOUBLINGS_MOST = 8
};

static void count(const struct outbox *outbox)
{
	metrics.uploads_queued = (double)outbox->count;
	metrics.uploads_queued_bytes = (double)outbox->bytes;
}

static void take_out(struct outbox *outbox, struct outgoing *outgoing)
{
	struct outgoing **at = &outbox->first, *before = NULL;

	for (; *at != outgoing; at = &(*at)->next) {
		assert(*at);
		before = *at;
	}
	*at = outgoing->next;
	if (outbox->last == outgoing)
		outbox->last = before;
	outbox->count--;
	outbox->bytes -= outgoing->request.body.used;
	body_free(&outgoing->request.body);
	free(outgoing);
	count(outbox);
}

static struct outgoing *oldest_waiting(const struct outbox *outbox)
{
	struct outgoing *at = outbox->first;

	while (at && at->is_under_way)
		at = at->next;
	return at;
}

/* Whether there is room then. */
static bool make_room(struct outbox *outbox, uint64_t bytes, uint64_t bytes_max)
{
	while (outbox->bytes + bytes > bytes_max) {
		struct outgoing *oldest = oldest_waiting(outbox);

		if (!oldest)
			return false;
		take_out(outbox, oldest);
		metrics.uploads_overflowed_total++;
	}
	return true;
}

void outbox_add(struct outbox *outbox, const struct config_upload *receiver,
		struct upload_request *request, uint64_t now_ns, uint64_t bytes_max)
{
	struct outgoing *added = calloc(1, sizeof(*added));

	if (!added || request->body.used > bytes_max ||
	    !make_room(outbox, request->body.used, bytes_max)) {
		free(added);
		body_free(&request->body);
		metrics.uploads_overflowed_total++;
		return;
	}
	added->receiver = *receiver;
	added->request = *request;
	added->due_ns = now_ns;
	if (outbox->last)
		outbox->last->next = added;
	else
		outbox->first = added;
	outbox->last = added;
	outbox->count++;
	outbox->bytes += request->body.used;
	request->body = (struct body){ 0 };
	count(outbox);
}

struct outgoing *outbox_next(struct outbox *outbox, uint64_t now_ns)
{
	for (struct outgoing *at = outbox->first; at; at = at->next) {
		if (at->is_under_way || at->due_ns > now_ns)
			continue;
		at->is_under_way = true;
		at->tries++;
		return at;
	}
	return NULL;
}

uint64_t outbox_due_ns(const struct outbox *outbox)
{
	uint64_t due_ns = UINT64_MAX;

	for (const struct outgoing *at = outbox->first; at; at = at->next)
		if (!at->is_under_way && at->due_ns < due_ns)
			due_ns = at->due_ns;
	return due_ns;
}

void outbox_settle(struct outbox *outbox, struct outgoing *outgoing, enum outbox_verdict verdict,
		   unsigned retry_after_s, uint64_t chance, unsigned tries_max, uint64_t now_ns)
{
	assert(outgoing->is_under_way);
	if (verdict == OUTBOX_LATER && outgoing->tries < tries_max) {
		metrics.uploads_retried_total++;
		outgoing->is_under_way = false;
		outgoing->due_ns = now_ns + outbox_wait_ns(outgoing->tries, retry_after_s, chance);
		return;
	}
	if (verdict == OUTBOX_TAKEN) {
		metrics.uploads_total++;
		metrics.upload_bytes_total += (double)outgoing->request.body.used;
	} else if (verdict == OUTBOX_REFUSED) {
		metrics.uploads_refused_total++;
	} else {
		metrics.uploads_dropped_total++;
	}
	take_out(outbox, outgoing);
}

void outbox_free(struct outbox *outbox)
{
	while (outbox->first)
		take_out(outbox, outbox->first);
}

enum outbox_verdict outbox_judge(int status)
{
	enum { OK = 200, NO_LONGER_OK = 300, TIMEOUT = 408, TOO_MANY = 429, SERVERS = 500 };

	if (status >= OK && status < NO_LONGER_OK)
		return OUTBOX_TAKEN;
	if (status == 0 || status == TIMEOUT || status == TOO_MANY || status >= SERVERS)
		return OUTBOX_LATER;
	return OUTBOX_REFUSED;
}

uint64_t outbox_wait_ns(unsigned tries, unsigned retry_after_s, uint64_t chance)
{
	unsigned doublings = tries > DOUBLINGS_MOST ? DOUBLINGS_MOST : tries > 0 ? tries - 1 : 0;
	uint64_t wait_s = (uint64_t)FIRST_WAIT_S << doublings;
	uint64_t wait_ns;

	if (wait_s < retry_after_s)
		wait_s = retry_after_s;
	if (wait_s > WAIT_S_MOST)
		wait_s = WAIT_S_MOST;
	wait_ns = wait_s * NS_PER_S;
	/* By chance: else many agents come back at one moment. */
	return retry_after_s ? wait_ns + chance % (wait_ns / 2)
			     : wait_ns / 2 + chance % (wait_ns / 2);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on their way: the only user of libcurl.
 *
 * A receiver's certificate is checked unless the configuration says otherwise. No redirection is
 * followed, and of an answer only the beginning is kept. Proxies come from the environment, as
 * libcurl reads it. One thread, several requests side by side.
 */
#ifndef WCPROF_TRANSFER_H
#define WCPROF_TRANSFER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "outbox.h"

enum { TRANSFER_MOST = 4, TRANSFER_WHY_BYTES = 160, TRANSFER_POLLS_MOST = 16 };

struct transfers;

struct transfer_result {
	struct outgoing *outgoing;
	enum outbox_verdict verdict;
	unsigned retry_after_s;       /* as the receiver asked, 0 = it did not */
	char why[TRANSFER_WHY_BYTES]; /* unless it was taken; nothing that is secret */
};

/* NULL: no memory, or libcurl cannot be used. */
struct transfers *transfers_make(void);
/* Ends all that are under way. */
void transfers_free(struct transfers *transfers);
bool transfers_have_room(const struct transfers *transfers);
/* Begins one. False: it could not be begun, and *result says why. */
bool transfers_begin(struct transfers *transfers, struct outgoing *outgoing,
		     struct transfer_result *result);
/* Waits for these descriptors and for all requests; fills in the descriptors' revents. */
void transfers_wait(struct transfers *transfers, struct pollfd *polls, size_t count,
		    int timeout_ms);
/* One that has ended; false: none. */
bool transfers_next(struct transfers *transfers, struct transfer_result *result);

/* The first line of a file with a secret: printable, and not longer than `size`. 0, or -errno. */
int transfer_read_secret(const char *path, char *to, size_t size);

#endif

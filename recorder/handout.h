/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that take time: a dump, and the stacks of all threads, on their way to a client.
 *
 * One of each at a time. A dump is written piece by piece, whenever its reader takes more: a reader
 * that stalls holds up nobody but other dumps. It counts as handed out when the reader has read it
 * to the end: the kernel says how much is still on its way. With ack=1 it does so when the reader
 * says after the end that it has kept all of it. The control thread only; nothing here blocks.
 */
#ifndef WCPROF_HANDOUT_H
#define WCPROF_HANDOUT_H

#include "text.h"

/* The longest line is an order of a probe (probe_order.h), in hexadecimal. */
enum { CLIENT_LINE_BYTES_MAX = 6144, CLIENT_ANSWER_BYTES_MAX = 8192 };

struct client {
	int fd; /* -1 = free */
	uint32_t line_used;
	uint32_t answer_sent;
	bool is_overlong; /* the rest of the line is to be skipped */
	bool input_ended;
	bool is_dumping;
	bool flush;      /* its dump: what it has is not in the next one */
	bool wants_ack;  /* its dump: see VERB_ACK */
	bool has_survey; /* its answer is survey.c's */
	char line[CLIENT_LINE_BYTES_MAX];
	struct text answer;
	char answer_bytes[CLIENT_ANSWER_BYTES_MAX];
};

/* From now on it has a short answer, of its own memory. */
void handout_reset_answer(struct client *) HIDDEN;
/* Ends the connection; not while it is dumping. */
void handout_close(struct client *) HIDDEN;

/* Begins a dump for the client, whose last answer that is: of all, or of the last nanoseconds. 0;
 * -EBUSY; -ENOMEM. */
int handout_dump(struct client *, bool flush, bool wants_ack, uint64_t last_ns) HIDDEN;
/* Sends as much of it as its reader takes now. */
void handout_continue(void) HIDDEN;
/* The same when the poll says so, or the next step after that. */
void handout_poll(short events) HIDDEN;

/* Asks all threads for their stacks. 0; -EBUSY; -ENOMEM; -ESRCH: there is no /proc. */
int handout_stacks(struct client *) HIDDEN;
/* Gives the client the stacks when all threads have answered that will. Returns the client that
 * has to do without, for lack of memory; else NULL. */
struct client *handout_tick(uint64_t now_ns) HIDDEN;

/* Whether anything is under way; whether this client waits for its stacks; whether it has nothing
 * to be polled for. */
bool handout_is_busy(void) HIDDEN;
bool handout_is_asking(const struct client *) HIDDEN;
bool handout_is_waiting(const struct client *) HIDDEN;

/* The control thread ends: no reader gets more. In a forked child: there is none. */
void handout_leave(void) HIDDEN;
void handout_forget(void) HIDDEN;

#endif

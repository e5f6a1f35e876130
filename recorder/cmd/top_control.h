/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions of top to the process, by its control socket: to record, what, and how that goes.
 *
 * Recording that was off is off again in the end, and each setting that was changed is what it was.
 * It has a lease meanwhile, so that it ends soon if this command is killed. Several of these may
 * watch one process: the last one turns recording off. Each has a lock on the arena's file, which
 * says that it is there; the kernel takes it away from a dead one.
 *
 * One thread.
 */
#ifndef WCPROF_TOP_CONTROL_H
#define WCPROF_TOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"

enum { TOP_ARENA_BYTES = 256, TOP_CHANGES_MAX = 16, TOP_KEY_BYTES = 32, TOP_NOTE_BYTES = 512 };
/* Of recording and of probes. Three renewals may fail. The agent's are longer than a minute. */
enum { TOP_LEASE_S = 20 };

/* The cost of recording to the process, by its own account, from one status to the next. */
struct top_cost {
	bool is_known;
	double per_s_ns;
	double share; /* of its CPU time */
};

struct top_control {
	const char *socket;
	struct client_answer before; /* to STATUS */
	struct client_answer status; /* the last one */
	struct client_answer probes; /* the last answer to PROBES; is_ok: there is one */
	uint64_t asked_ns;
	struct top_cost cost;
	struct top_cost cost_before; /* the last change */
	char change[TOP_NOTE_BYTES]; /* whose cost is not known yet; empty: none */
	char changed[TOP_CHANGES_MAX][TOP_KEY_BYTES];
	size_t changed_count;
	char line[TOP_NOTE_BYTES]; /* that turned recording on */
	uint64_t renewed_ns;       /* the lease, last */
	int arena_fd;              /* -1 = none yet */
	bool is_ours; /* recording: this command turned it on, or another of its kind */
	bool forgets; /* its events, and all of them in the end */
};

/* Turns recording on if it is off, with `settings` (KEY=VALUE, ended by NULL) if there are any.
 * `arena` gets the path of its memory. False: `error` says why. */
bool top_control_begin(struct top_control *, const char *socket, char *const *settings,
		       char arena[TOP_ARENA_BYTES], char *error, size_t size);
/* Says to other commands of this kind that this one is there. */
void top_control_share(struct top_control *, int arena_fd);
void top_control_end(struct top_control *);
/* Asks for the status every few seconds, and renews the leases, also those of probes. If this
 * command turned recording on, events are forgotten after a minute, and all of them when the memory
 * is half full nevertheless. `note` gets what the last change costs, when that is known. It is to
 * be called at least every TOP_CONTROL_EVERY_NS. */
#define TOP_CONTROL_EVERY_NS UINT64_C(5000000000)
void top_control_tick(struct top_control *, char note[TOP_NOTE_BYTES]);
/* `note` gets what came of it, as a sentence. False: it was refused. */
bool top_control_set(struct top_control *, const char *key, const char *value,
		     char note[TOP_NOTE_BYTES]);
/* Something was changed that costs more or less, as the sentence says. */
void top_control_changed(struct top_control *, const char *note);
/* The next value of what a key stands for: h, s, S, i. */
void top_control_step(struct top_control *, int key, char note[TOP_NOTE_BYTES]);
/* Asks which probes there are. */
void top_control_ask_probes(struct top_control *);
/* CPU time between two samples of a thread; 0 = none are taken. */
uint64_t top_control_sample_ns(const struct top_control *);

#endif

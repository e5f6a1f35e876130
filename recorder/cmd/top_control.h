/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions of top to the process, by its control socket: to record, what, and how that goes.
 *
 * Recording that was off is off again in the end, with the settings of before. One thread.
 */
#ifndef WCPROF_TOP_CONTROL_H
#define WCPROF_TOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"

enum { TOP_ARENA_BYTES = 256 };

struct top_control {
	const char *socket;
	struct client_answer before; /* to STATUS */
	struct client_answer status; /* the last one */
	uint64_t asked_ns;
	bool has_enabled; /* this command did */
};

/* Turns recording on if it is off. `arena` gets the path of its memory. False: `error` says why. */
bool top_control_begin(struct top_control *, const char *socket, char arena[TOP_ARENA_BYTES],
		       char *error, size_t size);
void top_control_end(struct top_control *);
/* Asks for the status every few seconds. Recording that this command turned on does not fill the
 * memory: what is in it is discarded when it is half full. */
void top_control_tick(struct top_control *, uint64_t now_ns);
/* `note` gets what came of it, as a sentence. */
void top_control_set(struct top_control *, const char *key, const char *value, char *note,
		     size_t size);
/* The next value of what a key stands for: h, s, S, i. */
void top_control_step(struct top_control *, int key, char *note, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a step of the replay in words of the recording: the thread, its wait, the call site.
 *
 * One thread; an analysis is only read. Names live as long as the recording.
 */
#ifndef WCPROF_PLACES_H
#define WCPROF_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "replay/replayer.h"

struct analysis;

enum { PLACE_BYTES = 240 };

struct place {
	const char *action; /* "waits for the lock"; NULL = there is no place */
	const char *object; /* its name, "" = it has none */
	const char *site;   /* "function file.c:12" of the call, "" = not known */
	const char *thread; /* its class */
	uint32_t tid;
};

/* Of the script that the analysis was made with, not of a variant. */
struct place place_of(const struct analysis *analysis, struct replay_place at);

/* Of a recorded wait. */
struct place place_of_wait(const struct analysis *analysis, uint32_t wait);

/* "thread `worker` (12) waits for the lock `m` at pop queue.c:40"; returns `text`. */
const char *place_describe(const struct place *place, char text[PLACE_BYTES]);

#endif

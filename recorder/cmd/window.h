/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of processes that run already: recording is turned on, a while later off, and what was
 * recorded is dumped.
 *
 * Signals that would end the command are blocked, and end the window.
 */
#ifndef WCPROF_WINDOW_H
#define WCPROF_WINDOW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cmd.h"
#include "departed.h"

enum { WINDOW_FOR_EVER = 0 };

struct window {
	struct cmd_options *options;
	const char *process; /* as target_find() takes it */
	unsigned how;        /* enum target_how */
	sigset_t signals;
	bool is_interrupted;
	struct departed departed; /* the window's own, from window_enable() to window_record() */
};

/* Blocks the signals. */
void window_prepare(struct window *window);

/* So long, or until a signal comes; WINDOW_FOR_EVER: until then. */
void window_wait(struct window *window, time_t seconds, long ns);

/* Turns recording on; how many processes took it. */
size_t window_enable(struct window *window);

/* Of recording that is on: a while later off, and dumped to the file that the options name, or to
 * this one. With it goes what processes left that ended meanwhile. The command's status. */
int window_record(struct window *window, time_t seconds, const char *path);

/* Seconds that an option says, or so many if it is NULL; -1: complained of. */
time_t window_seconds(const char *seconds, time_t usual);

#endif

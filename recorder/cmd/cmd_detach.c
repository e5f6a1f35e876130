/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof detach: ends the recording of a process that wcprof attach has loaded the library into,
 * and has its calls lead to libc again.
 */
#include "cmd.h"

#include <poll.h>
#include <stdio.h>

#include "visible.h"

/* Of the control thread's end: then the process can be attached to again. */
enum { END_TRIES = 300, END_PAUSE_MS = 10 };

static void print(const struct target *target, const char *object)
{
	(void)object;
	for (int i = 0; i < END_TRIES && reach_has_thread(target->pid); i++)
		(void)poll(NULL, 0, END_PAUSE_MS);
	printf("%d %s: detached; the library stays in its memory, unused\n", (int)target->pid,
	       visible(target->name));
}

int cmd_detach(struct cmd_options *options)
{
	return cmd_ask(options, "DETACH", print);
}

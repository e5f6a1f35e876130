/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof detach: ends the recording of a process that wcprof attach has loaded the library into,
 * and has its calls lead to libc again.
 */
#include "cmd.h"

#include <poll.h>
#include <stdio.h>

#include "client.h"
#include "visible.h"

/* Of the control thread's end: then the process can be attached to again. */
enum { END_TRIES = 300, END_PAUSE_MS = 10 };

static void print(const struct target *target, const char *object)
{
	uint64_t slots = 0, left = 0;

	(void)client_number(object, "slots", &slots);
	(void)client_number(object, "slots_left", &left);
	for (int i = 0; i < END_TRIES && reach_has_thread(target->pid); i++)
		(void)poll(NULL, 0, END_PAUSE_MS);
	printf("%d %s: detached, %d calls lead to libc again", (int)target->pid,
	       visible(target->name), (int)slots);
	if (left > 0)
		printf("; %d could not be put back, and go through wcprof", (int)left);
	puts("; the library stays in its memory, unused");
}

int cmd_detach(struct cmd_options *options)
{
	return cmd_ask(options, "DETACH", print);
}

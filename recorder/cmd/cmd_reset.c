/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof reset: forgets what is recorded.
 */
#include "cmd.h"

#include <stdio.h>

#include "visible.h"

static void print(const struct target *target, const char *object)
{
	(void)object;
	printf("%d %s: the events recorded so far are discarded\n", (int)target->pid,
	       visible(target->name));
}

int cmd_reset(struct cmd_options *options)
{
	return cmd_ask(options, "RESET", print);
}

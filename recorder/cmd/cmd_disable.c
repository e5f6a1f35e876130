/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof disable: turns recording off.
 */
#include "cmd.h"

#include <stdio.h>

#include "visible.h"

static void print(const struct target *target, const char *object)
{
	(void)object;
	printf("%d %s: recording is off; events recorded so far are kept\n", (int)target->pid,
	       visible(target->name));
}

int cmd_disable(struct cmd_options *options)
{
	return cmd_ask(options, "DISABLE", print);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof enable: turns recording on.
 */
#include "cmd.h"

#include <stdio.h>

static void print(const struct target *target, const char *object)
{
	(void)object;
	printf("%d %s: recording is on\n", (int)target->pid, target->name);
}

int cmd_enable(struct cmd_options *options)
{
	return cmd_ask(options, "ENABLE", print);
}

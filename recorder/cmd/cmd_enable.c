/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof enable: turns recording on, and says what is to be recorded.
 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "visible.h"

/* As many bytes as a line may have. */
enum { LINE_BYTES = 512 };

static void print(const struct target *target, const char *object)
{
	uint64_t budget;
	bool has_budget = client_number(object, "budget_ppm", &budget);

	printf("%d %s: recording is on%s\n", (int)target->pid, visible(target->name),
	       has_budget ? ", now and then: it has a budget (wcprof status)" : "");
}

int cmd_enable(struct cmd_options *options)
{
	char line[LINE_BYTES] = "ENABLE";
	size_t used = strlen(line);

	for (int i = 1; i < options->argument_count; i++) {
		char *argument = options->arguments[i];

		cmd_join_condition(argument);
		if (strpbrk(argument, " \t\n"))
			return cmd_fail("%s: no spaces; in a pattern, ? stands for one", argument);
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", argument);
		if (used >= sizeof(line) - 1)
			return cmd_fail("%s is too long", argument);
	}
	return cmd_ask(options, line, print);
}

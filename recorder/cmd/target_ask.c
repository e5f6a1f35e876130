/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that talk to processes: which ones are meant, and what each answers. cmd.h has the
 * contract.
 */
#include "cmd.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "advice.h"
#include "client.h"
#include "procfs.h"
#include "target.h"
#include "visible.h"

int cmd_find(const struct cmd_options *options, struct target_list *found)
{
	char error[512];
	pid_t without = 0;
	int result;

	assert(options->argument_count > 0);
	result = target_find(found, options->arguments[0], options->how, error, sizeof(error));
	if (result == 0)
		return CMD_DONE;
	if (result == -ESRCH)
		without = advice_process(options->arguments[0]);
	if (without == 0)
		return cmd_fail("%s", error);
	advice_put(stderr, without);
	return CMD_FAILED;
}

static int ask(const struct cmd_options *options, const struct target *target, bool is_alone,
	       const char *line, cmd_print *print)
{
	struct client_answer answer;

	if (!target->socket[0])
		return cmd_fail("%d %s: %s", (int)target->pid, target->name,
				target_why_silent(target));
	if (client_ask(target->socket, line, &answer)) {
		if (options->json)
			visible_puts_object(answer.text);
		else
			print(target, answer.text);
		return CMD_DONE;
	}
	/* Of a tree, some may have ended since it was looked for. */
	if (!is_alone && procfs_is_over(target->pid))
		return CMD_DONE;
	return cmd_fail("%d %s: %s", (int)target->pid, target->name, answer.text);
}

int cmd_ask(const struct cmd_options *options, const char *line, cmd_print *print)
{
	struct target_list found;
	int status = cmd_find(options, &found);

	if (status != CMD_DONE)
		return status;
	for (size_t i = 0; i < found.count; i++)
		if (ask(options, &found.targets[i], found.count == 1, line, print) != CMD_DONE)
			status = CMD_FAILED;
	target_list_free(&found);
	return status;
}

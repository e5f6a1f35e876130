/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof record: runs a program and records it, as record.h says, or records processes that run
 * already, as window.h does.
 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "condition.h"
#include "record.h"
#include "window.h"

/* Where the code of one is, only wcprof probe says. */
static bool has_no_site(const char *when)
{
	struct condition condition;

	(void)condition_parse(when, strlen(when), &condition, NULL);
	if (condition_site(&condition))
		cmd_fail("--sample-when: lock@ is known to wcprof probe --when alone");
	return !condition_site(&condition);
}

/* Whoever turned recording on elsewhere has a use for it. */
static bool is_on(const struct target *target)
{
	struct client_answer answer;
	char recording[8] = "";

	if (client_ask(target->socket, "STATUS", &answer))
		(void)client_string(answer.text, "recording", recording, sizeof(recording));
	return recording[0] == 'o' && recording[1] == 'n';
}

/* Whether each of them can be turned on; complained of if not. */
static bool are_ready(const struct target_list *found)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct target *target = &found->targets[i];

		if (!target->socket[0]) {
			cmd_fail("%d %s: %s", (int)target->pid, target->name,
				 target_why_silent(target));
			return false;
		}
		if (is_on(target)) {
			cmd_fail("%d %s: recording is on already (wcprof dump %d writes it, wcprof "
				 "disable %d ends it)",
				 (int)target->pid, target->name, (int)target->pid,
				 (int)target->pid);
			return false;
		}
	}
	return true;
}

static int record_found(struct window *window, const struct target_list *found, time_t seconds)
{
	const struct target *first = &found->targets[0];
	char path[128], number[32] = "";

	if (!are_ready(found))
		return CMD_FAILED;
	window_prepare(window);
	if (window_enable(window) == 0)
		return cmd_fail("%d %s: recording could not be turned on (wcprof status %d)",
				(int)first->pid, first->name, (int)first->pid);
	if (seconds != WINDOW_FOR_EVER)
		snprintf(number, sizeof(number), "for %ld second%s, or ", (long)seconds,
			 seconds == 1 ? "" : "s");
	cmd_say(window->options, "%d %s%s recorded %suntil Ctrl-C", (int)first->pid, first->name,
		found->count > 1 ? " and others are" : " is", number);
	cmd_name_file(first, path, sizeof(path));
	return window_record(window, seconds, path);
}

static int record_running(struct cmd_options *options, time_t seconds)
{
	struct cmd_options find = *options;
	char *arguments[] = { (char *)options->process, NULL };
	struct window window = { .options = options,
				 .process = options->process,
				 .how = options->how };
	struct target_list found;
	int status;

	find.arguments = arguments;
	find.argument_count = 1;
	status = cmd_find(&find, &found);
	if (status != CMD_DONE)
		return status;
	status = record_found(&window, &found, seconds);
	target_list_free(&found);
	return status;
}

int cmd_record(struct cmd_options *options)
{
	struct record_run run = { .output_fd = -1 };
	time_t seconds = window_seconds(options->seconds, WINDOW_FOR_EVER);

	if (seconds < 0)
		return CMD_FAILED;
	if (options->process && options->user) {
		cmd_fail("--user is for a program that is started, not for --process");
		return CMD_USAGE;
	}
	if (options->when &&
	    (!cmd_check_condition("sample-when", options->when) || !has_no_site(options->when)))
		return CMD_USAGE;
	if (options->when && options->process) {
		cmd_fail("--sample-when is for a program that is started; of one that runs: wcprof "
			 "enable %s sample_hz=99 'sample_when=%s'",
			 options->process, options->when);
		return CMD_USAGE;
	}
	if (options->process)
		return record_running(options, seconds);
	if (options->seconds || options->how) {
		cmd_fail("--%s goes with --process", options->seconds ? "duration" : "tree");
		return CMD_USAGE;
	}
	return record_program(options, &run);
}

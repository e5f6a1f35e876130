/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof recover: a dump of what dead processes left. The arena is removed when all of it is in
 * the file.
 */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static const char *explain(int result)
{
	switch (result) {
	case -EBUSY:
		return "another process is recovering it";
	case -EAGAIN:
		return "its process died before it recorded anything (wcprof remove deletes it)";
	case -EINVAL:
		return "it is damaged, or not an arena (wcprof remove deletes it)";
	case -ESTALE:
		return "its file became shorter, or shared memory ran out, while it was read";
	case -EPROTO:
		return "it was made by another version of wcprof";
	default:
		return strerror(-result);
	}
}

/* A client_sink: the dump has ended when it has arrived. Else its events stay where they are. */
static int write_surely(void *output, const char *bytes, size_t count)
{
	int result = output_write(output, bytes, count);

	return result == 0 && count == 0 ? output_sync(output) : result;
}

static int recover_one(const struct cmd_options *options, const char *path, struct output *output)
{
	struct remains remains;
	int result = remains_open(&remains, path);

	if (result != 0)
		return cmd_fail("%s: %s", path, explain(result));
	output_begin(output);
	result = remains_recover(&remains, write_surely, output, options->keep);
	(void)output_settle(output, result);
	if (result == 0 && !options->keep)
		result = remains_remove(&remains);
	/* Another process had little room, and has removed it. */
	if (result == -ENOENT)
		result = 0;
	remains_close(&remains);
	if (result != 0 && remains.fault)
		return cmd_fail("%s: its %s are damaged (wcprof remove)", path, remains.fault);
	return result == 0 ? CMD_DONE : cmd_fail("%s: %s", path, explain(result));
}

/* Pids are used again: what another build left of a process of this pid is said, and left. */
static bool is_passed_over(const struct target_list *found, size_t i)
{
	bool passed = found->count > 1 && found->targets[i].is_other_version;

	if (passed)
		cmd_fail("%s: made by another version of wcprof; left where it is",
			 found->targets[i].arena);
	return passed;
}

static int recover_all(const struct cmd_options *options, const struct target_list *found,
		       struct output *output)
{
	int status = CMD_DONE;

	for (size_t i = 0; i < found->count && status == CMD_DONE; i++)
		if (!is_passed_over(found, i))
			status = recover_one(options, found->targets[i].arena, output);
	if (status == CMD_DONE && strcmp(options->output, "-") != 0)
		cmd_say(options, "%" PRIu64 " events in %s", output_events(output),
			options->output);
	return status;
}

int cmd_recover(struct cmd_options *options)
{
	struct target_list found;
	struct output *output;
	char error_text[512], path[128];
	int error, status = CMD_FAILED;

	if (target_find_dead(&found, options->arguments[0], error_text, sizeof(error_text)) != 0)
		return cmd_fail("%s", error_text);
	cmd_name_file(&found.targets[0], path, sizeof(path));
	if (!options->output)
		options->output = path;
	output = output_open(options->output, &error);
	if (output) {
		status = recover_all(options, &found, output);
		error = output_close(output);
	}
	if (error != 0)
		status = cmd_fail("%s: %s", options->output, output_why(error));
	target_list_free(&found);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof dump: what processes have recorded, into a file.
 *
 * Several processes' dumps follow each other in the file, which the analyzer reads as it is. Dumps
 * of other hosts come by ssh (remote.h), into a file each.
 */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "departed.h"
#include "output.h"
#include "procfs.h"
#include "remote.h"

static const char *explain(int result)
{
	switch (result) {
	case -EAGAIN:
		return "another dump of this process is being written";
	case -ENODATA:
		return "it has recorded nothing: recording was never on (wcprof enable)";
	case -EPIPE:
		return "the process ended during the dump, or stopped answering (wcprof recover "
		       "saves what it left)";
	case -EPROTO:
		return "the answer of the process is not a dump";
	default:
		return strerror(-result);
	}
}

/* Of a tree, some may have ended since it was looked for. Those of a window are written later. */
static bool has_ended(const struct cmd_options *options, const struct target_list *found,
		      const struct target *target, const struct departed *departed)
{
	bool is_of_window = departed && departed_has(departed, target->pid);

	if ((found->count == 1 && !is_of_window) || !procfs_is_over(target->pid))
		return false;
	if (!is_of_window && target->arena[0] && access(target->arena, F_OK) == 0)
		cmd_say(options, "%d %s has ended meanwhile: wcprof recover %d saves what it left",
			(int)target->pid, target->name, (int)target->pid);
	return true;
}

static bool is_of_file(int result)
{
	return result == -ENOSPC || result == -EIO || result == -EDQUOT || result == -EFBIG;
}

static bool any_listens(const struct target_list *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->targets[i].socket[0])
			return true;
	return false;
}

/* `output` may be NULL if nobody listens. */
static int dump_all(const struct cmd_options *options, const struct target_list *found,
		    const struct departed *departed, struct output *output)
{
	int status = CMD_DONE;

	for (size_t i = 0; i < found->count; i++) {
		const struct target *target = &found->targets[i];
		int result = target->socket[0] ? output_dump(output, target->socket, options->keep)
					       : -ENOTCONN;

		/* Of a tree, some may have been quiet. */
		if (result == -ENODATA && found->count > 1)
			continue;
		if (result != 0 && has_ended(options, found, target, departed))
			continue;
		if (is_of_file(result))
			return cmd_fail("%s: %s; the events of %d %s are kept for another dump",
					options->output, strerror(-result), (int)target->pid,
					target->name);
		if (result != 0)
			status = cmd_fail("%d %s: %s", (int)target->pid, target->name,
					  result == -ENOTCONN ? target_why_silent(target)
							      : explain(result));
	}
	return status;
}

/* Each host's dump goes to a file of its name and the process's. */
static bool prepare(struct remote *remote, const char *text, const struct cmd_options *options)
{
	const char *process, *words[12] = { "dump", "-q", "-o", "-" };
	size_t count = 4;
	int length;

	if (!remote_parse(text, remote->host, &process)) {
		cmd_fail("\"%s\" is no HOST:PROCESS, as the others are", text);
		return false;
	}
	if (options->keep)
		words[count++] = "-k";
	if (options->how & TARGET_TREE)
		words[count++] = "-t";
	if (options->how & TARGET_NEWEST)
		words[count++] = "--newest";
	if (options->how & TARGET_OLDEST)
		words[count++] = "--oldest";
	if (options->how & TARGET_EVERY)
		words[count++] = "--all";
	words[count++] = "--";
	words[count] = process;
	length = snprintf(remote->file, sizeof(remote->file), "%s.%s", remote->host, process);
	/* A process may be called anything: that is no way out of this directory. */
	for (char *at = remote->file; *at; at++)
		if (*at == '/' || (unsigned char)*at < ' ' || *at == 127)
			*at = '_';
	if (options->output)
		length = snprintf(remote->file, sizeof(remote->file), "%s", options->output);
	if (length < (int)sizeof(remote->file) && remote_script(remote, options, words))
		return true;
	cmd_fail("%s: the names are too long", remote->host);
	return false;
}

static int dump_remotes(const struct cmd_options *options)
{
	size_t count = (size_t)options->argument_count;
	struct remote *remotes = calloc(count, sizeof(*remotes));
	bool is_good = remotes != NULL;
	int status = CMD_USAGE;

	if (count > 1 && options->output) {
		free(remotes);
		cmd_fail("--output is for one dump; of several, each has a file of its own");
		return CMD_USAGE;
	}
	for (size_t i = 0; is_good && i < count; i++)
		is_good = prepare(&remotes[i], options->arguments[i], options);
	if (is_good)
		status = remote_run(remotes, count, options);
	for (size_t i = 0; is_good && i < count; i++) {
		char size[32];

		cmd_format_bytes((double)remotes[i].bytes, size, sizeof(size));
		if (remotes[i].status == 0 && strcmp(remotes[i].file, "-") != 0)
			cmd_say(options, "%s: %s in %s", remotes[i].host, size, remotes[i].file);
	}
	free(remotes);
	return status;
}

/* Of another host: it is not a process here that is called so. */
static bool is_remote(const char *text)
{
	char host[REMOTE_HOST_BYTES];
	const char *process;

	return remote_parse(text, host, &process);
}

/* The processes that are found, and those that ended in a window, if there was one. */
static int dump_found(const struct cmd_options *options, const struct target_list *found,
		      struct departed *departed)
{
	int error, status = CMD_FAILED;
	struct output *output;

	/* A dump that is there stays. */
	if (!departed && !any_listens(found))
		return dump_all(options, found, departed, NULL);
	output = output_open(options->output, &error);
	if (output && !options->quiet && isatty(STDERR_FILENO))
		output_show_progress(output, stderr);
	if (output) {
		status = dump_all(options, found, departed, output);
		if (departed && departed_write(departed, options, output) != CMD_DONE)
			status = CMD_FAILED;
		if (status == CMD_DONE && strcmp(options->output, "-") != 0)
			cmd_say(options, "%" PRIu64 " events in %s", output_events(output),
				options->output);
		error = output_close(output);
	}
	return error == 0 ? status : cmd_fail("%s: %s", options->output, output_why(error));
}

static void say_where(const struct cmd_options *options, pid_t pid)
{
	if (procfs_is_elsewhere(pid))
		cmd_say(options,
			"its files are not where they are here: wcprof-analyze --root "
			"/proc/%d/root",
			(int)pid);
}

int cmd_dump_window(struct cmd_options *options, struct departed *departed)
{
	struct target_list found = { 0 };
	char error[512];
	int status;

	/* All of them may have ended. */
	(void)target_find(&found, options->arguments[0], options->how, error, sizeof(error));
	status = dump_found(options, &found, departed);
	if (status == CMD_DONE && found.count > 0)
		say_where(options, found.targets[0].pid);
	else if (status == CMD_DONE && departed->written == 0)
		status = cmd_fail("%s", error);
	target_list_free(&found);
	return status;
}

int cmd_dump(struct cmd_options *options)
{
	struct target_list found;
	char path[128];
	int status;

	if (!(options->how & TARGET_FULL) && is_remote(options->arguments[0]))
		return dump_remotes(options);
	if (options->argument_count > 1) {
		cmd_fail("one process of this host at a time (-t, --all)");
		return CMD_USAGE;
	}
	status = cmd_find(options, &found);
	if (status != CMD_DONE)
		return status;
	cmd_name_file(&found.targets[0], path, sizeof(path));
	if (!options->output)
		options->output = path;
	status = dump_found(options, &found, NULL);
	if (status == CMD_DONE)
		say_where(options, found.targets[0].pid);
	target_list_free(&found);
	return status;
}

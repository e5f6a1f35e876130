/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs two builds by turns, and keeps each recording in the directory.
 *
 * The order is old, new, new, old, and so on: a drift of the machine counts little. Each run is
 * one of `wcprof record`, whose file gets its name when the run has succeeded. So a directory
 * of an interrupted job goes on where it stood.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ci.h"
#include "cmd.h"
#include "visible.h"

enum { WORDS_MAX = 256, TOLD_BYTES = 4096, COMMAND_BYTES = 65536 };

static const char *const side_names[CI_SIDES] = { "base", "new" };

static volatile sig_atomic_t is_interrupted;

static enum ci_verdict fail_file(const char *path)
{
	cmd_fail("%s: %s", path, strerror(errno));
	return CI_CANNOT_TELL;
}

/* --- The directory ---------------------------------------------------------------------------- */

void ci_pair_path(const char *directory, int side, size_t pair, char path[CI_PATH_BYTES])
{
	snprintf(path, CI_PATH_BYTES, "%s/%s/%zu.jsonl", directory, side_names[side], pair);
}

static bool has_run(const char *directory, int side, size_t pair)
{
	char path[CI_PATH_BYTES];

	ci_pair_path(directory, side, pair, path);
	return access(path, R_OK) == 0;
}

size_t ci_stored_pairs(const char *directory)
{
	size_t pairs = 0;

	while (pairs < (size_t)CI_ROUNDS * CI_PAIRS_MAX && has_run(directory, CI_BASE, pairs + 1) &&
	       has_run(directory, CI_NEW, pairs + 1))
		pairs++;
	return pairs;
}

static void note_path(const char *directory, const char *name, const char *what,
		      char path[CI_PATH_BYTES])
{
	snprintf(path, CI_PATH_BYTES, "%s/%s%s", directory, name, what);
}

/* The whole file; the caller frees it. NULL: there is none, or errno says why it cannot be read. */
static char *read_note(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(COMMAND_BYTES) : NULL;
	size_t used = text ? fread(text, 1, COMMAND_BYTES - 1, file) : 0;

	if (file)
		fclose(file);
	if (text)
		text[used] = '\0';
	return text;
}

static bool write_note(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	bool is_written = file && fputs(text, file) >= 0;

	if (file)
		is_written = fclose(file) == 0 && is_written;
	return is_written;
}

bool ci_stored(struct ci_plan *plan, const char *directory)
{
	char path[CI_PATH_BYTES], *text;

	for (int side = 0; side < CI_SIDES; side++) {
		note_path(directory, side_names[side], ".command", path);
		plan->commands[side] = read_note(path);
	}
	note_path(directory, "pairs", "", path);
	text = read_note(path);
	plan->pairs = text ? strtoul(text, NULL, 10) : 0;
	free(text);
	return plan->pairs > 0 && plan->pairs <= CI_PAIRS_MAX && plan->commands[CI_BASE] &&
	       plan->commands[CI_NEW];
}

/* Recordings of other commands are left alone. */
static enum ci_verdict store_command(const struct ci_plan *plan, const char *directory, int side)
{
	char path[CI_PATH_BYTES], *before;
	bool is_other;

	note_path(directory, side_names[side], ".command", path);
	before = read_note(path);
	is_other = before && strcmp(before, plan->commands[side]) != 0;
	free(before);
	if (is_other) {
		cmd_fail("%s has runs of another command (%s); give another directory", directory,
			 path);
		return CI_CANNOT_TELL;
	}
	return write_note(path, plan->commands[side]) ? CI_PASSED : fail_file(path);
}

static enum ci_verdict store(const struct ci_plan *plan, const char *directory)
{
	char path[CI_PATH_BYTES], number[32];
	enum ci_verdict result = CI_PASSED;

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return fail_file(directory);
	for (int side = 0; side < CI_SIDES && result == CI_PASSED; side++) {
		note_path(directory, side_names[side], "", path);
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return fail_file(path);
		result = store_command(plan, directory, side);
	}
	if (result != CI_PASSED)
		return result;
	note_path(directory, "pairs", "", path);
	snprintf(number, sizeof(number), "%zu\n", plan->pairs);
	return write_note(path, number) ? CI_PASSED : fail_file(path);
}

/* --- One run ---------------------------------------------------------------------------------- */

/* Whether it is more than a program's name and arguments. */
static bool is_of_shell(const char *command)
{
	static const char *const words[] = { "exec", "cd", "eval", "export", "ulimit", "umask" };
	size_t blanks = strspn(command, " \t"), length = strcspn(command + blanks, " \t");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == length && strncmp(words[i], command + blanks, length) == 0)
			return true;
	return strpbrk(command, "|&;<>()$`\\\"'*?[]#~={}!\n") != NULL;
}

/* As a shell does it; one is only needed for what is its own. */
static void put_words(char *command, char **words, size_t used)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	size_t first = used;

	if (!is_of_shell(command)) {
		for (char *at = strtok(command, " \t"); at && used < WORDS_MAX;
		     at = strtok(NULL, " \t"))
			words[used++] = at;
		if (used > first && used < WORDS_MAX) {
			words[used] = NULL;
			return;
		}
	}
	words[first] = shell;
	words[first + 1] = option;
	words[first + 2] = command;
	words[first + 3] = NULL;
}

/* In the child. Every hold is recorded: their number is exact only then. */
static void __attribute__((noreturn)) become_run(char *command, char *dump, const char *output)
{
	static char name[] = "wcprof", record[] = "record", quiet[] = "-q", to[] = "-o",
		    end[] = "--";
	char *words[WORDS_MAX + 4] = { name, record, quiet, to, dump, end };
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (input < 0 || fd < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0)
		_exit(CMD_RECORD_FAILED);
	put_words(command, words, 6);
	setenv("WCPROF_HOLDS", "all", 0);
	execv("/proc/self/exe", words);
	_exit(CMD_CANNOT_RUN);
}

static int await(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		if (is_interrupted)
			kill(child, SIGTERM);
	return status;
}

/* The last lines that the run has written, on standard error. */
static void tell_output(const char *path)
{
	char text[TOLD_BYTES + 1];
	FILE *file = fopen(path, "re");
	size_t used;

	if (!file)
		return;
	if (fseek(file, -(long)TOLD_BYTES, SEEK_END) != 0)
		rewind(file);
	used = fread(text, 1, TOLD_BYTES, file);
	fclose(file);
	text[used] = '\0';
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		fprintf(stderr, "  %s\n", visible(line));
}

static enum ci_verdict refuse_run(const struct ci_plan *plan, int side, size_t pair, int status,
				  const char *output)
{
	const char *what = side == CI_BASE ? "the old build" : "the new build";
	int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	if (is_interrupted) {
		cmd_fail("interrupted in pair %zu: the same command goes on there", pair);
		return CI_CANNOT_TELL;
	}
	if (exit_status == 0)
		cmd_fail("pair %zu, %s: nothing of %s was recorded. It said:", pair, what,
			 plan->commands[side]);
	else if (exit_status > 128)
		cmd_fail("pair %zu, %s: %s was ended by signal %d. It said:", pair, what,
			 plan->commands[side], exit_status - 128);
	else
		cmd_fail("pair %zu, %s: %s ended with status %d; only runs that succeed can be "
			 "compared. It said:",
			 pair, what, plan->commands[side], exit_status);
	tell_output(output);
	return CI_CANNOT_TELL;
}

static enum ci_verdict run_one(const struct ci_plan *plan, const char *directory, int side,
			       size_t pair)
{
	char path[CI_PATH_BYTES], part[CI_PATH_BYTES], output[CI_PATH_BYTES];
	char *command = strdup(plan->commands[side]);
	struct stat stat_of;
	int status;
	pid_t child;

	if (!command)
		return fail_file(directory);
	ci_pair_path(directory, side, pair, path);
	note_path(directory, ".part", ".jsonl", part);
	note_path(directory, "output", "", output);
	child = fork();
	if (child == 0)
		become_run(command, part, output);
	free(command);
	if (child < 0)
		return fail_file("fork");
	status = await(child);
	if (status == 0 && !is_interrupted && stat(part, &stat_of) == 0 && stat_of.st_size > 0)
		return rename(part, path) == 0 ? CI_PASSED : fail_file(path);
	unlink(part);
	return refuse_run(plan, side, pair, status, output);
}

/* --- All of them ------------------------------------------------------------------------------ */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void interrupted(int number)
{
	is_interrupted = number;
}

enum { SIGNALS = 3 };
static const int signals[SIGNALS] = { SIGINT, SIGTERM, SIGHUP };

/* Those that are ignored stay so. */
static void take_interrupts(struct sigaction before[SIGNALS])
{
	const struct sigaction action = { .sa_handler = interrupted };

	for (int i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static void leave_interrupts(const struct sigaction before[SIGNALS])
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

static size_t count_missing(const char *directory, size_t pairs)
{
	size_t missing = 0;

	for (size_t pair = 1; pair <= pairs; pair++)
		for (int side = 0; side < CI_SIDES; side++)
			missing += !has_run(directory, side, pair);
	return missing;
}

static enum ci_verdict run_pair(const struct ci_plan *plan, const char *directory, size_t pair,
				size_t *done)
{
	for (int turn = 0; turn < CI_SIDES; turn++) {
		int side = pair % 2 == 1 ? turn : !turn;

		if (has_run(directory, side, pair))
			continue;
		if (run_one(plan, directory, side, pair) != CI_PASSED)
			return CI_CANNOT_TELL;
		(*done)++;
	}
	return CI_PASSED;
}

enum ci_verdict ci_run_pairs(const struct ci_plan *plan, const char *directory, size_t pairs)
{
	const struct cmd_options says = { .quiet = plan->options.quiet };
	size_t missing = count_missing(directory, pairs), done = 0, before;
	double begun_s = now_s();
	struct sigaction actions[SIGNALS];
	enum ci_verdict result = CI_PASSED;

	take_interrupts(actions);
	for (size_t pair = 1; pair <= pairs && result == CI_PASSED; pair++) {
		before = done;
		result = run_pair(plan, directory, pair, &done);
		if (done > before && result == CI_PASSED)
			cmd_say(&says, "pair %zu of %zu; %.0f s left", pair, pairs,
				(now_s() - begun_s) / (double)done * (double)(missing - done));
	}
	leave_interrupts(actions);
	return result;
}

enum ci_verdict ci_run(struct ci_plan *plan)
{
	const struct cmd_options says = { .quiet = plan->options.quiet };
	const char *directory = plan->options.output;
	enum ci_verdict result = store(plan, directory);

	if (result == CI_PASSED)
		result = ci_run_pairs(plan, directory, plan->pairs);
	if (result == CI_PASSED)
		cmd_say(&says, "%zu pairs in %s: wcprof ci check %s judges them", plan->pairs,
			directory, directory);
	return result;
}

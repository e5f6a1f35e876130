/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the sub-commands: their table, their options, how they speak.
 *
 * Each sub-command is a function that returns the exit status of the whole: 0 when all is done, 2
 * for wrong usage. 1 means that it could not do what it was asked for, and has said why in one line
 * on standard error.
 */
#ifndef WCPROF_CMD_H
#define WCPROF_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "target.h"

enum { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = 2 };
/* Of record, which passes on its program's own: as env and timeout have them. */
enum { CMD_RECORD_FAILED = 125, CMD_CANNOT_RUN = 126, CMD_NOT_FOUND = 127 };

/* Of try: at least one row disagrees with its prediction, or has none. */
enum { CMD_DISAGREES = 3 };

enum { CMD_SLOW_MAX = 32 };

struct cmd_options {
	const char *output;  /* NULL = not given */
	const char *user;    /* to be, NULL = not given */
	const char *process; /* that runs already, NULL = not given */
	bool keep;
	unsigned how; /* enum target_how */
	bool all;
	bool of_user;
	bool filtered; /* a service may be, and is recorded all the same */
	bool check;
	bool interrupt;
	bool json;
	bool quiet;
	bool help;
	const char *slow[CMD_SLOW_MAX];
	size_t slow_count;
	const char *factor; /* these: NULL = not given */
	const char *top;
	const char *progress;
	const char *pairs;
	const char *window;
	const char *seconds;
	const char *seed;
	const char *ssh;
	const char *remote_path;
	const char *wait;
	const char *remove;
	const char *min;
	const char *when;
	const char *lease;
	bool list;
	char listed; /* the letter of what can be probed, 0: none is to be listed */
	const char *every;
	const char *count;
	bool whatif;
	bool is_program;  /* arguments come behind "--" */
	char **arguments; /* the rest: ended by NULL */
	int argument_count;
};

#define COMMAND(name, letters, arguments, help) int cmd_##name(struct cmd_options *options);
#include "commands.def"
#undef COMMAND

/* One line "wcprof: ..." on standard error; CMD_FAILED. */
int cmd_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line of news on standard error, unless --quiet. */
void cmd_say(const struct cmd_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Runs what the command line says: argv[0] is a sub-command. */
int cmd_run(int argc, char **argv);
void cmd_print_help(void);
/* NULL: there is no such command. */
const char *cmd_usage(const char *name);

/* Sends a line to each process that the command's one argument names, and has each answer printed.
 * `print` writes a sentence on an answer's object; --json prints the object itself. */
typedef void cmd_print(const struct target *target, const char *object);
int cmd_ask(const struct cmd_options *options, const char *line, cmd_print *print);
/* Finds the processes that the command's one argument names. */
int cmd_find(const struct cmd_options *options, struct target_list *found);

/* Whether it is a condition (condition.h); else what is wrong with it is said. */
bool cmd_check_condition(const char *option, const char *text);

/* "sample_when=a and b" without spaces, as a line of the control socket has it; other settings stay
 * as they are. */
void cmd_join_condition(char *setting);

/* Where a dump of the process goes if nobody says: standard output, or if that is a terminal a file
 * here. */
void cmd_name_file(const struct target *target, char *path, size_t size);

/* A directory of files that nobody needs any more. */
void cmd_remove_directory(const char *path);

/* "12.3 MB" */
void cmd_format_bytes(double bytes, char *to, size_t size);

#endif

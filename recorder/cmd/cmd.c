/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sub-commands' table, command line and way of speaking, and asking the processes meant.
 *
 * One thread.
 */
#include "cmd.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "condition.h"
#include "options.h"
#include "visible.h"

struct command {
	const char *name;
	const char *letters;
	const char *arguments;
	const char *help;
	int (*run)(struct cmd_options *options);
};

static const struct command commands[] = {
#define COMMAND(name, letters, arguments, help) { #name, letters, arguments, help, cmd_##name },
#include "commands.def"
#undef COMMAND
};

static const struct option_row {
	char letter;
	const char *name;
	const char *argument;
	const char *help;
} option_rows[] = {
#define OPTION(letter, name, argument, help) { letter, #name, argument, help },
#include "cmd_options.def"
#undef OPTION
};

/* Not called: two options of one letter are two equal cases, which no compiler takes. */
static inline __attribute__((unused)) void letters_differ(char option)
{
	switch (option) {
#define OPTION(letter, name, argument, help) case letter:
#include "cmd_options.def"
		break;
	}
}

enum {
	COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]),
	LETTER_COUNT = sizeof(option_rows) / sizeof(option_rows[0])
};

int cmd_fail(const char *format, ...)
{
	va_list arguments;

	fputs("wcprof: ", stderr);
	va_start(arguments, format);
	visible_vputs(stderr, format, arguments);
	va_end(arguments);
	return CMD_FAILED;
}

void cmd_say(const struct cmd_options *options, const char *format, ...)
{
	va_list arguments;

	if (options->quiet)
		return;
	fputs("wcprof: ", stderr);
	va_start(arguments, format);
	visible_vputs(stderr, format, arguments);
	va_end(arguments);
}

bool cmd_check_condition(const char *option, const char *text)
{
	struct condition condition;
	char why[CONDITION_WHY_BYTES];
	struct text reason = { .bytes = why, .size = sizeof(why) };
	bool is_one = text[0] && condition_parse(text, strlen(text), &condition, &reason);

	if (is_one)
		return true;
	(void)text_end(&reason);
	cmd_fail("--%s: %s", option, text[0] ? why : "it is empty");
	return false;
}

/* --- The command line ------------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void print_settings(void)
{
	puts("\nKEY=VALUE is one of");
	for (int i = 0; i < OPTION_COUNT; i++) {
		char name[40], allowed[80];
		struct text text = { .bytes = allowed, .size = sizeof(allowed) };

		if (!option_entries[i].is_live)
			continue;
		snprintf(name, sizeof(name), "%s=", option_entries[i].key);
		options_put_allowed(&text, &option_entries[i]);
		(void)text_end(&text);
		assert(!text.overflowed);
		printf("  %-20s %s (%s)\n", name, option_entries[i].help, allowed);
	}
}

static void print_command_help(const struct command *command)
{
	printf("usage: wcprof %s%s%s%s\n\n%c%s.\n\n", command->name,
	       command->letters[0] ? " [options]" : "", command->arguments[0] ? " " : "",
	       command->arguments, command->help[0] - 'a' + 'A', command->help + 1);
	for (int i = 0; i < LETTER_COUNT; i++) {
		char name[40];

		if (!strchr(command->letters, option_rows[i].letter))
			continue;
		snprintf(name, sizeof(name), "-%c, --%s %s", option_rows[i].letter,
			 option_rows[i].name, option_rows[i].argument);
		if (isdigit(option_rows[i].letter))
			memcpy(name, "   ", 3);
		printf("  %-22s %s\n", name, option_rows[i].help);
	}
	if (strstr(command->arguments, "KEY=VALUE"))
		print_settings();
	if (command->run == cmd_attach)
		puts("\nPROCESS is a pid, or the name of a program: of several, the one that was "
		     "started\nfirst.");
	else if (strstr(command->arguments, "PROCESS"))
		puts("\nPROCESS is a pid, the name of a program, or a regular expression for it.");
	if (command->run == cmd_try)
		puts("\nExit status: 0 all rows agree with their predictions, 3 some disagree, "
		     "have\n"
		     "no prediction, or cannot be told, 1 failed, 2 wrong usage.");
	if (strstr(command->arguments, "ARENA"))
		puts("\nARENA is a file in shared memory that holds a recording, as shown by "
		     "wcprof list.");
}

void cmd_print_help(void)
{
	puts("usage: wcprof COMMAND [ARGUMENTS]\n\n"
	     "Records which threads of a program wait, for what, and which thread ends each wait;\n"
	     "wcprof-analyze tells from a recording what would make the program faster.\n");
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("  %-9s %s\n", commands[i].name, commands[i].help);
	puts("\nwcprof help COMMAND lists the options of a command, man wcprof-COMMAND says all.");
}

static void pass_on(int argc, char **argv, struct cmd_options *options)
{
	*options = (struct cmd_options){ .arguments = argv + 1, .argument_count = argc - 1 };
}

/* The other program's own help. */
static void run_for_help(const struct command *command)
{
	static char help[] = "--help";
	char *words[] = { help, help, NULL };
	struct cmd_options options;

	pass_on(2, words, &options);
	(void)command->run(&options);
}

const char *cmd_usage(const char *name)
{
	const struct command *command = find_command(name);

	if (command && !command->letters[0])
		run_for_help(command);
	else if (command)
		print_command_help(command);
	return command ? command->help : NULL;
}

/* Those of try; false: it is none of them. */
static bool set_trial_option(struct cmd_options *options, char letter, const char *argument)
{
	switch (letter) {
	case 's':
		if (options->slow_count < CMD_SLOW_MAX)
			options->slow[options->slow_count++] = argument;
		return true;
	case 'F':
		options->factor = argument;
		return true;
	case 'T':
		options->top = argument;
		return true;
	case '5':
		options->progress = argument;
		return true;
	case 'n':
		options->pairs = argument;
		return true;
	case 'w':
		options->window = argument;
		return true;
	case 'd':
	case 'f':
	case 'L':
		options->seconds = argument;
		return true;
	case 'S':
		options->seed = argument;
		return true;
	default:
		return false;
	}
}

/* Those of probe and top, and the conditions. */
static bool set_watch_option(struct cmd_options *options, char letter, const char *argument)
{
	switch (letter) {
	case 'l':
		options->list = true;
		return true;
	case 'r':
		options->remove = argument;
		return true;
	case 'm':
		options->min = argument;
		return true;
	case 'C':
	case 'W':
		options->when = argument;
		return true;
	case 'x':
		options->lease = argument;
		return true;
	case 'e':
		options->every = argument;
		return true;
	case 'I':
		options->whatif = true;
		return true;
	case 'c':
		options->count = argument;
		return true;
	case 'E':
		options->ssh = argument;
		return true;
	case 'R':
		options->remote_path = argument;
		return true;
	case 'H':
		options->wait = argument;
		return true;
	default:
		return false;
	}
}

static void set_option(struct cmd_options *options, char letter, const char *argument)
{
	if (set_trial_option(options, letter, argument) ||
	    set_watch_option(options, letter, argument))
		return;
	if (strchr("890D", letter)) {
		options->listed = letter;
		return;
	}
	switch (letter) {
	case 'o':
	case 'O':
		options->output = argument;
		break;
	case '4':
		options->of_user = true;
		break;
	case '7':
		options->filtered = true;
		break;
	case 'u':
		options->user = argument;
		break;
	case 'p':
		options->process = argument;
		break;
	case 'k':
		options->keep = true;
		break;
	case 't':
		options->how |= TARGET_TREE;
		break;
	case '1':
		options->how |= TARGET_NEWEST;
		break;
	case '2':
		options->how |= TARGET_OLDEST;
		break;
	case '3':
		options->how |= TARGET_EVERY;
		break;
	case '6':
		options->how |= TARGET_FULL;
		break;
	case 'a':
	case 'A':
		options->all = true;
		break;
	case 'N':
		options->check = true;
		break;
	case 'i':
		options->interrupt = true;
		break;
	case 'j':
		options->json = true;
		break;
	case 'q':
		options->quiet = true;
		break;
	default:
		options->help = true;
	}
}

/* False: wrong usage, complained of. Options of a program to be run are left to it. */
static bool parse(const struct command *command, int argc, char **argv, struct cmd_options *options)
{
	struct option table[LETTER_COUNT + 1] = { 0 };
	char letters[2 * LETTER_COUNT + 2] = "+";
	size_t used = 1;
	int count = 0, found;

	for (int i = 0; i < LETTER_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (!strchr(command->letters, row->letter))
			continue;
		table[count++] =
			(struct option){ row->name, row->argument[0] != '\0', NULL, row->letter };
		if (isdigit(row->letter))
			continue;
		letters[used++] = row->letter;
		if (row->argument[0])
			letters[used++] = ':';
	}
	*options = (struct cmd_options){ 0 };
	opterr = 0;
	/* Only what comes before a program belongs to us; elsewhere options may come last, too. */
	while ((found = getopt_long(argc, argv,
				    strstr(command->arguments, "PROG") ? letters : letters + 1,
				    table, NULL)) != -1) {
		if (found == '?') {
			cmd_fail("%s does not take %s like that (wcprof help %s)", command->name,
				 argv[optind - 1], command->name);
			return false;
		}
		set_option(options, (char)found, optarg);
	}
	options->is_program = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
	options->arguments = argv + optind;
	options->argument_count = argc - optind;
	return true;
}

/* Whether there are as many arguments as the usage says. */
static bool count_fits(const struct command *command, const struct cmd_options *options)
{
	int count = options->argument_count;

	if (!command->arguments[0] || (options->process && strstr(command->arguments, "-p ")))
		return count == 0;
	if (command->arguments[0] == '[' && command->arguments[1] != '-' && count == 0)
		return true;
	return count == 1 || (count > 1 && strstr(command->arguments, "..."));
}

int cmd_run(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	struct cmd_options options;

	if (!command) {
		cmd_fail("there is no command %.40s (wcprof help lists them)", argv[0]);
		return CMD_USAGE;
	}
	if (!command->letters[0]) {
		pass_on(argc, argv, &options);
		return command->run(&options);
	}
	if (!parse(command, argc, argv, &options))
		return CMD_USAGE;
	if (options.help) {
		print_command_help(command);
		return CMD_DONE;
	}
	if (!count_fits(command, &options)) {
		cmd_fail("usage: wcprof %s [options] %s (wcprof help %s)", command->name,
			 command->arguments, command->name);
		return CMD_USAGE;
	}
	return command->run(&options);
}

/* --- Files ----------------------------------------------------------------------------------- */

void cmd_name_file(const struct target *target, char *path, size_t size)
{
	char name[sizeof(target->name)];

	if (!isatty(STDOUT_FILENO)) {
		snprintf(path, size, "-");
		return;
	}
	snprintf(name, sizeof(name), "%s", target->name);
	/* A process may call itself anything: that is no way out of this directory. */
	for (char *at = name; *at; at++)
		if (*at == '/' || (unsigned char)*at < ' ' || *at == 127)
			*at = '_';
	snprintf(path, size, "wcprof.%s.%d.jsonl", name, (int)target->pid);
}

void cmd_join_condition(char *setting)
{
	static const char key[] = "sample_when=", word[] = " and ";

	if (strncmp(setting, key, strlen(key)) != 0)
		return;
	for (char *at = setting; (at = strstr(at, word)); at++) {
		*at = ',';
		memmove(at + 1, at + strlen(word), strlen(at + strlen(word)) + 1);
	}
}

void cmd_remove_directory(const char *path)
{
	DIR *stream = opendir(path);
	const struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(stream), entry->d_name, 0);
	if (stream)
		closedir(stream);
	rmdir(path);
}

void cmd_format_bytes(double bytes, char *to, size_t size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	assert(bytes >= 0);
	for (; bytes >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		bytes /= 1000;
	snprintf(to, size, unit > 0 && bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

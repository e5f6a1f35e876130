/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the processes and arenas a word of the command line means.
 *
 * Nothing is kept between calls. One thread.
 */
#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"
#include "target.h"

/* --- Living ones ------------------------------------------------------------------------------ */

static bool is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0' && strlen(word) < 10;
}

enum { COMMAND_BYTES = 4096 };

/* A pid, a name, or a pattern of names. */
struct wanted {
	const char *word;
	const regex_t *pattern; /* NULL: exactly the word */
	bool is_full;           /* for a command line, with its arguments */
};

static bool name_fits(const struct wanted *wanted, const char *name)
{
	if (wanted->pattern)
		return regexec(wanted->pattern, name, 0, NULL, 0) == 0;
	return strcmp(name, wanted->word) == 0;
}

static bool is_called(const struct target *target, const struct wanted *wanted)
{
	struct procfs_status status;
	char exe[sizeof(target->name)], command[COMMAND_BYTES];

	if (wanted->is_full) {
		procfs_command(target->pid, command, sizeof(command));
		return name_fits(wanted, command);
	}
	if (is_number(wanted->word))
		return target->pid == (pid_t)atoi(wanted->word);
	if (name_fits(wanted, target->name) || target->is_dead)
		return name_fits(wanted, target->name);
	procfs_executable(target->pid, exe, sizeof(exe));
	return name_fits(wanted, exe) ||
	       (procfs_read(target->pid, &status) && name_fits(wanted, status.name));
}

static int refuse(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	return -ESRCH;
}

static int refuse_ambiguous(const struct target_list *found, const char *word, char *error,
			    size_t size)
{
	size_t used = (size_t)snprintf(error, size,
				       "%zu processes are called %.40s; give the pid of one, "
				       "--newest, --oldest or --all:",
				       found->count, word);

	for (size_t i = 0; i < found->count && used < size - 100; i++)
		used += (size_t)snprintf(error + used, size - used, "%s %d %s", i ? "," : "",
					 (int)found->targets[i].pid, found->targets[i].name);
	return -EEXIST;
}

static int refuse_none(const char *word, char *error, size_t size)
{
	if (is_number(word) && !procfs_lives((pid_t)atoi(word), 0))
		return refuse(error, size, "there is no process %s (wcprof list shows all)", word);
	if (is_number(word))
		return refuse(error, size,
			      "process %s does not have wcprof loaded (wcprof list shows all)",
			      word);
	return refuse(error, size,
		      "no process with wcprof loaded is called %.40s (wcprof list shows all)",
		      word);
}

/* Those of `found` that have no ancestor in it: one tree has one. */
static size_t count_roots(const struct target_list *found)
{
	size_t roots = 0;

	for (size_t i = 0; i < found->count; i++) {
		bool is_root = true;

		for (size_t k = 0; k < found->count && is_root; k++)
			is_root = k == i ||
				  !procfs_is_below(found->targets[i].pid, found->targets[k].pid);
		roots += is_root;
	}
	return roots;
}

static bool is_below_any(const struct target *target, const struct target_list *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (procfs_is_below(target->pid, found->targets[i].pid))
			return true;
	return false;
}

/* Adds to the ones that were named whatever descends from them. */
static void add_descendants(struct target_list *found, const struct target_list *all,
			    const char *word)
{
	struct target_list tree = { 0 };

	for (size_t i = 0; i < all->count; i++) {
		const struct target *target = &all->targets[i];

		if (target->is_dead)
			continue;
		if (is_below_any(target, found) ||
		    (is_number(word) && procfs_is_below(target->pid, (pid_t)atoi(word))))
			target_list_add(&tree, target);
	}
	target_list_free(found);
	*found = tree;
}

/* A user with a directory of his own means what is in there. */
static bool is_directory_chosen(void)
{
	const char *directory = getenv("WCPROF_DIR"), *socket = getenv("WCPROF_SOCKET");

	return (directory && *directory) || (socket && *socket);
}

static void list_called(const struct target_list *all, struct target_list *found,
			const struct wanted *wanted)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->targets[i].is_dead && is_called(&all->targets[i], wanted))
			target_list_add(found, &all->targets[i]);
}

/* Those of exactly that name; if there are none, those that it is a pattern for, as of pgrep. */
static void look_for(const struct target_list *all, struct target_list *found, const char *word,
		     bool is_full)
{
	struct wanted wanted = { .word = word, .is_full = is_full };
	regex_t pattern;

	/* Of a process that ended just now no name is known. */
	if (!*word)
		return;
	if (!is_full)
		list_called(all, found, &wanted);
	if (found->count > 0 || (is_number(word) && !is_full) ||
	    regcomp(&pattern, word, REG_EXTENDED | REG_NOSUB) != 0)
		return;
	wanted.pattern = &pattern;
	list_called(all, found, &wanted);
	regfree(&pattern);
}

/* The one that was started first, or last; of the same instant, the one with the lower pid. */
static void keep_one(struct target_list *found, bool newest)
{
	uint64_t best = 0;
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct procfs_status status = { 0 };

		(void)procfs_read(found->targets[i].pid, &status);
		if (i > 0 && (newest ? status.start_ticks <= best : status.start_ticks >= best))
			continue;
		best = status.start_ticks;
		kept = i;
	}
	found->targets[0] = found->targets[kept];
	found->count = 1;
}

/* Makes one of many, if the user said which. 0, or it is not clear. */
static int choose(struct target_list *found, const char *word, unsigned how, char *error,
		  size_t error_size)
{
	if (found->count > 1 && how & (TARGET_NEWEST | TARGET_OLDEST))
		keep_one(found, how & TARGET_NEWEST);
	if (found->count <= 1 || how & TARGET_EVERY ||
	    (how & TARGET_TREE && count_roots(found) == 1))
		return 0;
	return refuse_ambiguous(found, word, error, error_size);
}

int target_find(struct target_list *found, const char *word, unsigned how, char *error,
		size_t error_size)
{
	enum target_scope scope = how & TARGET_AGAIN                              ? TARGET_SOCKETS
				  : is_directory_chosen() && !(how & TARGET_TREE) ? TARGET_NEAR
										  : TARGET_LIVING;
	bool is_full = how & TARGET_FULL;
	pid_t only =
		is_number(word) && !(how & (TARGET_TREE | TARGET_FULL)) ? (pid_t)atoi(word) : 0;
	struct target_list all;
	int result;

	*found = (struct target_list){ 0 };
	target_list_all(&all, scope, only);
	look_for(&all, found, word, is_full);
	while (found->count == 0 && scope != TARGET_SOCKETS && scope != TARGET_ALL) {
		target_list_free(&all);
		target_list_all(&all, ++scope, only);
		look_for(&all, found, word, is_full);
	}
	result = choose(found, word, how, error, error_size);
	if (result == 0 && how & TARGET_TREE)
		add_descendants(found, &all, word);
	if (result == 0 && found->count == 0)
		result = refuse_none(word, error, error_size);
	target_list_free(&all);
	if (result != 0)
		target_list_free(found);
	return result;
}

/* --- Dead ones -------------------------------------------------------------------------------- */

/* True if what the word names is alive. */
static bool list_dead(struct target_list *found, const char *word, enum target_scope scope)
{
	struct target_list all;
	bool lives = false;

	target_list_all(&all, scope, 0);
	for (size_t i = 0; i < all.count; i++) {
		const struct target *target = &all.targets[i];
		const char *slash = strrchr(target->arena, '/');

		if (strcmp(word, target->arena) != 0 && !(slash && strcmp(word, slash + 1) == 0) &&
		    !(is_number(word) && target->pid == (pid_t)atoi(word)))
			continue;
		if (target->is_dead)
			target_list_add(found, target);
		else
			lives = true;
	}
	target_list_free(&all);
	return lives;
}

int target_find_dead(struct target_list *found, const char *word, char *error, size_t error_size)
{
	bool lives;

	*found = (struct target_list){ 0 };
	lives = list_dead(found, word, TARGET_NEAR);
	if (found->count == 0 && !lives)
		lives = list_dead(found, word, TARGET_ALL);
	if (found->count > 0)
		return 0;
	if (lives)
		return refuse(error, error_size, "%s is alive: wcprof dump writes what it recorded",
			      word);
	return refuse(error, error_size,
		      "no dead process left a recording called %.100s (wcprof list "
		      "shows all)",
		      word);
}

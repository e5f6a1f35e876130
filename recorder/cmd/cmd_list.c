/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof list: the processes that have wcprof loaded, and what dead ones left.
 *
 * The living are asked all at once: one that does not answer is shown as silent, and keeps nobody
 * waiting.
 */
#include "cmd.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "procfs.h"
#include "visible.h"

/* For all of them together. */
enum { PATIENCE_MS = 1000 };

struct row {
	const struct target *target;
	const char *state;
	uint64_t events;
	uint64_t bytes;
	char user[40];  /* the name, or the number; empty: it ended just now */
	char what[256]; /* its command, or the arena that it left */
};

/* Of a living process, or of the arena that a dead one left. */
static void describe_user(struct row *row)
{
	char directory[32];
	struct stat stat;
	uid_t user = (uid_t)-1;
	const struct passwd *entry;

	snprintf(directory, sizeof(directory), "/proc/%d", (int)row->target->pid);
	if (!row->target->is_dead)
		(void)procfs_user(directory, &user);
	else if (lstat(row->target->arena, &stat) == 0)
		user = stat.st_uid;
	entry = user == (uid_t)-1 ? NULL : getpwuid(user);
	if (entry)
		snprintf(row->user, sizeof(row->user), "%s", entry->pw_name);
	else if (user != (uid_t)-1)
		snprintf(row->user, sizeof(row->user), "%u", user);
}

static void describe_live(struct row *row, const struct client_question *question)
{
	char recording[16] = "";

	procfs_command(row->target->pid, row->what, sizeof(row->what));
	row->state = "silent";
	if (!question->is_answered)
		return;
	(void)client_string(question->answer->text, "recording", recording, sizeof(recording));
	(void)client_number(question->answer->text, "events", &row->events);
	(void)client_number(question->answer->text, "arena_bytes", &row->bytes);
	row->state = strcmp(recording, "on") == 0 ? "on" : "off";
}

static void describe_dead(struct row *row)
{
	const struct target *target = row->target;

	snprintf(row->what, sizeof(row->what), "%s%s", target->arena,
		 target->is_other_version ? " (another version of wcprof)"
		 : target->is_damaged     ? " (damaged)"
					  : "");
}

static void describe_arena(struct row *row)
{
	struct remains remains;

	if (!row->target->arena[0] || remains_open(&remains, row->target->arena) != 0)
		return;
	row->bytes = remains_memory(&remains);
	if (row->target->is_dead)
		row->events = remains_pending(&remains);
	remains_close(&remains);
}

static void print_json(const struct row *row)
{
	printf("{\"pid\":%d,\"name\":%s,\"user\":%s,\"state\":\"%s\",\"events\":%" PRIu64
	       ",\"memory_bytes\":%" PRIu64 ",\"socket\":%s,\"arena\":%s}\n",
	       (int)row->target->pid, visible_json(row->target->name), visible_json(row->user),
	       row->state, row->events, row->bytes, visible_json(reach_shown(row->target->socket)),
	       visible_json(row->target->arena));
}

static void print_text(const struct row *row)
{
	char size[32] = "-";

	if (row->bytes)
		cmd_format_bytes((double)row->bytes, size, sizeof(size));
	printf("%8d  %-8s  %-6s  %10" PRIu64 "  %7s  %-15s  %.200s\n", (int)row->target->pid,
	       visible(row->user), row->state, row->events, size, visible(row->target->name),
	       visible(row->what));
}

/* One for each target; NULL: no memory. */
static struct client_question *ask_all(const struct target_list *all)
{
	struct client_question *questions = calloc(all->count, sizeof(*questions));
	struct client_answer *answers = calloc(all->count, sizeof(*answers));

	for (size_t i = 0; questions && answers && i < all->count; i++) {
		const struct target *target = &all->targets[i];
		bool is_asked = target->socket[0] && !target->is_dead && !target->is_silent;

		questions[i] = (struct client_question){
			.path = is_asked ? target->socket : NULL,
			.answer = &answers[i],
		};
	}
	if (questions && answers) {
		client_ask_all(questions, all->count, "STATUS", PATIENCE_MS);
		return questions;
	}
	free(questions);
	free(answers);
	return NULL;
}

static void print_all(const struct cmd_options *options, const struct target_list *all,
		      const struct client_question *questions)
{
	if (!options->json)
		printf("%8s  %-8s  %-6s  %10s  %7s  %-15s  %s\n", "PID", "USER", "STATE", "EVENTS",
		       "MEMORY", "PROGRAM", "COMMAND, OR ARENA OF A DEAD PROCESS");
	for (size_t i = 0; i < all->count; i++) {
		struct row row = { .target = &all->targets[i], .state = "dead" };

		if (row.target->is_dead)
			describe_dead(&row);
		else
			describe_live(&row, &questions[i]);
		describe_arena(&row);
		describe_user(&row);
		if (options->json)
			print_json(&row);
		else
			print_text(&row);
	}
	fflush(stdout);
}

static void say_more(const struct cmd_options *options, const struct target_list *all)
{
	size_t dead = 0, others = options->all ? 0 : target_count_others();

	for (size_t i = 0; i < all->count; i++)
		dead += all->targets[i].is_dead;
	if (dead > 0)
		cmd_say(options, "wcprof recover PID saves the recording of a dead process, "
				 "wcprof remove PID deletes it; the oldest go by themselves when "
				 "all take too much memory (WCPROF_LEFTOVER_MB)");
	if (others > 0)
		cmd_say(options, "%zu recording%s of other users: wcprof list --all", others,
			others == 1 ? "" : "s");
}

int cmd_list(struct cmd_options *options)
{
	struct client_question *questions = NULL;
	struct target_list all;

	target_list_all(&all, options->all ? TARGET_ALL : TARGET_LIVING, 0);
	target_list_add_silent(&all);
	if (all.count > 0) {
		questions = ask_all(&all);
		if (!questions)
			return cmd_fail("out of memory");
		print_all(options, &all, questions);
		free(questions[0].answer);
		free(questions);
	}
	if (!options->json)
		say_more(options, &all);
	target_list_free(&all);
	return CMD_DONE;
}

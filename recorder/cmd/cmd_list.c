/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof list: the processes that have wcprof loaded, and what dead ones left.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "procfs.h"

struct row {
	const struct target *target;
	const char *state;
	uint64_t events;
	uint64_t bytes;
	char what[256]; /* its command, or the arena that it left */
};

static void describe_live(struct row *row)
{
	struct client_answer answer;
	char recording[16] = "";

	procfs_command(row->target->pid, row->what, sizeof(row->what));
	row->state = "silent";
	if (!row->target->socket[0] || !client_ask(row->target->socket, "STATUS", &answer))
		return;
	(void)client_string(answer.text, "recording", recording, sizeof(recording));
	(void)client_number(answer.text, "events", &row->events);
	row->state = strcmp(recording, "on") == 0 ? "on" : "off";
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
	printf("{\"pid\":%d,\"name\":\"", (int)row->target->pid);
	for (const char *at = row->target->name; *at; at++)
		if (*at == '"' || *at == '\\')
			printf("\\%c", *at);
		else if ((unsigned char)*at >= ' ')
			putchar(*at);
	printf("\",\"state\":\"%s\",\"events\":%" PRIu64 ",\"memory_bytes\":%" PRIu64, row->state,
	       row->events, row->bytes);
	printf(",\"socket\":\"%s\",\"arena\":\"%s\"}\n", row->target->socket, row->target->arena);
}

static void print_text(const struct row *row)
{
	char size[32] = "-";

	if (row->bytes)
		cmd_format_bytes((double)row->bytes, size, sizeof(size));
	printf("%8d  %-6s  %10" PRIu64 "  %7s  %-15s  %.200s\n", (int)row->target->pid, row->state,
	       row->events, size, row->target->name, row->what);
}

int cmd_list(struct cmd_options *options)
{
	struct target_list all;
	size_t dead = 0;

	target_list_all(&all);
	if (all.count > 0 && !options->json)
		printf("%8s  %-6s  %10s  %7s  %-15s  %s\n", "PID", "STATE", "EVENTS", "MEMORY",
		       "PROGRAM", "COMMAND, OR ARENA OF A DEAD PROCESS");
	for (size_t i = 0; i < all.count; i++) {
		struct row row = { .target = &all.targets[i], .state = "dead" };

		if (row.target->is_dead)
			snprintf(row.what, sizeof(row.what), "%s%s", row.target->arena,
				 row.target->is_other_version ? " (another version of wcprof)"
							      : "");
		else
			describe_live(&row);
		describe_arena(&row);
		dead += row.target->is_dead;
		if (options->json)
			print_json(&row);
		else
			print_text(&row);
	}
	target_list_free(&all);
	fflush(stdout);
	if (dead > 0 && !options->json)
		cmd_say(options, "wcprof recover PID saves the recording of a dead process, "
				 "wcprof remove PID deletes it");
	return CMD_DONE;
}

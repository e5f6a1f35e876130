/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are recorded. See watched.h.
 *
 * A scan has three steps: who is there; what each answers; what each is told. Only the last one may
 * wait for a process, and it has just answered.
 */
#include "watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "grow.h"
#include "metrics.h"
#include "procfs.h"
#include "target.h"

#define NS_PER_S UINT64_C(1000000000)

enum { ASK_MS = 2000, LINE_BYTES = 256, COMMAND_BYTES = 4096 };

/* --- What a process is told ------------------------------------------------------------------- */

enum watched_state watched_state_of(const char *status)
{
	char recording[8] = "";
	uint64_t left_ms;

	if (client_number(status, "lease_left_ms", &left_ms))
		return WATCHED_LEASED;
	(void)client_string(status, "recording", recording, sizeof(recording));
	return strcmp(recording, "off") == 0 ? WATCHED_OFF : WATCHED_FOREIGN;
}

static void make_settings(const struct config_process *rule, char settings[WATCHED_SETTINGS_BYTES])
{
	snprintf(settings, WATCHED_SETTINGS_BYTES, " budget=%s sample_hz=%ju", rule->budget,
		 (uintmax_t)rule->sample_hz);
}

void watched_line(const struct watched *watched, enum watched_state state, uint64_t scan_s,
		  char *line, size_t size)
{
	char settings[WATCHED_SETTINGS_BYTES];
	bool is_new;

	make_settings(watched->rule, settings);
	is_new = state == WATCHED_OFF || strcmp(settings, watched->settings) != 0;
	snprintf(line, size, "%s lease_s=%ju%s", state == WATCHED_OFF ? "ENABLE" : "SET",
		 (uintmax_t)(WATCHED_LEASE_SCANS * scan_s + WATCHED_LEASE_MORE_S),
		 is_new ? settings : "");
}

/* The cost of recording since the last answer. A process that records anew may begin at 0. */
static void count_cost(struct watched *watched, const char *status)
{
	uint64_t own_ns = 0, cpu_ns = 0;

	(void)client_number(status, "own_ns", &own_ns);
	(void)client_number(status, "cpu_ns", &cpu_ns);
	if (watched->is_ours && own_ns >= watched->own_ns && cpu_ns >= watched->cpu_ns) {
		metrics.targets_own_seconds_total += (double)(own_ns - watched->own_ns) / 1e9;
		metrics.targets_cpu_seconds_total += (double)(cpu_ns - watched->cpu_ns) / 1e9;
	}
	watched->own_ns = own_ns;
	watched->cpu_ns = cpu_ns;
	watched->share_ppm = 1000000;
	(void)client_number(status, "budget_share_ppm", &watched->share_ppm);
}

/* The first dump comes at a random moment within the interval: not of all at once. */
static void begin(struct watched *watched, const struct config *config, uint64_t now_ns)
{
	uint64_t interval_ns = config->agent.interval_s * NS_PER_S;

	watched->is_ours = true;
	watched->taken_ns = now_ns;
	watched->due_ns = now_ns + interval_ns / 2 + (uint64_t)random() % (interval_ns / 2);
}

static void tell(struct watched *watched, const char *status, const struct config *config,
		 uint64_t now_ns)
{
	enum watched_state state = watched_state_of(status);
	struct client_answer answer;
	char line[LINE_BYTES];

	if (state == WATCHED_FOREIGN) {
		watched->is_ours = false;
		metrics.processes_left_alone++;
		return;
	}
	count_cost(watched, status);
	watched_line(watched, state, config->agent.scan_s, line, sizeof(line));
	if (!client_ask(watched->socket, line, &answer)) {
		metrics.processes_silent++;
		watched->settings[0] = '\0';
		return;
	}
	make_settings(watched->rule, watched->settings);
	if (!watched->is_ours)
		begin(watched, config, now_ns);
	metrics.processes++;
}

void watched_stop(struct watched *watched)
{
	struct client_answer answer;

	/* Its number may be another one's by now. */
	if (watched->is_ours && procfs_lives(watched->pid, watched->start_ticks))
		(void)client_ask(watched->socket, "DISABLE", &answer);
	watched->is_ours = false;
}

void watched_stop_all(struct watched_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		watched_stop(&list->all[i]);
}

/* --- Who is there ----------------------------------------------------------------------------- */

static struct watched *find(struct watched_list *list, pid_t pid, uint64_t start_ticks)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->all[i].pid == pid && list->all[i].start_ticks == start_ticks)
			return &list->all[i];
	return NULL;
}

/* NULL: there is no room for one more. */
static struct watched *add(struct watched_list *list)
{
	if (list->count == WATCHED_MOST)
		return NULL;
	struct watched *grown = grow_for_one(list->all, &list->room, list->count, sizeof(*grown));
	if (!grown)
		return NULL;
	list->all = grown;
	list->all[list->count] = (struct watched){ 0 };
	return &list->all[list->count++];
}

static void see(struct watched_list *list, const struct config *config, const struct target *target)
{
	const struct config_process *rule;
	struct procfs_status status;
	struct watched *watched;
	char file[WATCHED_PROGRAM_BYTES], command[COMMAND_BYTES];

	if (!target->socket[0] || !procfs_read(target->pid, &status))
		return;
	procfs_executable(target->pid, file, sizeof(file));
	procfs_command(target->pid, command, sizeof(command));
	rule = config_find(config, target->name, file, command);
	if (!rule)
		return;
	watched = find(list, target->pid, status.start_ticks);
	if (!watched)
		watched = add(list);
	if (!watched)
		return;
	watched->pid = target->pid;
	watched->start_ticks = status.start_ticks;
	watched->rule = rule;
	watched->is_seen = true;
	snprintf(watched->program, sizeof(watched->program), "%s", target->name);
	snprintf(watched->socket, sizeof(watched->socket), "%s", target->socket);
}

/* Those that ended, or that no rule fits any more: these are told. */
static void let_go(struct watched_list *list)
{
	for (size_t i = list->count; i-- > 0;) {
		if (list->all[i].is_seen)
			continue;
		watched_stop(&list->all[i]);
		list->all[i] = list->all[--list->count];
	}
}

static void ask_and_tell(struct watched_list *list, const struct config *config, uint64_t now_ns)
{
	struct client_question *questions = calloc(list->count, sizeof(*questions));
	struct client_answer *answers = calloc(list->count, sizeof(*answers));

	for (size_t i = 0; questions && answers && i < list->count; i++)
		questions[i] = (struct client_question){ .path = list->all[i].socket,
							 .answer = &answers[i] };
	if (questions && answers)
		client_ask_all(questions, list->count, "STATUS", ASK_MS);
	for (size_t i = 0; questions && answers && i < list->count; i++) {
		if (questions[i].is_answered)
			tell(&list->all[i], answers[i].text, config, now_ns);
		else
			metrics.processes_silent++;
	}
	free(questions);
	free(answers);
}

void watched_scan(struct watched_list *list, const struct config *config, uint64_t now_ns)
{
	struct target_list found;

	for (size_t i = 0; i < list->count; i++)
		list->all[i].is_seen = false;
	target_list_all(&found, TARGET_LIVING, 0);
	for (size_t i = 0; i < found.count; i++)
		see(list, config, &found.targets[i]);
	target_list_free(&found);
	let_go(list);
	metrics.processes = metrics.processes_left_alone = metrics.processes_silent = 0;
	if (list->count > 0)
		ask_and_tell(list, config, now_ns);
}

void watched_free(struct watched_list *list)
{
	free(list->all);
	*list = (struct watched_list){ 0 };
}

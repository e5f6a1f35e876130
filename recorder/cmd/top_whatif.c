/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that dumps and analyzes, now and then; top_whatif.h has the contract.
 */
#include "top_whatif.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "procfs.h"
#include "try_analysis.h"

#define EVERY_NS UINT64_C(5000000000)
enum { ANSWER_BYTES = 65536 };

void top_whatif_begin(struct top_whatif *whatif)
{
	*whatif = (struct top_whatif){ .child = 0 };
	strcpy(whatif->directory, "/tmp/wcprof-top-XXXXXX");
	if (!mkdtemp(whatif->directory))
		whatif->directory[0] = '\0';
}

void top_whatif_end(struct top_whatif *whatif)
{
	if (whatif->child > 0) {
		kill(whatif->child, SIGKILL);
		waitpid(whatif->child, NULL, 0);
	}
	if (whatif->directory[0])
		cmd_remove_directory(whatif->directory);
	free(whatif->answer);
	*whatif = (struct top_whatif){ .child = 0 };
}

static int write_dump(void *context, const char *bytes, size_t count)
{
	return count == 0 || fwrite(bytes, 1, count, context) == count ? 0 : -1;
}

/* In the child. The answer is a report's first screen, whatever it says. */
static _Noreturn void answer(const char *directory, const char *socket)
{
	char dump[96], report[512];
	const struct sched_param idle = { 0 };

	snprintf(dump, sizeof(dump), "%s/dump.jsonl", directory);
	snprintf(report, sizeof(report), "%s/report.new", directory);
	(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	(void)setpriority(PRIO_PROCESS, 0, 19);
	FILE *file = fopen(dump, "we");

	if (!file || client_dump(socket, false, write_dump, file) != 0 || fclose(file) != 0)
		_exit(1);
	int output = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(1);
	try_analysis_program(report, sizeof(report));
	execlp(report, "wcprof-analyze", dump, (char *)NULL);
	_exit(CMD_NOT_FOUND);
}

static char *read_report(const struct top_whatif *whatif)
{
	char path[96];
	char *text = malloc(ANSWER_BYTES);

	snprintf(path, sizeof(path), "%s/report.new", whatif->directory);
	if (text && procfs_read_file(path, text, ANSWER_BYTES) > 0)
		return text;
	free(text);
	return NULL;
}

void top_whatif_tick(struct top_whatif *whatif, const char *socket, uint64_t now_ns)
{
	int status;

	if (!whatif->directory[0])
		return;
	if (whatif->child > 0 && waitpid(whatif->child, &status, WNOHANG) == whatif->child) {
		char *text = read_report(whatif);

		whatif->child = 0;
		if (text) {
			free(whatif->answer);
			whatif->answer = text;
			whatif->answer_ns = whatif->asked_ns;
		}
	}
	if (whatif->child > 0 || (whatif->asked_ns && now_ns < whatif->asked_ns + EVERY_NS))
		return;
	whatif->asked_ns = now_ns;
	whatif->child = fork();
	if (whatif->child == 0)
		answer(whatif->directory, socket);
}

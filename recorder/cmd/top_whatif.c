/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that dumps and analyzes, now and then; top_whatif.h has the contract.
 */
#include "top_whatif.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "procfs.h"
#include "top_dump.h"
#include "try_analysis.h"
#include "visible.h"

#define EVERY_NS UINT64_C(5000000000)
enum { ANSWER_BYTES = 65536, WITHHELD = 3 /* of wcprof-analyze */ };
/* The analyzer takes some seconds for these, and the dump has 300 MB. */
static const double events_most = 2e6;

void top_whatif_begin(struct top_whatif *whatif, const char *directory)
{
	*whatif = (struct top_whatif){ .directory = directory };
}

void top_whatif_end(struct top_whatif *whatif)
{
	if (whatif->child > 0) {
		kill(whatif->child, SIGKILL);
		waitpid(whatif->child, NULL, 0);
	}
	free(whatif->answer);
	*whatif = (struct top_whatif){ .directory = "" };
}

/* In the child. The answer is a report's first screen, whatever it says: also that answers are
 * withheld, and why. */
static _Noreturn void answer(const char *directory, const char *socket, uint64_t last_ns)
{
	char dump[TOP_PATH_BYTES], report[512];
	const struct sched_param idle = { 0 };
	int error, output;

	snprintf(dump, sizeof(dump), "%s/window.jsonl", directory);
	snprintf(report, sizeof(report), "%s/report", directory);
	(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	(void)setpriority(PRIO_PROCESS, 0, 19);
	output = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(CMD_FAILED);
	error = top_dump_write(dump, socket, last_ns);
	if (error != 0) {
		(void)cmd_fail("no dump of the window: %s", strerror(-error));
		_exit(CMD_FAILED);
	}
	try_analysis_program(report, sizeof(report));
	execlp(report, "wcprof-analyze", dump, (char *)NULL);
	(void)cmd_fail("wcprof-analyze: %s", strerror(errno));
	_exit(CMD_NOT_FOUND);
}

static char *read_report(const struct top_whatif *whatif)
{
	char path[TOP_PATH_BYTES];
	char *text = malloc(ANSWER_BYTES);

	snprintf(path, sizeof(path), "%s/report", whatif->directory);
	if (text && procfs_read_file(path, text, ANSWER_BYTES) > 0)
		return text;
	free(text);
	return NULL;
}

/* A report that says that answers are withheld is one, too. */
static void take_answer(struct top_whatif *whatif, int status)
{
	char *text = read_report(whatif);

	whatif->child = 0;
	if (text && WIFEXITED(status) &&
	    (WEXITSTATUS(status) == CMD_DONE || WEXITSTATUS(status) == WITHHELD)) {
		free(whatif->answer);
		whatif->answer = text;
		whatif->answer_ns = whatif->asked_ns;
		whatif->answer_last_ns = whatif->last_ns;
		whatif->problem[0] = '\0';
		return;
	}
	snprintf(whatif->problem, sizeof(whatif->problem), "no answer: %.*s",
		 text ? (int)strcspn(text, "\n") : 40,
		 text ? visible(text) : "the analyzer has said nothing");
	free(text);
}

void top_whatif_take(struct top_whatif *whatif)
{
	int status;

	if (whatif->child > 0 && waitpid(whatif->child, &status, WNOHANG) == whatif->child)
		take_answer(whatif, status);
}

void top_whatif_tick(struct top_whatif *whatif, const char *socket, uint64_t now_ns,
		     uint64_t last_ns, double events_per_s)
{
	if (!whatif->directory[0])
		return;
	top_whatif_take(whatif);
	if (whatif->child > 0 || (whatif->asked_ns && now_ns < whatif->asked_ns + EVERY_NS))
		return;
	if (events_per_s * (double)last_ns / 1e9 > events_most)
		last_ns = (uint64_t)(events_most / events_per_s * 1e9);
	whatif->asked_ns = now_ns;
	whatif->last_ns = last_ns;
	whatif->child = fork();
	if (whatif->child == 0)
		answer(whatif->directory, socket, last_ns);
	if (whatif->child < 0)
		whatif->child = 0;
}

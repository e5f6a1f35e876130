/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of top: wcprof probe does the work, as a process of its own, as it may have to read much
 * debug information. top_session.h has the contract.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "top_session.h"
#include "visible.h"

enum { PRIORITY = 10 }; /* the user waits for it */

/* Options behind the function, as " --min 1ms --when lock", come before it. */
struct words {
	char text[TOP_INPUT_BYTES];
	const char *min, *when; /* "" = none */
};

static bool split(struct words *words, const char *text)
{
	*words = (struct words){ .min = "", .when = "" };
	if (text[0] == '-')
		return false;
	snprintf(words->text, sizeof(words->text), "%s", text);
	for (char *at = words->text, *next; (next = strstr(at, " --")); at = next + 1) {
		*next = '\0';
		if (strncmp(next + 1, "--min ", 6) == 0)
			words->min = next + 7;
		else if (strncmp(next + 1, "--when ", 7) == 0)
			words->when = next + 8;
		else
			return false;
	}
	return true;
}

static _Noreturn void run(const struct top *top, const struct words *words, bool is_removal,
			  int output)
{
	enum { MOST = 11 }; /* the command, three options with values, two arguments, the end */
	char pid[16], lease[16];
	const char *arguments[MOST] = { "wcprof", "probe" };
	int count = 2;

	snprintf(pid, sizeof(pid), "%d", (int)top->target.pid);
	snprintf(lease, sizeof(lease), "%d", TOP_LEASE_S);
	if (words->min[0]) {
		arguments[count++] = "--min";
		arguments[count++] = words->min;
	}
	if (words->when[0]) {
		arguments[count++] = "--when";
		arguments[count++] = words->when;
	}
	if (!is_removal) {
		arguments[count++] = "--lease";
		arguments[count++] = lease;
	}
	arguments[count++] = is_removal ? "--remove" : pid;
	arguments[count++] = words->text;
	arguments[count] = is_removal ? pid : NULL;
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", (char *const *)(const void *)arguments);
	_exit(CMD_NOT_FOUND);
}

/* --- those that this command put in --- */

static bool has_probe(const struct client_answer *probes, const char *name)
{
	const char *at = probes->is_ok ? client_array(probes->text, "probes") : NULL;
	char other[PROBE_ORDER_NAME_BYTES], *probe;
	bool is_found = false;

	at = at ? at + 1 : NULL;
	while (at && !is_found && (probe = client_next(&at))) {
		is_found = client_string(probe, "name", other, sizeof(other)) &&
			   strcmp(other, name) == 0;
		free(probe);
	}
	return is_found;
}

/* Asks for the probes; those that were not there before are this command's. */
static void note_own(struct top *top)
{
	const struct client_answer before = top->control.probes;
	const char *at;
	char *probe;

	top_control_ask_probes(&top->control);
	if (top->is_removing || !before.is_ok || !top->control.probes.is_ok)
		return;
	at = client_array(top->control.probes.text, "probes");
	at = at ? at + 1 : NULL;
	while (at && top->own_probe_count < TOP_PROBES_MAX && (probe = client_next(&at))) {
		char *name = top->own_probes[top->own_probe_count];

		top->own_probe_count +=
			client_string(probe, "name", name, PROBE_ORDER_NAME_BYTES) &&
			!has_probe(&before, name);
		free(probe);
	}
}

/* --- the command --- */

void top_probe(struct top *top, const char *text, bool is_removal)
{
	struct words words;
	int pipe_fds[2];

	if (top->prober > 0) {
		snprintf(top->note, sizeof(top->note), "the probe before is still being put in");
		return;
	}
	if (!text[0])
		return;
	if (!split(&words, text)) {
		snprintf(top->note, sizeof(top->note),
			 "a function, and behind it --min TIME or --when CONDITION");
		return;
	}
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return;
	top_control_ask_probes(&top->control);
	top->is_removing = is_removal;
	top->prober = fork();
	if (top->prober == 0)
		run(top, &words, is_removal, pipe_fds[1]);
	close(pipe_fds[1]);
	top->prober_fd = pipe_fds[0];
	if (top->prober < 0) {
		close(pipe_fds[0]);
		top->prober = 0;
		return;
	}
	snprintf(top->note, sizeof(top->note), "%.150s: being %s", visible(text),
		 is_removal ? "taken out" : "looked up");
}

/* Of several lines, the last that says something: of one probe there is one. */
void top_probe_tick(struct top *top)
{
	char said[4096];
	int status;
	size_t used = 0;
	ssize_t got;

	if (top->prober <= 0 || waitpid(top->prober, &status, WNOHANG) != top->prober)
		return;
	while ((got = read(top->prober_fd, said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	close(top->prober_fd);
	top->prober = 0;
	said[used] = '\0';
	while (used > 0 && said[used - 1] == '\n')
		said[--used] = '\0';
	char *line = strrchr(said, '\n');

	line = line ? line + 1 : said;
	/* "wcprof: 123 server: " is known */
	char *rest = strstr(line, top->target.name);

	if (rest && strncmp(rest + strlen(top->target.name), ": ", 2) == 0)
		line = rest + strlen(top->target.name) + 2;
	snprintf(top->note, sizeof(top->note), "%.500s", visible(line));
	note_own(top);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CMD_DONE)
		top_control_changed(&top->control, top->note);
}

void top_probe_end(struct top *top)
{
	char line[16 + PROBE_ORDER_NAME_BYTES];
	struct client_answer answer;

	if (top->prober > 0) {
		kill(top->prober, SIGKILL);
		waitpid(top->prober, NULL, 0);
		close(top->prober_fd);
		top->prober = 0;
		if (!top->has_ended)
			note_own(top);
	}
	/* one that was taken out meanwhile is not there: that is an answer, too */
	for (size_t i = 0; i < top->own_probe_count && !top->has_ended; i++) {
		snprintf(line, sizeof(line), "UNPROBE name=%s", top->own_probes[i]);
		(void)client_ask(top->target.socket, line, &answer);
	}
}

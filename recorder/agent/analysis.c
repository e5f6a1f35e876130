/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyses. See analysis.h.
 *
 * Each window of a job has steps, each of which is a run of wcprof-analyze: the profiles, and
 * other files that uploads need. Only the first must succeed.
 */
#include "analysis.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "metrics.h"
#include "try_analysis.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
	STEP_PPROF,
	STEP_OTLP,
	STEP_PROVENANCE,
	STEPS,
	ARGUMENTS_MOST = 24,
	/* The answers were withheld, which profiles do not need. */
	STATUS_WITHHELD = 3,
	NICE_MOST = 19,
	IDLE_CLASS = 3 << 13, /* of ioprio_set(2) */
	TAG_BYTES = CONFIG_TAG_BYTES + 16
};

void analysis_init(struct analyses *analyses, const char *store)
{
	*analyses = (struct analyses){ 0 };
	snprintf(analyses->directory, sizeof(analyses->directory), "%s/profiles", store);
}

void analysis_windows(struct analysis_job *job, const char *header, struct analysis_window whole)
{
	const char *at = client_array(header, "windows"), *end = at ? client_end(at) : NULL;
	uint64_t epoch_ns = 0, begin_ns, end_ns;
	int read = 0;

	job->window_count = 0;
	(void)client_number(header, "epoch_unix_nano", &epoch_ns);
	for (; end && sscanf(at + 1, "%" SCNu64 ",%" SCNu64 "%n", &begin_ns, &end_ns, &read) == 2;
	     at += 1 + read) {
		if (job->window_count == ANALYSIS_WINDOWS_MOST) {
			metrics.analyses_dropped_total++;
			continue;
		}
		job->windows[job->window_count++] =
			(struct analysis_window){ epoch_ns + begin_ns, epoch_ns + end_ns };
	}
	if (job->window_count > 1)
		return;
	job->windows[0] = whole;
	job->window_count = 1;
}

void analysis_add(struct analyses *analyses, const struct analysis_job *job)
{
	if (analyses->count == ANALYSIS_JOBS_MOST) {
		metrics.analyses_dropped_total++;
		return;
	}
	analyses->jobs[analyses->count++] = *job;
	metrics.analyses_queued = (double)analyses->count;
}

void analysis_drop(struct analyses *analyses)
{
	if (++analyses->jobs[0].window < analyses->jobs[0].window_count)
		return;
	analyses->count--;
	memmove(analyses->jobs, analyses->jobs + 1, analyses->count * sizeof(analyses->jobs[0]));
	metrics.analyses_queued = (double)analyses->count;
}

/* The directory is there, and empty. */
static void prepare(const struct analyses *analyses)
{
	DIR *directory;
	struct dirent *entry;

	(void)mkdir(analyses->directory, 0700);
	directory = opendir(analyses->directory);
	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
}

/* Takes only time that the machine has to spare, and lives no longer than the agent. */
static void become_idle(pid_t agent)
{
	const struct sched_param none = { 0 };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	(void)setpriority(PRIO_PROCESS, 0, NICE_MOST);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, 1, 0, IDLE_CLASS);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != agent)
		_exit(127);
	(void)sigemptyset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
}

/* The words of a step's command. */
struct command {
	const char *words[ARGUMENTS_MOST];
	size_t count;
	char path[2 * STORE_PATH_BYTES], memory[24], window[24], output[STORE_PATH_BYTES + 16];
	char tags[4][TAG_BYTES];
	size_t tag_count;
};

static void add(struct command *command, const char *word)
{
	command->words[command->count++] = word;
	command->words[command->count] = NULL;
}

static void add_tag(struct command *command, const char *key, const char *value)
{
	char *tag = command->tags[command->tag_count++];

	if (!value[0])
		return;
	snprintf(tag, TAG_BYTES, "%s=%s", key, value);
	add(command, "--tag");
	add(command, tag);
}

/* Of each step: the word of --export, and the name of its file; the first one makes a folder. */
static const struct {
	const char *word, *file;
} steps[STEPS] = {
	[STEP_PPROF] = { "pprof", "" },
	[STEP_OTLP] = { "otlp", "/otlp.pb" },
	[STEP_PROVENANCE] = { "code-provenance", "/code-provenance.json" },
};

static void make_command(const struct analyses *analyses, struct command *command)
{
	const struct analysis_job *job = &analyses->jobs[0];

	*command = (struct command){ 0 };
	try_analysis_program(command->path, sizeof(command->path));
	snprintf(command->memory, sizeof(command->memory), "%" PRIu64, analyses->memory_mb);
	snprintf(command->output, sizeof(command->output), "%s%s", analyses->directory,
		 steps[analyses->step].file);
	add(command, command->path);
	add(command, "--quiet");
	add(command, "--from");
	add(command, "0");
	add(command, "--max-memory");
	add(command, command->memory);
	if (job->window_count > 1) {
		snprintf(command->window, sizeof(command->window), "%zu", job->window + 1);
		add(command, "--window");
		add(command, command->window);
	}
	add(command, "--export");
	add(command, steps[analyses->step].word);
	add(command, "--output");
	add(command, command->output);
	if (analyses->step == STEP_OTLP) {
		add_tag(command, "service", job->tags.service);
		add_tag(command, "version", job->tags.version);
		add_tag(command, "environment", job->tags.environment);
		add_tag(command, "host", job->tags.host);
	}
	add(command, job->dump);
}

static bool start(struct analyses *analyses, uint64_t now_ns)
{
	struct command command;
	pid_t agent = getpid();

	if (analyses->step == STEP_PPROF)
		prepare(analyses);
	make_command(analyses, &command);
	analyses->until_ns = now_ns + analyses->most_s * NS_PER_S;
	analyses->pid = fork();
	if (analyses->pid == 0) {
		become_idle(agent);
		execvp(command.path, (char **)command.words);
		fprintf(stderr, "wcprof-agent: %s: %s\n", command.path, strerror(errno));
		_exit(127);
	}
	if (analyses->pid > 0)
		return true;
	analyses->pid = 0;
	return false;
}

static bool is_wanted(const struct analyses *analyses, unsigned step)
{
	return step == STEP_PPROF || (step == STEP_OTLP && analyses->wants_otlp) ||
	       (step == STEP_PROVENANCE && analyses->wants_provenance);
}

/* Whether what ran has ended, and whether well. */
static bool has_ended(struct analyses *analyses, uint64_t now_ns, bool *is_well)
{
	int status = 0;
	pid_t ended = waitpid(analyses->pid, &status, WNOHANG);

	if (ended == 0 && now_ns < analyses->until_ns)
		return false;
	if (ended == 0) {
		analysis_end(analyses);
		*is_well = false;
		return true;
	}
	analyses->pid = 0;
	*is_well = ended > 0 && WIFEXITED(status) &&
		   (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_WITHHELD);
	return true;
}

/* The files of this window are of no use. */
static void fail(struct analyses *analyses)
{
	metrics.analyses_failed_total++;
	analyses->step = 0;
	analysis_drop(analyses);
}

bool analysis_go_on(struct analyses *analyses, uint64_t now_ns)
{
	bool is_well = true;

	if (analyses->count == 0)
		return false;
	if (analyses->pid != 0) {
		if (!has_ended(analyses, now_ns, &is_well))
			return false;
		if (!is_well && analyses->step == STEP_PPROF) {
			fail(analyses);
			return false;
		}
		metrics.analyses_failed_total += !is_well;
		do
			analyses->step++;
		while (analyses->step < STEPS && !is_wanted(analyses, analyses->step));
		if (analyses->step == STEPS) {
			analyses->step = 0;
			metrics.analyses_total++;
			return true;
		}
	}
	if (!start(analyses, now_ns))
		fail(analyses);
	return false;
}

void analysis_end(struct analyses *analyses)
{
	if (analyses->pid == 0)
		return;
	(void)kill(analyses->pid, SIGKILL);
	while (waitpid(analyses->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	analyses->pid = 0;
}

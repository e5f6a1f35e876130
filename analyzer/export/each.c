/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes for --each, and the file of rows; each.h has the contract.
 *
 * A dump's process writes its rows to a pipe, and the parent copies them when the pipe ends. Rows
 * that are there already are known by how they begin, which says dump and question.
 */
#include "each.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/allowance.h"
#include "base/memory.h"
#include "each_parts.h"

enum { JOBS_MOST = 1024, READ_BYTES = 1 << 16 };

struct job {
	pid_t pid;
	int fd;
	char *dump;
	char *text; /* its rows so far */
	size_t length, room;
};

struct each {
	const struct options *options;
	struct each_counts *counts;
	char *error;
	FILE *file;
	bool is_table;
	char **known; /* how rows of the file begin, in order */
	size_t known_count, known_room;
	struct job *jobs; /* those that run */
	struct pollfd *polls;
	size_t job_count, jobs_most;
};

/* --- The file of rows --- */

static int fail(struct each *each, const char *path, const char *why)
{
	snprintf(each->error, EACH_WINDOW_ERROR_BYTES, "-o %.300s: %s", path, why);
	return -EIO;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Keeps how the line begins, without the answer. */
static void learn(struct each *each, char *line)
{
	static const char end[] = ",\"answers\":";
	char *answers = strstr(line, end);
	if (!answers)
		return;
	answers[strlen(end)] = '\0';
	each->known = memory_grow(each->known, &each->known_room, each->known_count + 1,
				  sizeof(*each->known));
	each->known[each->known_count++] = strdup(line);
}

/* A line that was cut off is taken out: its dump is asked again. */
static void learn_all(struct each *each)
{
	char *line = NULL;
	size_t room = 0;
	off_t whole = 0;
	for (ssize_t length; (length = getline(&line, &room, each->file)) > 0;) {
		if (line[length - 1] != '\n')
			break;
		whole += length;
		learn(each, line);
	}
	free(line);
	fseeko(each->file, whole, SEEK_SET);
	if (ftruncate(fileno(each->file), whole) != 0)
		return; /* writing will fail, too */
	if (each->known_count)
		qsort(each->known, each->known_count, sizeof(*each->known), compare_texts);
}

static int open_file(struct each *each)
{
	const char *path = each->options->output;
	struct stat stat;
	each->file = stdout;
	each->is_table = !path[0] && !each->options->json && isatty(STDOUT_FILENO);
	if (!path[0] || strcmp(path, "-") == 0)
		return 0;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return fail(each, path, strerror(errno));
	each->file = fdopen(fd, "r+");
	if (!each->file || flock(fd, LOCK_EX | LOCK_NB) != 0)
		return fail(each, path, "another run writes to it; give another name");
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		learn_all(each);
	return 0;
}

static bool has_row(const struct each *each, const char *dump)
{
	char *begin = each_row_begin(dump, each->options->paths[0]);
	bool is_known = each->known_count > 0 && bsearch(&begin, each->known, each->known_count,
							 sizeof(*each->known), compare_texts);
	free(begin);
	return is_known;
}

/* --- Processes --- */

/* In the child. Its share of the memory; no output of the parent's. */
static void __attribute__((noreturn)) ask(const struct each *each, char *dump, int fd)
{
	FILE *file = fdopen(fd, "w");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (each->options->max_memory_mb == 0)
		(void)allowance_set(allowance_of_now() / each->jobs_most);
	each_row_write(file, each->options, dump, each->is_table);
	_exit(fclose(file) == 0 ? 0 : 1);
}

static int begin_job(struct each *each, char *dump)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		ask(each, dump, ends[1]);
	int error = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	each->jobs[each->job_count++] = (struct job){ .pid = pid, .fd = ends[0], .dump = dump };
	return 0;
}

static void add_error(const struct each *each, const struct job *job, int status, FILE *file)
{
	char why[128];
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "its analysis was ended by signal %d (%s)%s",
			 WTERMSIG(status), strsignal(WTERMSIG(status)),
			 WTERMSIG(status) == SIGKILL ? ": is the memory full?" : "");
	else
		snprintf(why, sizeof(why),
			 "its analysis ended with status %d: standard error says why",
			 WEXITSTATUS(status));
	each_row_fail(file, job->dump, each->options->paths[0], why, each->is_table);
}

static bool is_error(const struct each *each, const char *rows)
{
	return strstr(rows, each->is_table ? "  error  " : "\"answers\":\"error\"") != NULL;
}

/* Its rows in one write, so that a run which is ended leaves all of them or none. */
static int end_job(struct each *each, size_t index)
{
	struct job job = each->jobs[index];
	int status = 0;
	close(job.fd);
	while (waitpid(job.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0 || job.length == 0) {
		free(job.text);
		FILE *file = open_memstream(&job.text, &job.length);
		add_error(each, &job, status, file);
		fclose(file);
	} else {
		job.text[job.length] = '\0';
	}
	each->counts->asked++;
	each->counts->failed += is_error(each, job.text);
	fwrite(job.text, 1, job.length, each->file);
	free(job.text);
	each->jobs[index] = each->jobs[--each->job_count];
	return fflush(each->file) == 0 ? 0 : fail(each, each->options->output, strerror(errno));
}

/* False: it has no more. */
static bool read_rows(struct job *job)
{
	job->text = memory_grow(job->text, &job->room, job->length + READ_BYTES + 1, 1);
	ssize_t length = read(job->fd, job->text + job->length, READ_BYTES);
	job->length += length > 0 ? (size_t)length : 0;
	return length > 0 || (length < 0 && errno == EINTR);
}

/* Until one has ended. */
static int await_job(struct each *each)
{
	for (;;) {
		for (size_t i = 0; i < each->job_count; i++)
			each->polls[i] =
				(struct pollfd){ .fd = each->jobs[i].fd, .events = POLLIN };
		if (poll(each->polls, each->job_count, -1) < 0)
			continue;
		for (size_t i = 0; i < each->job_count; i++)
			if (each->polls[i].revents && !read_rows(&each->jobs[i]))
				return end_job(each, i);
	}
}

static int ask_all(struct each *each)
{
	const struct options *options = each->options;
	int failed = 0;
	for (size_t i = 1; i < options->path_count && !failed; i++) {
		if (has_row(each, options->paths[i])) {
			each->counts->skipped++;
			continue;
		}
		if (each->job_count == each->jobs_most)
			failed = await_job(each);
		if (options->progress)
			options->progress("dumps", i - 1, options->path_count - 1);
		/* with fewer at a time there may be room for one more */
		while (!failed && (failed = begin_job(each, options->paths[i])) != 0 &&
		       each->job_count > 0)
			failed = await_job(each);
		if (failed && !each->error[0])
			fail(each, options->output, strerror(-failed));
	}
	while (each->job_count > 0 && !failed)
		failed = await_job(each);
	return failed;
}

static size_t jobs_of(const struct options *options)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t jobs = options->jobs ? options->jobs : cpus > 0 ? (size_t)cpus : 1;
	return jobs < JOBS_MOST ? jobs : JOBS_MOST;
}

int each_ask(const struct options *options, struct each_counts *counts,
	     char error[EACH_WINDOW_ERROR_BYTES])
{
	struct each each = {
		.options = options, .counts = counts, .error = error, .jobs_most = jobs_of(options)
	};
	*counts = (struct each_counts){ 0 };
	error[0] = '\0';
	int failed = open_file(&each);
	each.jobs = memory_new(each.jobs_most, sizeof(*each.jobs));
	each.polls = memory_new(each.jobs_most, sizeof(*each.polls));
	if (!failed && each.is_table)
		each_row_head(each.file);
	if (!failed)
		fflush(each.file);
	if (!failed)
		failed = ask_all(&each);
	if (each.file && each.file != stdout && fclose(each.file) != 0 && !failed)
		failed = fail(&each, options->output, strerror(errno));
	for (size_t i = 0; i < each.known_count; i++)
		free(each.known[i]);
	free(each.known);
	free(each.jobs);
	free(each.polls);
	return failed;
}

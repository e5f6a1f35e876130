/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wcprof command of other hosts; remote.h has the contract.
 *
 * Each is an ssh with a script (remote_words.c). The script says that it is there, and waits for a
 * line before it runs the command. The start-up files of the shell there may print something
 * before: that is left out. A host that is not ready long after another one is left out, too, as
 * all that are ready wait for it.
 */
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "outfile.h"
#include "window.h"

enum {
	SSH_WORDS_MOST = 32,
	BLOCK_BYTES = 65536,
	SHOW_MS = 200,
	USUAL_WAIT_SECONDS = 30,
	NOT_FOUND = 127, /* as shells say it */
};

/* --- processes --- */

/* The words of the ssh command, at spaces; what is behind them is for the host. */
static void split(char *text, char *words[SSH_WORDS_MOST])
{
	size_t count = 0;

	for (char *rest = text, *word; count < SSH_WORDS_MOST - 3 && (word = strsep(&rest, " "));)
		if (*word)
			words[count++] = word;
	words[count] = NULL;
}

static const char *ssh_of(const struct cmd_options *options)
{
	const char *ssh = options->ssh ? options->ssh : getenv("WCPROF_SSH");

	return ssh && *ssh ? ssh : "ssh";
}

static void run_ssh(const struct remote *remote, const struct cmd_options *options,
		    const int ends[3])
{
	char *words[SSH_WORDS_MOST], *text = strdup(ssh_of(options));
	size_t count = 0;
	sigset_t none;

	if (!text)
		_exit(NOT_FOUND);
	split(text, words);
	while (words[count])
		count++;
	words[count++] = (char *)remote->host;
	words[count++] = (char *)remote->script;
	words[count] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++)
		dup2(ends[i], i);
	execvp(words[0], words);
	fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
	_exit(NOT_FOUND);
}

static bool start(struct remote *remote, const struct cmd_options *options)
{
	int pipes[3][2];

	remote->in = remote->out = remote->err = -1;
	for (int i = 0; i < 3; i++)
		if (pipe2(pipes[i], O_CLOEXEC) != 0) {
			cmd_fail("%s: %s", remote->host, strerror(errno));
			return false;
		}
	remote->pid = fork();
	if (remote->pid == 0)
		run_ssh(remote, options, (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] });
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	remote->in = pipes[0][1];
	remote->out = pipes[1][0];
	remote->err = pipes[2][0];
	if (remote->pid < 0)
		cmd_fail("%s: %s", remote->host, strerror(errno));
	return remote->pid > 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- what comes from there --- */

static void say_line(struct remote *remote)
{
	size_t bytes = remote->line_bytes;

	while (bytes > 0 && remote->line[bytes - 1] == '\r') /* as ssh's own lines end */
		bytes--;
	if (bytes > 0)
		cmd_fail("%s: %.*s", remote->host, (int)bytes, remote->line);
	remote->line_bytes = 0;
}

/* A line of its errors, as it is whole. */
static void take_errors(struct remote *remote, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n' || remote->line_bytes == sizeof(remote->line))
			say_line(remote);
		if (bytes[i] != '\n')
			remote->line[remote->line_bytes++] = bytes[i];
	}
}

/* Up to the line that says it is ready. How many bytes that took. */
static size_t skip_until_ready(struct remote *remote, const char *bytes, size_t count)
{
	static const char ready[] = REMOTE_READY "\n";
	size_t matched = remote->ready_bytes, i = 0;

	while (i < count && ready[matched]) {
		matched = bytes[i] == ready[matched] ? matched + 1 : bytes[i] == ready[0];
		i++;
	}
	remote->is_ready = !ready[matched];
	remote->ready_bytes = matched;
	return i;
}

static void stop(struct remote *remote, int status)
{
	remote->status = status;
	close_end(&remote->in);
	close_end(&remote->out);
}

static void take_dump(struct remote *remote, const char *bytes, size_t count)
{
	size_t skipped = remote->is_ready ? 0 : skip_until_ready(remote, bytes, count);
	int result;

	bytes += skipped;
	count -= skipped;
	if (count == 0)
		return;
	remote->has_begun = true;
	remote->bytes += count;
	result = output_write(remote->output, bytes, count);
	if (result == 0)
		return;
	stop(remote, cmd_fail("%s: %s", remote->file, strerror(-result)));
}

static void receive(struct remote *remote, int *fd)
{
	char bytes[BLOCK_BYTES];
	ssize_t count = read(*fd, bytes, sizeof(bytes));

	if (count < 0 && errno == EINTR)
		return;
	if (count <= 0)
		close_end(fd);
	else if (fd == &remote->out)
		take_dump(remote, bytes, (size_t)count);
	else
		take_errors(remote, bytes, (size_t)count);
}

/* --- all of them --- */

struct running {
	struct remote *remotes;
	size_t count;
	bool has_gone;
	bool is_stopped; /* by a signal */
	FILE *terminal;  /* NULL: nothing is shown */
	time_t wait_seconds;
	int64_t until_ms; /* 0: not even one is ready */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Nothing that it sends from now on is read. */
static void leave_out(struct running *running, struct remote *remote)
{
	stop(remote, cmd_fail("%s: left out: not there %ld s after another host", remote->host,
			      (long)running->wait_seconds));
	close_end(&remote->err);
	remote->is_late = true;
	kill(remote->pid, SIGKILL);
}

/* Once one host is ready, the others have so long. */
static void leave_late_ones_out(struct running *running)
{
	bool is_one_ready = false;

	for (size_t i = 0; i < running->count; i++)
		is_one_ready |= running->remotes[i].is_ready;
	if (!is_one_ready)
		return;
	if (!running->until_ms)
		running->until_ms = now_ms() + running->wait_seconds * INT64_C(1000);
	for (size_t i = 0; now_ms() >= running->until_ms && i < running->count; i++)
		if (!running->remotes[i].is_ready && running->remotes[i].out >= 0)
			leave_out(running, &running->remotes[i]);
}

/* How long to wait for news; -1: for ever. */
static int patience_ms(const struct running *running)
{
	int64_t left_ms = running->until_ms - now_ms();

	if (running->terminal)
		return SHOW_MS;
	if (running->has_gone || !running->until_ms)
		return -1;
	return left_ms < 0 ? 0 : (int)left_ms;
}

/* Once each is ready, or has ended. */
static void go(struct running *running)
{
	for (size_t i = 0; i < running->count; i++)
		if (!running->remotes[i].is_ready && running->remotes[i].out >= 0)
			return;
	running->has_gone = true;
	for (size_t i = 0; i < running->count; i++)
		if (running->remotes[i].is_ready && running->remotes[i].in >= 0)
			(void)!write(running->remotes[i].in, "go\n", 3);
}

static void show(const struct running *running)
{
	if (!running->terminal)
		return;
	fputs("\r\033[Kwcprof:", running->terminal);
	for (size_t i = 0; i < running->count; i++) {
		const struct remote *remote = &running->remotes[i];
		char size[32];

		cmd_format_bytes((double)remote->bytes, size, sizeof(size));
		fprintf(running->terminal, "%s %s %s", i ? "," : "", remote->host,
			remote->has_begun  ? size
			: remote->is_ready ? "waits"
					   : "is called");
	}
	fflush(running->terminal);
}

static void stop_all(struct running *running)
{
	running->is_stopped = true;
	for (size_t i = 0; i < running->count; i++) {
		close_end(&running->remotes[i].in);
		if (running->remotes[i].pid > 0 && running->remotes[i].out >= 0)
			kill(running->remotes[i].pid, SIGTERM);
	}
}

/* False: nobody has anything more to say. */
static bool take_turn(struct running *running, struct pollfd *polls, int signals)
{
	nfds_t count = 0;
	bool has_any = false;

	polls[count++] = (struct pollfd){ signals, POLLIN, 0 };
	for (size_t i = 0; i < running->count; i++) {
		polls[count++] = (struct pollfd){ running->remotes[i].out, POLLIN, 0 };
		polls[count++] = (struct pollfd){ running->remotes[i].err, POLLIN, 0 };
		has_any |= running->remotes[i].out >= 0 || running->remotes[i].err >= 0;
	}
	if (!has_any)
		return false;
	if (poll(polls, count, patience_ms(running)) < 0)
		return errno == EINTR;
	if (polls[0].revents && !running->is_stopped)
		stop_all(running);
	for (size_t i = 0; i < running->count; i++) {
		if (polls[2 * i + 1].revents)
			receive(&running->remotes[i], &running->remotes[i].out);
		if (polls[2 * i + 2].revents)
			receive(&running->remotes[i], &running->remotes[i].err);
	}
	if (!running->has_gone) {
		leave_late_ones_out(running);
		go(running);
	}
	show(running);
	return true;
}

/* The status that the command there ended with. */
static int status_of(struct remote *remote)
{
	int status = 0;

	close_end(&remote->in);
	while (remote->pid > 0 && waitpid(remote->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (remote->status != 0 || remote->pid <= 0)
		return remote->status ? remote->status : CMD_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The file stays if all has come; the status. */
static int settle(struct remote *remote, bool is_stopped, const struct cmd_options *options)
{
	int error;

	remote->status = status_of(remote);
	say_line(remote);
	if (remote->status == 0 && !remote->has_begun)
		remote->status = CMD_FAILED;
	if (remote->has_begun && remote->status == 0)
		remote->status = output_write(remote->output, NULL, 0) == 0 ? 0 : CMD_FAILED;
	(void)output_settle(remote->output, remote->status == 0 ? 0 : -EPIPE);
	remote->bytes = output_bytes(remote->output);
	error = output_close(remote->output);
	if (error != 0 && remote->status == 0)
		remote->status = cmd_fail("%s: %s", remote->file, output_why(error));
	if (remote->status == 0)
		return 0;
	if (strcmp(remote->file, "-") != 0)
		(void)unlink(remote->file);
	if (!is_stopped && !remote->is_late)
		cmd_fail("%s: no dump came from there (status %d)%s", remote->host, remote->status,
			 remote->status == NOT_FOUND && !options->remote_path
				 ? "; --remote-path says where its wcprof is"
				 : "");
	return remote->status;
}

static bool open_files(struct remote *remotes, size_t count)
{
	int error;

	for (size_t i = 0; i < count; i++) {
		remotes[i].output = output_open(remotes[i].file, &error);
		if (remotes[i].output) {
			output_begin(remotes[i].output);
			continue;
		}
		cmd_fail("%s: %s", remotes[i].file, output_why(error));
		while (i-- > 0) {
			output_abandon(remotes[i].output);
			(void)output_close(remotes[i].output);
			(void)unlink(remotes[i].file);
		}
		return false;
	}
	return true;
}

static int signals_take(sigset_t *before_us)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, before_us);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

int remote_run(struct remote *remotes, size_t count, const struct cmd_options *options)
{
	struct running running = { .remotes = remotes,
				   .count = count,
				   .wait_seconds =
					   window_seconds(options->wait, USUAL_WAIT_SECONDS) };
	struct pollfd *polls = calloc(2 * count + 1, sizeof(*polls));
	sigset_t before_us;
	int status = CMD_DONE, signals;

	if (running.wait_seconds < 0 || !polls || !open_files(remotes, count)) {
		free(polls);
		return running.wait_seconds < 0 ? CMD_USAGE : CMD_FAILED;
	}
	signals = signals_take(&before_us);
	if (!options->quiet && isatty(STDERR_FILENO))
		running.terminal = stderr;
	for (size_t i = 0; i < count; i++)
		if (!start(&remotes[i], options))
			stop(&remotes[i], CMD_FAILED);
	while (take_turn(&running, polls, signals))
		continue;
	if (running.terminal)
		fputs("\r\033[K", running.terminal);
	for (size_t i = 0; i < count; i++) {
		int one = settle(&remotes[i], running.is_stopped, options);

		status = one == 0 || count > 1 ? status : one;
		status = one != 0 && count > 1 ? CMD_FAILED : status;
	}
	close(signals);
	free(polls);
	sigprocmask(SIG_SETMASK, &before_us, NULL);
	return running.is_stopped ? cmd_fail("interrupted: the hosts' commands have been ended")
				  : status;
}

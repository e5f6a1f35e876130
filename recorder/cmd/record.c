/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of a program that is recorded; record.h has the contract.
 *
 * Our signals are blocked and taken one by one between other
 * work. Those that the terminal sends go to the program anyway, others are passed on. If we die
 * the program goes on, and what it recorded stays in its arenas.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "executable.h"
#include "filter.h"
#include "follow.h"
#include "options.h"
#include "output.h"

enum { TICK_NS = 20000000, PROGRESS_TICKS = 10, IDLE_TICKS = 50, PATH_BYTES = 4096 };

static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM };

struct session {
	const struct cmd_options *options;
	struct record_run *run;
	uint64_t begun_ns;
	pid_t program;
	bool has_ended;
	bool is_interrupted; /* a signal came after the program had ended: leave the rest alone */
	bool leaves_some;    /* processes that go on, and listen in the directory */
	int status;          /* of the program, as a shell gives it */
	int go;              /* the program starts when something is written here */
	int started;         /* says 0, or the errno of exec */
	const struct passwd *user; /* the program's, NULL = ours */
	sigset_t signals;
	sigset_t signals_before;
	char directory[64];
	uint64_t number; /* only processes of the session know it */
	struct output *output;
	struct follow *follow;
	bool shows_progress;
};

/* --- Signals ---------------------------------------------------------------------------------- */

static void block_signals(struct session *session)
{
	sigemptyset(&session->signals);
	sigaddset(&session->signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&session->signals, passed_on[i]);
	sigprocmask(SIG_BLOCK, &session->signals, &session->signals_before);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void reap(struct session *session)
{
	int status;

	if (session->has_ended || waitpid(session->program, &status, WNOHANG) != session->program)
		return;
	session->has_ended = true;
	session->run->wall_ns = now_ns() - session->begun_ns;
	session->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void take_signal(struct session *session, const siginfo_t *info)
{
	if (info->si_signo == SIGCHLD)
		return;
	if (info->si_signo == SIGINT || info->si_signo == SIGTERM || info->si_signo == SIGHUP)
		session->run->is_interrupted = true;
	if (session->has_ended)
		session->is_interrupted = true;
	else if (info->si_code != SI_KERNEL)
		kill(session->program, info->si_signo);
}

/* Waits so long for a signal, then takes all that there are. */
static void take_signals(struct session *session, long wait_ns)
{
	struct timespec wait = { 0, wait_ns };
	const struct timespec none = { 0, 0 };
	siginfo_t info;

	for (int found = sigtimedwait(&session->signals, &info, &wait); found > 0;
	     found = sigtimedwait(&session->signals, &info, &none)) {
		reap(session);
		take_signal(session, &info);
	}
	reap(session);
}

static void between(void *session)
{
	take_signals(session, 0);
}

/* --- The program ------------------------------------------------------------------------------ */

/* In front of what is preloaded anyway. Spaces and colons would divide the list: then by
 * another name. */
static void set_preload(const struct session *session, const char *library)
{
	char link[128];
	const char *before = getenv("LD_PRELOAD");
	char *list = NULL;

	snprintf(link, sizeof(link), "%s/libwcprof.so", session->directory);
	if (strpbrk(library, " :") && symlink(library, link) == 0)
		library = link;
	if (asprintf(&list, "%s%s%s", library, before && *before ? ":" : "",
		     before ? before : "") >= 0)
		setenv("LD_PRELOAD", list, 1);
	free(list);
}

/* As many events as a quarter of the memory that is free can hold: who drains may fall behind
 * for a while. */
static void set_room(void)
{
	char number[32];
	uint64_t events;
	struct rlimit limit;
	struct statvfs info;

	/* A program whose memory is limited gets what it would get without us. */
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ||
	    getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ||
	    statvfs(ARENA_DIRECTORY, &info) != 0)
		return;
	events = (uint64_t)info.f_bavail * info.f_frsize / 4 / sizeof(struct record) + 1;
	if (events > option_entries[OPTION_max_events].most)
		events = option_entries[OPTION_max_events].most;
	snprintf(number, sizeof(number), "%" PRIu64, events);
	setenv("WCPROF_MAX_EVENTS", number, 0);
}

/* Of --sample-when, as without samples it asks for nothing. */
#define SAMPLE_HZ_USUAL "99"

static void set_environment(const struct session *session, const char *library)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu64, session->number);
	set_preload(session, library);
	set_room();
	setenv("WCPROF_ENABLE", "1", 1);
	setenv("WCPROF_KEEP", number, 1);
	setenv("WCPROF_DIR", session->directory, 1);
	unsetenv("WCPROF_SOCKET");
	unsetenv("WCPROF_OUTPUT");
	unsetenv("WCPROF_CONTROL");
	if (session->run->slow)
		setenv("WCPROF_SLOW", session->run->slow, 1);
	if (session->options->when) {
		setenv("WCPROF_SAMPLE_WHEN", session->options->when, 1);
		setenv("WCPROF_SAMPLE_HZ", SAMPLE_HZ_USUAL, 0);
	}
}

/* The program has the groups and the variables that a login would give it. */
static bool become_user(const struct passwd *user)
{
	if (setgid(user->pw_gid) != 0 || initgroups(user->pw_name, user->pw_gid) != 0 ||
	    setuid(user->pw_uid) != 0)
		return false;
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	unsetenv("XDG_RUNTIME_DIR");
	return true;
}

/* In the child: waits until the file is open, then becomes the program. Never returns. */
static void become_program(struct session *session, char **argv, int go, int started)
{
	char word;
	int error;

	sigprocmask(SIG_SETMASK, &session->signals_before, NULL);
	if (read(go, &word, 1) != 1)
		_exit(CMD_RECORD_FAILED);
	if (session->run->output_fd >= 0)
		dup2(session->run->output_fd, STDOUT_FILENO);
	if (!session->user || become_user(session->user))
		execvp(argv[0], argv);
	error = errno;
	(void)!write(started, &error, sizeof(error));
	_exit(CMD_CANNOT_RUN);
}

static bool fork_program(struct session *session, const char *library)
{
	int go[2], started[2];

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(started, O_CLOEXEC) != 0)
		return false;
	session->program = fork();
	if (session->program == 0) {
		close(go[1]);
		close(started[0]);
		set_environment(session, library);
		become_program(session, session->options->arguments, go[0], started[1]);
	}
	close(go[0]);
	close(started[1]);
	session->go = go[1];
	session->started = started[0];
	return session->program > 0;
}

/* 0, or the errno of exec. */
static int start_program(struct session *session)
{
	int error = 0;

	session->begun_ns = now_ns();
	if (write(session->go, "", 1) != 1)
		return EPIPE;
	if (read(session->started, &error, sizeof(error)) != (ssize_t)sizeof(error))
		return 0;
	return error;
}

/* --- Progress --------------------------------------------------------------------------------- */

static void show_progress(const struct session *session)
{
	char size[32];

	if (!session->shows_progress)
		return;
	cmd_format_bytes((double)output_bytes(session->output), size, sizeof(size));
	fprintf(stderr,
		"\r\033[Kwcprof: %" PRIu64 " events, %s, %" PRIu64 " dropped, %zu process%s",
		output_events(session->output) + follow_pending(session->follow), size,
		output_lost_events(session->output), follow_living(session->follow),
		follow_living(session->follow) == 1 ? "" : "es");
}

static void clear_progress(const struct session *session)
{
	if (session->shows_progress)
		fputs("\r\033[K", stderr);
}

/* --- The whole -------------------------------------------------------------------------------- */

static void report_output_error(const struct session *session, const char *path, int error)
{
	clear_progress(session);
	cmd_fail("%s: %s; recording is off. The file is complete up to here; later events are in "
		 "memory (wcprof list, wcprof recover)",
		 path, strerror(-error));
}

/* Until the program and all that it started have ended; 0, or -errno of the file. */
static int follow_program(struct session *session, const char *path)
{
	int error = 0;
	int idle_ticks = 0;
	bool told = false;

	for (uint64_t tick = 0;; tick++) {
		bool was_over = session->has_ended;
		int result = follow_tick(session->follow);

		if (result != 0) {
			report_output_error(session, path, result);
			error = result;
		}
		/* A process that started just before the program ended has been seen by the tick
		 * after that, or is given time to come up. */
		if (was_over && follow_living(session->follow) == 0 &&
		    (++idle_ticks > IDLE_TICKS || follow_unknown(session->follow) == 0))
			break;
		if (session->is_interrupted || (error != 0 && session->has_ended))
			break;
		if (was_over && !told && follow_living(session->follow) > 0) {
			clear_progress(session);
			cmd_say(session->options,
				"the program has ended, %zu of its children still "
				"run and are recorded (Ctrl-C ends the recording only)",
				follow_living(session->follow));
			told = true;
		}
		if (tick % PROGRESS_TICKS == 0)
			show_progress(session);
		take_signals(session, TICK_NS);
	}
	if (error == 0)
		error = follow_leave(session->follow);
	return error;
}

/* The program had the filter of this command. */
static bool is_filtered(void)
{
	const char *chosen = getenv("WCPROF_SECCOMP");

	return filter_may_kill() && (!chosen || strcmp(chosen, "ignore") != 0);
}

static void say_result(const struct session *session, const char *path)
{
	char size[32];

	clear_progress(session);
	if (follow_count(session->follow) == 0 && is_filtered()) {
		cmd_fail("nothing was recorded: %s ran under a system-call filter (seccomp) that "
			 "may end it for what the recorder does (WCPROF_SECCOMP=ignore if it does "
			 "not)",
			 session->options->arguments[0]);
		return;
	}
	if (follow_count(session->follow) == 0) {
		cmd_fail("nothing was recorded: %s did not load libwcprof.so (statically linked, "
			 "set-user-ID, or it clears LD_PRELOAD), or began under a system-call "
			 "filter: wcprof check %s",
			 session->options->arguments[0], session->options->arguments[0]);
		return;
	}
	cmd_format_bytes((double)output_bytes(session->output), size, sizeof(size));
	cmd_say(session->options, "%" PRIu64 " events in %s (%s)", output_events(session->output),
		path, size);
	if (output_lost_events(session->output) > 0)
		cmd_say(session->options,
			"%" PRIu64 " more events were lost (wcprof-analyze tells why)",
			output_lost_events(session->output));
}

static void name_file(const struct session *session, char *path, size_t size)
{
	const char *program = session->options->arguments[0];
	const char *slash = strrchr(program, '/');

	snprintf(path, size, "wcprof.%.200s.%d.jsonl", slash ? slash + 1 : program,
		 (int)session->program);
}

static int run_session(struct session *session, const char *path)
{
	int error = start_program(session);

	if (error != 0) {
		cmd_fail("%s: %s", session->options->arguments[0], strerror(error));
		return error == ENOENT ? CMD_NOT_FOUND : CMD_CANNOT_RUN;
	}
	error = follow_program(session, path);
	if (error == 0)
		say_result(session, path);
	if (error != 0 && session->status == 0)
		return CMD_RECORD_FAILED;
	return session->has_ended ? session->status : CMD_DONE;
}

/* The file is opened when the program's pid is known, and before it runs. */
static int open_and_run(struct session *session)
{
	char path[300];
	const char *file = session->options->output;
	int error, status = CMD_RECORD_FAILED;

	if (!file) {
		name_file(session, path, sizeof(path));
		file = path;
	}
	session->output = output_open(file, &error);
	if (session->output && output_can_take_back(session->output)) {
		session->follow = follow_start(session->directory, session->number, session->output,
					       between, session);
		status = session->follow ? run_session(session, file) : CMD_RECORD_FAILED;
	} else if (session->output) {
		cmd_fail("%s is not a regular file, which record needs (wcprof dump can write "
			 "to a pipe)",
			 file);
	} else {
		cmd_fail("%s: %s", file, output_why(error));
	}
	if (session->follow) {
		/* Once more: who has ended meanwhile is no reason to keep the directory. */
		(void)follow_tick(session->follow);
		session->leaves_some = follow_living(session->follow) > 0;
		follow_free(session->follow);
	}
	/* A name of our own choice, and nothing to show for it. */
	if (session->output && output_bytes(session->output) == 0 && !session->options->output)
		unlink(file);
	error = session->output ? output_close(session->output) : 0;
	if (error != 0) {
		cmd_fail("%s: %s", file, output_why(error));
		status = status ? status : CMD_RECORD_FAILED;
	}
	return status;
}

/* Not 0, and a value of the option. */
static bool choose_number(struct session *session)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return false;
	session->number = number >> 1 | 1;
	return true;
}

int record_program(const struct cmd_options *options, struct record_run *run)
{
	struct session session = { .options = options,
				   .run = run,
				   .directory = "/tmp/wcprof-record.XXXXXX" };
	char library[PATH_BYTES];
	int status = CMD_RECORD_FAILED;

	if (options->user && !(session.user = getpwnam(options->user))) {
		cmd_fail("there is no user %s", options->user);
		return CMD_RECORD_FAILED;
	}
	if (session.user && session.user->pw_uid != geteuid() && geteuid() != 0) {
		cmd_fail("only root may run a program as another user");
		return CMD_CANNOT_RUN;
	}
	session.shows_progress = !options->quiet && isatty(STDERR_FILENO);
	if (!executable_library(library, sizeof(library))) {
		cmd_fail("libwcprof.so is neither in the directory of wcprof nor in ../lib/wcprof");
		return CMD_RECORD_FAILED;
	}
	if (!choose_number(&session) || !mkdtemp(session.directory)) {
		cmd_fail("%s: %s", session.directory, strerror(errno));
		return CMD_RECORD_FAILED;
	}
	block_signals(&session);
	if (fork_program(&session, library)) {
		/* A file that may grow no more, and a reader of our messages who went away,
		 * are errors only. */
		signal(SIGXFSZ, SIG_IGN);
		signal(SIGPIPE, SIG_IGN);
		status = open_and_run(&session);
		close(session.go);
		close(session.started);
	} else {
		cmd_fail("%s", strerror(errno));
	}
	if (!session.leaves_some)
		cmd_remove_directory(session.directory);
	return status;
}

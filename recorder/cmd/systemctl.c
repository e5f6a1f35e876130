/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services by the command systemctl. See systemctl.h.
 *
 * No state but the drop-in's file. One thread.
 */
#include "systemctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_COMMAND = 127 };

static const char *const types[] = { ".service", ".socket", ".scope",     ".timer", ".target",
				     ".mount",   ".slice",  ".automount", ".path" };

bool systemctl_name(struct systemctl_unit *unit, const char *name, bool is_user)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *dot = strrchr(name, '.');
	bool has_type = false;
	int length;

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		has_type |= strcmp(dot, types[i]) == 0;
	unit->is_user = is_user;
	length = snprintf(unit->name, sizeof(unit->name), "%s%s", name, has_type ? "" : types[0]);
	if (!*name || *name == '-' || strchr(name, '/') || (size_t)length >= sizeof(unit->name) ||
	    (is_user && (!runtime || !*runtime)))
		return false;
	length = snprintf(unit->drop_in, sizeof(unit->drop_in), "%s/systemd/%s/%s.d/wcprof.conf",
			  is_user ? runtime : "/run", is_user ? "user" : "system", unit->name);
	return (size_t)length < sizeof(unit->drop_in);
}

/* In the child: never returns. */
static void become_systemctl(const struct systemctl_unit *unit, const char *const words[],
			     int output)
{
	char *arguments[12];
	sigset_t none;
	int count = 0;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	arguments[count++] = strdup("systemctl");
	if (unit->is_user)
		arguments[count++] = strdup("--user");
	while (*words)
		arguments[count++] = strdup(*words++);
	arguments[count] = NULL;
	if (output >= 0)
		dup2(output, STDOUT_FILENO);
	execvp(arguments[0], arguments);
	_exit(NO_COMMAND);
}

/* Its exit status. With `to`: what it printed, up to the end of the line. */
static int run(const struct systemctl_unit *unit, const char *const words[], char *to, size_t size)
{
	int ends[2] = { -1, -1 }, status = -1;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	if (to && pipe2(ends, O_CLOEXEC) != 0)
		return NO_COMMAND;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_systemctl(unit, words, ends[1]);
	if (to) {
		close(ends[1]);
		while (used + 1 < size && (got = read(ends[0], to + used, size - 1 - used)) > 0)
			used += (size_t)got;
		to[used] = '\0';
		to[strcspn(to, "\n")] = '\0';
		close(ends[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return NO_COMMAND;
	return WEXITSTATUS(status);
}

int systemctl_run(const struct systemctl_unit *unit, const char *verb, bool with_unit)
{
	const char *const words[] = { verb, with_unit ? "--" : NULL, unit->name, NULL };

	return run(unit, words, NULL, 0);
}

bool systemctl_get(const struct systemctl_unit *unit, const char *property, char *to, size_t size)
{
	const char *const words[] = { "show", "--value", "-p", property, "--", unit->name, NULL };

	return run(unit, words, to, size) == 0;
}

/* --- The drop-in ------------------------------------------------------------------------------ */

/* All directories on the way that are not there. */
static void make_directories(const char *path)
{
	char part[sizeof(((struct systemctl_unit *)0)->drop_in)];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0755);
	}
}

/* LD_PRELOAD of "A=1 LD_PRELOAD=x B=2"; empty: none. */
static void find_preloaded(const char *environment, char *to, size_t size)
{
	static const char *const key = "LD_PRELOAD=";
	const char *at = strstr(environment, key);

	to[0] = '\0';
	if (!at || (at > environment && at[-1] != ' ' && at[-1] != '"'))
		return;
	at += strlen(key);
	snprintf(to, size, "%.*s", (int)strcspn(at, " \""), at);
}

static bool has(const struct systemctl_unit *unit, const char *property)
{
	char value[4096];

	/* systemd prints a list of nothing that is forbidden so. */
	return systemctl_get(unit, property, value, sizeof(value)) && value[0] &&
	       strcmp(value, "~") != 0;
}

/* Lists of a unit: a line adds to those that are there, and makes one where there is none. */
static void put_exceptions(FILE *stream, const struct systemctl_unit *unit, const char *library,
			   bool filtered)
{
	if (has(unit, "NoExecPaths"))
		fprintf(stream, "ExecPaths=%s\n", library);
	if (!filtered)
		return;
	fputs("Environment=\"WCPROF_SECCOMP=ignore\"\nSystemCallErrorNumber=EPERM\n", stream);
	if (has(unit, "RestrictAddressFamilies"))
		fputs("RestrictAddressFamilies=AF_UNIX\n", stream);
}

int systemctl_preload(const struct systemctl_unit *unit, const char *library, bool filtered)
{
	char environment[4096], preloaded[1024];
	FILE *stream;
	int fd;

	/* Neither the loader nor systemd would read them as they are. */
	if (strpbrk(library, " :%\"'\\$"))
		return -EINVAL;
	if (!systemctl_get(unit, "Environment", environment, sizeof(environment)))
		environment[0] = '\0';
	find_preloaded(environment, preloaded, sizeof(preloaded));
	make_directories(unit->drop_in);
	(void)unlink(unit->drop_in);
	fd = open(unit->drop_in, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!stream)
		return -errno;
	fprintf(stream,
		"# By wcprof service, which removes it.\n[Service]\n"
		"Environment=\"LD_PRELOAD=%s%s%s\"\n",
		library, preloaded[0] ? ":" : "", preloaded);
	put_exceptions(stream, unit, library, filtered);
	return fclose(stream) == 0 ? 0 : -errno;
}

void systemctl_restore(const struct systemctl_unit *unit)
{
	char directory[sizeof(unit->drop_in)];

	(void)unlink(unit->drop_in);
	snprintf(directory, sizeof(directory), "%s", unit->drop_in);
	*strrchr(directory, '/') = '\0';
	/* If nobody else has something there. */
	(void)rmdir(directory);
	(void)systemctl_run(unit, "daemon-reload", false);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: another user can give a profiled program orders, read what it recorded, or
 * make it write where it should not. Or the program is not what it is alone, because somebody
 * tried.
 *
 * A test that needs two users or a mount of its own is tried as root, as CI is, and skipped
 * elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "target.h"
#include "suite.h"

enum { STRANGER = 65534, OTHER_STRANGER = 65533, ANSWER_MAX = 8192 };

/* Of this test: its directory, which everybody may enter, and the library, where everybody may
 * read it. */
static char directory[64], library[128];

static const char *inside(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void setup(void)
{
	char command[4 * PATH_MAX];

	make_directory(directory);
	ck_assert_int_eq(chmod(directory, 0755), 0);
	strcpy(library, inside("libwcprof.so"));
	snprintf(command, sizeof(command), "install -m 644 %s %s", build_path("libwcprof.so"),
		 library);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* A program under the profiler, as this user; the variables say where its socket is to be. */
static pid_t start(uid_t user, const char *variable, const char *value)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (user != getuid() && (setgid(user) != 0 || setuid(user) != 0))
		_exit(126);
	unsetenv("XDG_RUNTIME_DIR");
	setenv("WCPROF_ENABLE", "1", 1);
	setenv("LD_PRELOAD", library, 1);
	setenv(variable, value, 1);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* Whether a thread is in a call that waits. */
static bool is_waiting(pid_t pid, const char *thread)
{
	char path[320];
	long call = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/syscall", pid, thread);
	file = fopen(path, "r");
	if (file && fscanf(file, "%ld", &call) != 1)
		call = -1; /* it runs */
	if (file)
		fclose(file);
	return call == SYS_clock_nanosleep || call == SYS_poll || call == SYS_ppoll;
}

/* It sleeps itself, and its control thread, if it has one, has done what it does at its start. */
static void wait_until_all_wait(pid_t pid)
{
	uint32_t waiting = 0, threads = 1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	while (waiting < threads) {
		DIR *tasks = opendir(path);

		ck_assert_ptr_nonnull(tasks);
		waiting = threads = 0;
		for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks)) {
			threads += entry->d_name[0] != '.';
			waiting += entry->d_name[0] != '.' && is_waiting(pid, entry->d_name);
		}
		closedir(tasks);
	}
}

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", status);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* As soon as there is one. */
static int connect_when_there(const char *path)
{
	int fd = connect_to(path);

	while (fd == -ENOENT || fd == -ECONNREFUSED) {
		usleep(1000);
		fd = connect_to(path);
	}
	return fd;
}

static const char *answer_to(int fd, const char *line)
{
	static char answer[ANSWER_MAX];
	ssize_t size;

	(void)!send(fd, line, strlen(line), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	size = recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL);
	answer[size > 0 ? size : 0] = 0;
	close(fd);
	return answer;
}

/* A stranger who connects gets an error, or an answer that begins like this. */
static int ask_as(uid_t user, const char *path, const char *line, const char *expected)
{
	pid_t pid = fork();
	int status, fd;

	if (pid == 0) {
		if (setgid(user) != 0 || setuid(user) != 0)
			_exit(255);
		fd = connect_to(path);
		if (fd < 0)
			_exit(-fd);
		_exit(strncmp(answer_to(fd, line), expected, strlen(expected)) == 0 ? 0 : 254);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static mode_t mode_of(const char *path)
{
	struct stat stat;

	ck_assert_msg(lstat(path, &stat) == 0, "%s is not there", path);
	return stat.st_mode & 07777;
}

/* By the modes of directory and socket first; where somebody opened them up, by who it is. */
START_TEST(test_strangers_are_turned_away)
{
	char path[128];
	pid_t pid;

	if (getuid() != 0)
		return;
	strcpy(path, inside("d"));
	pid = start(0, "WCPROF_DIR", path);
	snprintf(path, sizeof(path), "%s/d/%d.sock", directory, pid);
	ck_assert_ptr_nonnull(strstr(answer_to(connect_when_there(path), "PING\n"), "OK "));
	ck_assert_uint_eq(mode_of(inside("d")), 0700);
	ck_assert_uint_eq(mode_of(path), 0600);
	ck_assert_int_eq(ask_as(STRANGER, path, "DUMP\n", ""), EACCES);
	chmod(inside("d"), 0755);
	ck_assert_int_eq(ask_as(STRANGER, path, "DUMP\n", ""), EACCES);
	chmod(path, 0666);
	ck_assert_int_eq(ask_as(STRANGER, path, "DUMP\n", "ERR denied "), 0);
	ck_assert_int_eq(ask_as(STRANGER, path, "DISABLE\n", "ERR denied "), 0);
	ck_assert_ptr_nonnull(
		strstr(answer_to(connect_to(path), "STATUS\n"), "\"recording\":\"on\""));
	stop(pid);
}
END_TEST

START_TEST(test_root_may_ask_anybody)
{
	char path[128];
	pid_t pid;

	if (getuid() != 0)
		return;
	mkdir(inside("d"), 0700);
	ck_assert_int_eq(chown(inside("d"), STRANGER, STRANGER), 0);
	pid = start(STRANGER, "WCPROF_DIR", inside("d"));
	snprintf(path, sizeof(path), "%s/d/%d.sock", directory, pid);
	ck_assert_ptr_nonnull(strstr(answer_to(connect_when_there(path), "PING\n"), "OK "));
	ck_assert_int_eq(ask_as(STRANGER, path, "PING\n", "OK "), 0);
	stop(pid);
}
END_TEST

/* Traps that somebody may have put where the directory should be. %s is the test's own directory.
 * */
static const struct {
	const char *prepare;
	bool needs_root;
} traps[] = {
	/* 0 */ { "mkdir -m 700 %1$s/t; ln -s t %1$s/d", false },
	/* 1 */ { "ln -s missing %1$s/d", false },
	/* 2 */ { "touch %1$s/d", false },
	/* 3 */ { "mkfifo %1$s/d", false },
	/* 4 */ { "mkdir -m 777 %1$s/d", false },
	/* 5 */ { "mkdir -m 710 %1$s/d", false },
	/* 6 */ { "mkdir -m 700 %1$s/d; chown 65534 %1$s/d", true },
	/* 7 */ { "mkdir -m 1777 %1$s/d", false },
};

/* The program runs as if nothing were; nothing is made in there, and one line says why. */
START_TEST(test_a_trap_for_a_directory)
{
	char command[1024], prepare[512];

	if (traps[_i].needs_root && getuid() != 0)
		return;
	snprintf(prepare, sizeof(prepare), traps[_i].prepare, directory);
	ck_assert_msg(system(prepare) == 0, "%s", prepare);
	snprintf(command, sizeof(command),
		 "cd %1$s && { WCPROF_DIR=%1$s/d LD_PRELOAD=%2$s sleep 1000 2>said & } && "
		 "until grep -qs '^wcprof: .*no control socket' said; do sleep 0.01; done && "
		 "kill $! && "
		 "test -z \"$(find . -name '*.sock')\" && test ! -e missing",
		 directory, library);
	ck_assert_msg(system(command) == 0, "%s, after %s", command, prepare);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

/* Somebody listens where we would: he stays, is told nothing, and the program goes on. */
START_TEST(test_a_foreign_socket_stays)
{
	char path[128];
	struct stat before, after;
	pid_t pid;
	int fd;

	strcpy(path, inside("s"));
	fd = listen_at(path);
	ck_assert_int_eq(lstat(path, &before), 0);
	pid = start(getuid(), "WCPROF_SOCKET", path);
	/* It has looked, when its connection is there: it asks whether anybody listens. */
	close(accept(fd, NULL, NULL));
	wait_until_all_wait(pid);
	ck_assert_int_eq(lstat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	stop(pid);
	ck_assert_int_eq(lstat(path, &after), 0);
	close(fd);
}
END_TEST

/* The name of a dead one that is somebody else's, in a directory like /tmp. */
START_TEST(test_a_strangers_dead_socket_stays)
{
	char path[128];
	struct stat before, after;
	pid_t pid;

	if (getuid() != 0)
		return;
	mkdir(inside("tmp"), 0700);
	chmod(inside("tmp"), 01777);
	strcpy(path, inside("tmp/s"));
	close(listen_at(path));
	chmod(path, 0666);
	ck_assert_int_eq(chown(path, STRANGER, STRANGER), 0);
	ck_assert_int_eq(lstat(path, &before), 0);
	pid = start(OTHER_STRANGER, "WCPROF_SOCKET", path);
	wait_until_all_wait(pid);
	ck_assert_int_eq(lstat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_uint_eq(after.st_uid, STRANGER);
	stop(pid);
}
END_TEST

/*
 * A set-user-id program that is linked with the library (by LD_PRELOAD it does not get it). It
 * does not believe what its caller says in the environment.
 */
START_TEST(test_set_user_id_programs_believe_nothing)
{
	char command[2048];

	if (getuid() != 0)
		return;
	snprintf(command, sizeof(command),
		 "cd %s && printf '#include <sys/auxv.h>\\n#include <unistd.h>\\n"
		 "int main(void) { usleep(1); return getauxval(AT_SECURE) ? 7 : 8; }' >p.c && "
		 "cc -o p p.c %s -Wl,--no-as-needed,-rpath,%s && mkdir -m 777 out && "
		 "export WCPROF_ENABLE=1 WCPROF_OUTPUT=%s/out/o WCPROF_DIR=%s/out/d && "
		 "{ ./p; test $? = 8; } && test -s out/o && rm -r out/* && chmod 4755 p && "
		 "{ setpriv --reuid 65534 --clear-groups ./p; s=$?; } && "
		 /* 8: mounted nosuid, so that it cannot be tried. */
		 "test $s = 8 -o $s = 7 -a -z \"$(ls out)\"",
		 directory, library, directory, directory, directory);
	ck_assert_msg(system(command) == 0, "%s", command);
}
END_TEST

/* As in a container: another /tmp. It is reached through the process's own root. */
START_TEST(test_another_tmp)
{
	char path[128];
	pid_t pid;
	int status;

	if (getuid() != 0)
		return;
	pid = fork();
	if (pid == 0) {
		char kept[64];
		int fd = open(library, O_RDONLY);

		if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
		    mount("none", "/tmp", "tmpfs", 0, "") != 0)
			_exit(77);
		snprintf(kept, sizeof(kept), "/proc/self/fd/%d", fd);
		unsetenv("XDG_RUNTIME_DIR");
		unsetenv("WCPROF_DIR");
		setenv("LD_PRELOAD", kept, 1);
		execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/wcprof-0/%d.sock", pid, pid);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		int fd = connect_to(path);

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		ck_assert_ptr_nonnull(strstr(answer_to(fd, "PING\n"), "OK "));
		stop(pid);
		return;
	}
	/* No mounts to be had here. */
	ck_assert_int_eq(WEXITSTATUS(status), 77);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(test_strangers_are_turned_away);
	TEST(test_root_may_ask_anybody);
	EACH(test_a_trap_for_a_directory, traps);
	TEST(test_a_foreign_socket_stays);
	TEST(test_a_strangers_dead_socket_stays);
	TEST(test_set_user_id_programs_believe_nothing);
	TEST(test_another_tmp);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a program closes what it does not know, limits or confines itself, changes its
 * user, moves elsewhere or ends by its last thread. It finds nothing of ours, and ten writes are
 * recorded. Where it may not do something, it goes on without.
 */
#include "scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

enum { WRITES = 10, MANY_WRITES = 50000, NOBODY = 65534 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int null_fd;

/* Whoever is beside the program has done what it begins with: there is its socket. */
static void settle(void)
{
	char name[200];
	snprintf(name, sizeof(name), "%s/%d.sock", getenv("WCPROF_DIR"), getpid());
	while (getenv("LD_PRELOAD") && access(name, F_OK) != 0)
		sched_yield();
}

static void write_ten(int fd)
{
	int written = 0;
	for (int i = 0; i < WRITES; i++) {
		pthread_mutex_lock(&lock);
		written += write(fd, "x", 1) == 1;
		pthread_mutex_unlock(&lock);
	}
	printf("written: %d\n", written);
}

/* --- Descriptors --- */

static int is_null(int fd)
{
	struct stat status;
	return fstat(fd, &status) == 0 && status.st_rdev == makedev(1, 3);
}

/* As daemons do; and whatever is found open, and is not ours, is counted. */
static void closes(void)
{
	int closed = 0, nulls = 0;
	int fd = open("/dev/null", O_WRONLY);
	write_ten(fd);
	for (int i = 3; i < 1024; i++)
		closed += close(i) == 0;
	printf("closed: %d\n", closed);
	say_errno("close_range", close_range(3, ~0U, 0));
	closefrom(3);
	fd = open("/dev/null", O_WRONLY);
	printf("lowest: %d\n", fd);
	for (int i = 4; i < 200; i++)
		nulls += dup2(fd, i) == i;
	write_ten(199);
	for (int i = 4; i < 200; i++)
		nulls += is_null(i);
	printf("nulls: %d\n", nulls);
}

/* --- Limits: they are in force before the library is loaded into the next image --- */

static void run_again(const char *scenario)
{
	fflush(stdout);
	execl("/proc/self/exe", "hazards", scenario, (char *)NULL);
	say_errno("execl", -1);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit limits;
	getrlimit(resource, &limits);
	limits.rlim_cur = most;
	say_errno("setrlimit", setrlimit(resource, &limits));
}

static void few_descriptors(void)
{
	closefrom(3);
	limit(RLIMIT_NOFILE, 4);
	run_again("with few descriptors");
}

static void with_few_descriptors(void)
{
	null_fd = open("/dev/null", O_WRONLY);
	printf("the last one: %d\n", null_fd);
	say_errno("one more", open("/dev/null", O_WRONLY));
	write_ten(null_fd);
	close(null_fd);
}

static volatile int beyond;

static void count_beyond(int number)
{
	(void)number;
	beyond++;
}

/* Its own signal comes, once, while more is recorded than there was room for. */
static void small_files(void)
{
	struct rlimit limits;
	char name[] = "/tmp/wcprof-hazard-XXXXXX";
	int written = 0;
	int fd = mkstemp(name);
	unlink(name);
	null_fd = open("/dev/null", O_WRONLY);
	limit(RLIMIT_FSIZE, 0);
	signal(SIGXFSZ, count_beyond);
	say_errno("beyond the limit", write(fd, "x", 1));
	printf("signals: %d\n", beyond);
	signal(SIGXFSZ, SIG_DFL);
	for (int k = 0; k < MANY_WRITES; k++)
		written += write(null_fd, "x", 1) == 1;
	printf("written: %d\n", written);
	getrlimit(RLIMIT_FSIZE, &limits);
	limit(RLIMIT_FSIZE, limits.rlim_max);
}

/* --- Other roots, name spaces, users --- */

static void child_writes(void)
{
	int status = -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO); /* its recording may be out of reach, which is said there */
		pthread_mutex_lock(&lock);
		(void)!write(null_fd, "x", 1);
		pthread_mutex_unlock(&lock);
		exit(3);
	}
	waitpid(pid, &status, 0);
	printf("child: %x\n", status);
}

static void other_root(void)
{
	char name[] = "/tmp/wcprof-hazard-XXXXXX";
	settle();
	null_fd = open("/dev/null", O_WRONLY);
	(void)!mkdtemp(name);
	int old_root = open("/", O_PATH | O_DIRECTORY);
	say_errno("chroot", chroot(name));
	say_errno("chdir", chdir("/"));
	child_writes();
	write_ten(null_fd);
	/* Back, by what was kept of the old one. */
	say_errno("fchdir", fchdir(old_root));
	say_errno("and back", chroot("."));
	rmdir(name);
}

static void say_unshare(const char *what, int flags)
{
	say_errno(what, unshare(flags));
}

/* The last one asks that the process has one thread. */
static void name_spaces(void)
{
	settle();
	null_fd = open("/dev/null", O_WRONLY);
	int mounts = open("/proc/self/ns/mnt", O_RDONLY);
	int host = open("/proc/self/ns/uts", O_RDONLY);
	say_unshare("files", CLONE_FILES);
	say_unshare("directories", CLONE_FS);
	say_unshare("network", CLONE_NEWNET);
	say_unshare("host name", CLONE_NEWUTS);
	say_errno("back", setns(host, CLONE_NEWUTS));
	say_unshare("mounts", CLONE_NEWNS);
	say_errno("back", setns(mounts, CLONE_NEWNS));
	say_unshare("pids", CLONE_NEWPID);
	child_writes();
	write_ten(null_fd);
}

static void users(void)
{
	null_fd = open("/dev/null", O_WRONLY);
	write_ten(null_fd);
	say_unshare("users", CLONE_NEWUSER);
	say_unshare("and signals", CLONE_SIGHAND);
	say_unshare("and memory", CLONE_VM);
	say_unshare("nonsense", 1);
	child_writes();
}

static void *idle(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

/* A process of two threads may not, and hears so. */
static void users_of_two(void)
{
	pthread_t other;
	null_fd = open("/dev/null", O_WRONLY);
	pthread_mutex_lock(&lock);
	pthread_create(&other, NULL, idle, NULL);
	say_unshare("users", CLONE_NEWUSER);
	pthread_mutex_unlock(&lock);
	pthread_join(other, NULL);
	write_ten(null_fd);
}

/* Threads of the process that are somebody else still. */
static int tasks_of_others(uid_t user)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int others = 0;
	while ((task = readdir(tasks))) {
		char name[300], line[200];
		unsigned real = user;
		snprintf(name, sizeof(name), "/proc/self/task/%s/status", task->d_name);
		FILE *file = task->d_name[0] == '.' ? NULL : fopen(name, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "Uid: %u", &real) == 1)
				others += real != user;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return others;
}

static void other_user(void)
{
	settle();
	null_fd = open("/dev/null", O_WRONLY);
	if (geteuid() == 0 && getenv("WCPROF_ENABLE"))
		chmod(getenv("WCPROF_DIR"), 0777);
	say_errno("setgid", setgid(NOBODY));
	int result = setuid(NOBODY);
	say_errno("setuid", result);
	printf("others: %d\n", tasks_of_others(getuid()));
	write_ten(null_fd);
}

/* --- Confinement --- */

#define REFUSE(number, error)                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static long confine(struct sock_filter *filter, size_t count, unsigned flags)
{
	struct sock_fprog program = { (unsigned short)count, filter };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* All threads of the process, those that the program does not know too: else the sandbox has a
 * hole. */
static int tasks_without_filter(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int without = 0;
	while ((task = readdir(tasks))) {
		char name[300], line[200];
		int mode = 2;
		snprintf(name, sizeof(name), "/proc/self/task/%s/status", task->d_name);
		FILE *file = task->d_name[0] == '.' ? NULL : fopen(name, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "Seccomp: %d", &mode) == 1)
				without += mode != 2;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return without;
}

static void confined(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_getppid, EXDEV),
		REFUSE(SYS_socket, EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	settle();
	null_fd = open("/dev/null", O_WRONLY);
	say_errno("seccomp",
		  confine(filter, sizeof(filter) / sizeof(filter[0]), SECCOMP_FILTER_FLAG_TSYNC));
	printf("without: %d\n", tasks_without_filter());
	say_errno("getppid", syscall(SYS_getppid));
	child_writes();
	write_ten(null_fd);
}

/* --- Children that libc makes --- */

static void daemons(void)
{
	fflush(stdout);
	null_fd = open("/dev/null", O_WRONLY);
	say_errno("daemon", daemon(1, 1));
	printf("session: %d\n", getsid(0) == getpid() || getsid(0) != getpgid(0));
	write_ten(null_fd);
}

static void terminals(void)
{
	int controller = -1, terminal = -1, status = -1;
	char said[100] = "";
	fflush(stdout);
	pid_t pid = forkpty(&controller, NULL, NULL, NULL);
	if (pid == 0) {
		(void)!write(STDOUT_FILENO, "hello", 5);
		_exit(isatty(STDIN_FILENO) ? 7 : 8);
	}
	printf("said: %ld\n", (long)read(controller, said, sizeof(said)));
	waitpid(pid, &status, 0);
	printf("%s %x\n", said, status);
	say_errno("openpty", openpty(&controller, &terminal, NULL, NULL, NULL));
	(void)!write(terminal, "again", 5);
	printf("said: %ld\n", (long)read(controller, said, sizeof(said)));
}

static int clone_routine(void *argument)
{
	int fd = *(int *)argument;
	return write(fd, "x", 1) == 1 ? 5 : 6;
}

/* With memory of its own, and with its parent's while that waits. */
static void clones(void)
{
	static char stack[2][1 << 16];
	int status = -1;
	null_fd = open("/dev/null", O_WRONLY);
	fflush(stdout);
	pid_t pid = clone(clone_routine, stack[0] + sizeof(stack[0]), SIGCHLD, &null_fd);
	waitpid(pid, &status, 0);
	printf("clone: %x\n", status);
	pid = clone(clone_routine, stack[1] + sizeof(stack[1]), CLONE_VM | CLONE_VFORK | SIGCHLD,
		    &null_fd);
	waitpid(pid, &status, 0);
	printf("with our memory: %x\n", status);
	write_ten(null_fd);
}

static void bare_forks(void)
{
	null_fd = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 20; i++) {
		int status = -1;
		fflush(stdout);
		pid_t pid = _Fork();
		if (pid == 0) {
			(void)!write(null_fd, "x", 1);
			_exit(i);
		}
		waitpid(pid, &status, 0);
		printf("_Fork: %x\n", status);
	}
}

/* --- Code without tables of how to unwind it --- */

enum { HELLOS = 200 };
static const char hello[] = "HELLO";
static int pair[2];

static void say_hello(void)
{
	(void)!write(pair[0], hello, sizeof(hello));
}

/* Whoever goes up the stack here must guess. The guess must not read or write what the program
 * sends itself through the lowest descriptors. */
static void without_tables(void)
{
	static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
					      0xff, 0xd7,             /* call *%rdi */
					      0x48, 0x83, 0xc4, 0x08, /* add $8, %rsp */
					      0xc3 };                 /* ret */
	char heard[sizeof(hello)];
	void (*call)(void (*)(void));
	int right = 0;
	void *page = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	memcpy(page, code, sizeof(code));
	mprotect(page, sizeof(code), PROT_READ | PROT_EXEC);
	memcpy(&call, &page, sizeof(call));
	settle();
	null_fd = open("/dev/null", O_WRONLY);
	write_ten(null_fd);
	close_range(3, ~0U, 0);
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	printf("lowest: %d %d\n", pair[0], pair[1]);
	for (int i = 0; i < HELLOS; i++) {
		call(say_hello);
		right += read(pair[1], heard, sizeof(heard)) == sizeof(hello) &&
			 memcmp(heard, hello, sizeof(hello)) == 0;
	}
	printf("right: %d\n", right);
	say_errno("nothing more", recv(pair[1], heard, sizeof(heard), MSG_DONTWAIT));
	say_errno("nor there", recv(pair[0], heard, sizeof(heard), MSG_DONTWAIT));
}

/* --- The end --- */

static void *end_last(void *unused)
{
	null_fd = open("/dev/null", O_WRONLY);
	write_ten(null_fd);
	return unused;
}

/* Nobody calls exit(): the process ends with its last thread. */
static void last_thread(void)
{
	pthread_t other;
	pthread_create(&other, NULL, end_last, NULL);
	pthread_exit(NULL);
}

static const struct scenario scenarios[] = {
	{ "closes", closes },
	{ "few descriptors", few_descriptors },
	{ "with few descriptors", with_few_descriptors },
	{ "small files", small_files },
	{ "other root", other_root },
	{ "name spaces", name_spaces },
	{ "users", users },
	{ "users of two", users_of_two },
	{ "other user", other_user },
	{ "confined", confined },
	{ "daemons", daemons },
	{ "terminals", terminals },
	{ "clones", clones },
	{ "bare forks", bare_forks },
	{ "without tables", without_tables },
	{ "last thread", last_thread },
};

SCENARIOS_MAIN

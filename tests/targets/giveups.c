/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: what a single-threaded program gives up, no thread of its process has, whenever
 * it looks.
 */
#include "scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOBODY = 65534, REQUESTS = 1000, TEXT_BYTES = 4096 };

/* --- What threads have --- */

static const char *const status_lines[] = { "Uid:",        "Gid:",    "Groups:",
					    "NoNewPrivs:", "CapInh:", "CapPrm:",
					    "CapEff:",     "CapBnd:", "CapAmb:" };
static const char *const links[] = { "root",   "ns/mnt",    "ns/net", "ns/uts",
				     "ns/ipc", "ns/cgroup", "ns/user" };

static size_t append(char *text, size_t used, const char *from, size_t bytes)
{
	if (used + bytes + 2 > TEXT_BYTES)
		return used;
	memcpy(text + used, from, bytes);
	memcpy(text + used + bytes, "\n", 2);
	return used + bytes + 1;
}

static size_t read_link(const char *tid, const char *name, char *line, size_t room)
{
	char path[300];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, name);
	bytes = readlink(path, line, room);
	return bytes > 0 ? (size_t)bytes : 0;
}

/* Where it is: a thread of its own may also be at the root, which it sees anyway. */
static void describe_place(const char *tid, char *line, size_t room)
{
	char root[512];
	size_t bytes = read_link(tid, "cwd", line, room - 1);

	line[bytes] = '\0';
	bytes = read_link(tid, "root", root, sizeof(root) - 1);
	root[bytes] = '\0';
	if (strcmp(line, root) == 0)
		line[0] = '\0';
}

/* All that a thread may do and see besides, as far as /proc tells. False: the thread has ended. */
static bool describe(const char *tid, char *text)
{
	char path[300], line[512];
	size_t used = 0;
	FILE *status;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		for (size_t i = 0; i < sizeof(status_lines) / sizeof(status_lines[0]); i++)
			if (strncmp(line, status_lines[i], strlen(status_lines[i])) == 0)
				used = append(text, used, line, strcspn(line, "\n"));
	if (status)
		fclose(status);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		size_t bytes = read_link(tid, links[i], line, sizeof(line));

		/* A thread that ends loses these before it goes. */
		if (bytes == 0)
			return false;
		used = append(text, used, line, bytes);
	}
	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	return status && access(path, F_OK) == 0;
}

static bool has_others(const char *tid, const char *own, const char *own_place)
{
	static char text[TEXT_BYTES], place[512];

	if (!describe(tid, text))
		return false;
	describe_place(tid, place, sizeof(place));
	return strcmp(own, text) != 0 || (place[0] && strcmp(own_place, place) != 0);
}

static void say_others(const char *what)
{
	static char own[TEXT_BYTES], place[512];
	char tid[16];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int others = 0;

	snprintf(tid, sizeof(tid), "%d", (int)syscall(SYS_gettid));
	describe(tid, own);
	describe_place(tid, place, sizeof(place));
	while (tasks && (entry = readdir(tasks)) != NULL)
		others += entry->d_name[0] != '.' && has_others(entry->d_name, own, place);
	if (tasks)
		closedir(tasks);
	printf("%s: %d threads with others\n", what, others);
}

static void report(const char *what, long result)
{
	say_errno(what, result);
	say_others(what);
}

/* --- Scenarios --- */

static int set_effective(uint32_t effective)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct words[2];

	if (syscall(SYS_capget, &header, words) != 0)
		return -1;
	words[0].effective = effective;
	words[1].effective = 0;
	return (int)syscall(SYS_capset, &header, words);
}

static void raw_users(void)
{
	report("setgroups", syscall(SYS_setgroups, 0, NULL));
	report("setresgid", syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY));
	report("setresuid", syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY));
	report("setuid", syscall(SYS_setuid, 0));
}

static void raw_old_users(void)
{
	report("setregid", syscall(SYS_setregid, NOBODY, NOBODY));
	report("setgid", syscall(SYS_setgid, NOBODY));
	report("setfsgid", syscall(SYS_setfsgid, 0));
	report("setfsuid", syscall(SYS_setfsuid, NOBODY));
	report("setreuid", syscall(SYS_setreuid, NOBODY, NOBODY));
}

/* A server that becomes its client for each request. */
static void requests(void)
{
	for (int i = 0; i < REQUESTS; i++) {
		setfsgid(NOBODY);
		setfsuid(NOBODY);
		if (i % 100 == 0)
			say_others("request");
		setfsuid(0);
		setfsgid(0);
	}
	say_others("at last");
}

static void capabilities(void)
{
	report("capset", set_effective(1U << CAP_SETPCAP | 1U << CAP_SYS_CHROOT));
	for (int i = 0; i < 40; i++)
		(void)!prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	say_others("bounding set");
	report("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	report("raw drop", syscall(SYS_prctl, PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0));
	report("raw no new", syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void no_new_rights(void)
{
	report("no new rights", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* Removes the directory when this process, and with it its mounts, are gone. */
static void clean_up(const char *jail)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) != 0 || fork() != 0)
		return;
	close(ends[1]);
	close(0);
	close(1);
	close(2);
	(void)!read(ends[0], &byte, 1);
	while (rmdir(jail) != 0 && errno == EBUSY)
		sched_yield();
	_exit(0);
}

/* In a mount name space of its own, whose mounts end with it. */
static void make_jail(char *jail)
{
	char path[64];

	strcpy(jail, "/tmp/wcprof-jail-XXXXXX");
	say_errno("mkdtemp", mkdtemp(jail) ? 0 : -1);
	clean_up(jail);
	unshare(CLONE_NEWNS);
	mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	mount("jail", jail, "tmpfs", 0, NULL);
	snprintf(path, sizeof(path), "%s/proc", jail);
	mkdir(path, 0700);
	mount("proc", path, "proc", 0, NULL);
}

static void enter(int (*go)(const char *))
{
	int status = 0;
	char jail[64];
	pid_t pid;

	make_jail(jail);
	report("go", go(jail));
	report("chdir", chdir("/"));
	fflush(stdout);
	/* And a child of it. */
	pid = fork();
	if (pid == 0) {
		usleep(1);
		say_others("child");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static int go_chroot(const char *jail)
{
	return chroot(jail);
}

static int go_chroot_raw(const char *jail)
{
	return (int)syscall(SYS_chroot, jail);
}

static int go_pivot(const char *jail)
{
	return chdir(jail) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 ? umount2(".", MNT_DETACH)
									  : -1;
}

static void jail(void)
{
	enter(go_chroot);
}

static void jail_raw(void)
{
	enter(go_chroot_raw);
}

static void jail_pivot(void)
{
	enter(go_pivot);
}

static void spaces(void)
{
	report("uts", unshare(CLONE_NEWUTS));
	report("ipc", syscall(SYS_unshare, CLONE_NEWIPC));
	report("net", syscall(SYS_unshare, CLONE_NEWNET));
	report("mnt", unshare(CLONE_NEWNS));
	report("back", setns(open("/proc/self/ns/net", O_RDONLY), CLONE_NEWNET));
	report("raw back", syscall(SYS_setns, open("/proc/self/ns/uts", O_RDONLY), CLONE_NEWUTS));
}

static void users(void)
{
	report("user", syscall(SYS_unshare, CLONE_NEWUSER));
}

/* Threads of the rights before would keep the files open to them. */
static void landlock(void)
{
	struct landlock_ruleset_attr rules = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd >= 0)
		say_errno("restrict", syscall(SYS_landlock_restrict_self, fd, 0));
	printf("passwd: %d\n", fd < 0 ? -1 : open("/etc/passwd", O_RDONLY));
}

static void keyring(void)
{
	say_errno("join", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) > 0 ? 0 : -1);
}

/* Some at once, of which no thread comes back before the last has returned. */
static void *give_up_some(void *unused)
{
	for (int i = 0; i < REQUESTS; i++) {
		syscall(SYS_setfsuid, NOBODY);
		syscall(SYS_setfsuid, 0);
	}
	syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	return unused;
}

static void threads(void)
{
	pthread_t others[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&others[i], NULL, give_up_some, NULL);
	(void)give_up_some(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	usleep(1);
	say_others("all");
}

static const struct scenario scenarios[] = {
	{ "raw users", raw_users },
	{ "raw old users", raw_old_users },
	{ "requests", requests },
	{ "capabilities", capabilities },
	{ "no new rights", no_new_rights },
	{ "jail", jail },
	{ "raw jail", jail_raw },
	{ "pivot", jail_pivot },
	{ "spaces", spaces },
	{ "users", users },
	{ "landlock", landlock },
	{ "keyring", keyring },
	{ "threads", threads },
};

SCENARIOS_MAIN

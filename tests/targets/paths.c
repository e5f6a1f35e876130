/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a file system that is asked by path says the same with the library, in all
 * forms of the calls. glob and scandir are ops each time, the other calls when they take long.
 */
#include "scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

int old_glob(const char *, int, int (*)(const char *, int), glob_t *);
__asm__(".symver old_glob, glob@GLIBC_2.2.5");
char *old_realpath(const char *, char *);
__asm__(".symver old_realpath, realpath@GLIBC_2.2.5");
int old_stat(int version, const char *path, struct stat *to);
__asm__(".symver old_stat, __xstat@GLIBC_2.2.5");

static char directory[] = "/tmp/wcprof-paths-XXXXXX";

static void make(void)
{
	say_errno("mkdir", mkdir("sub", 0700));
	say_errno("mkdirat", mkdirat(AT_FDCWD, "sub/one", 0700));
	say_errno("mkfifo", mkfifo("fifo", 0600));
	say_errno("mknod", mknod("node", S_IFREG | 0600, 0));
	say_errno("symlink", symlink("node", "link"));
	say_errno("symlinkat", symlinkat("nowhere", AT_FDCWD, "dangling"));
	say_errno("link", link("node", "hard"));
	say_errno("linkat", linkat(AT_FDCWD, "node", AT_FDCWD, "harder", 0));
	say_errno("link", link("absent", "hardest"));
}

static void ask(void)
{
	struct stat seen = { .st_mode = 0 };
	struct statx seen_x;
	struct statfs system;
	struct statvfs volume;
	char text[PATH_MAX] = "";
	int fd = open("node", O_RDONLY);

	say_errno("stat", stat("node", &seen));
	say_errno("mode", seen.st_mode);
	say_errno("stat", stat("dangling", &seen));
	say_errno("old stat", old_stat(1, "node", &seen));
	say_errno("lstat", lstat("link", &seen));
	say_errno("is link", S_ISLNK(seen.st_mode));
	say_errno("fstat", fstat(fd, &seen));
	say_errno("fstat", fstat(-1, &seen));
	say_errno("fstatat", fstatat(AT_FDCWD, "node", &seen, 0));
	say_errno("statx", statx(AT_FDCWD, "node", 0, STATX_BASIC_STATS, &seen_x));
	say_errno("statfs", statfs(".", &system));
	say_errno("fstatfs", fstatfs(fd, &system));
	say_errno("statvfs", statvfs(".", &volume));
	say_errno("fstatvfs", fstatvfs(fd, &volume));
	say_errno("access", access("node", R_OK));
	say_errno("access", access("absent", R_OK));
	say_errno("eaccess", eaccess("node", R_OK));
	say_errno("faccessat", faccessat(AT_FDCWD, "node", R_OK, AT_EACCESS));
	say_errno("readlink", readlink("link", text, sizeof(text)));
	say_errno("readlink", readlink("node", text, sizeof(text)));
	say_errno("readlinkat", readlinkat(AT_FDCWD, "link", text, 2));
	say_errno("getxattr", getxattr("absent", "user.a", text, sizeof(text)));
	say_errno("fgetxattr", fgetxattr(-1, "user.a", text, sizeof(text)));
	say_errno("listxattr", listxattr("absent", text, sizeof(text)));
	say_errno("setxattr", setxattr("absent", "user.a", "b", 1, 0));
	say_errno("lremovexattr", lremovexattr("absent", "user.a"));
	close(fd);
}

static void change(void)
{
	const struct timeval times[2] = { { 1000, 0 }, { 2000, 0 } };
	const struct timespec precise[2] = { { 3000, 0 }, { 4000, 0 } };
	const struct utimbuf rough = { 5000, 6000 };
	struct stat seen = { .st_mode = 0 };
	int fd = open("node", O_RDWR);

	say_errno("chmod", chmod("node", 0640));
	say_errno("fchmod", fchmod(fd, 0604));
	say_errno("fchmodat", fchmodat(AT_FDCWD, "node", 0600, 0));
	say_errno("chown", chown("node", getuid(), getgid()));
	say_errno("lchown", lchown("link", getuid(), getgid()));
	say_errno("fchown", fchown(fd, getuid(), getgid()));
	say_errno("fchownat", fchownat(AT_FDCWD, "absent", getuid(), getgid(), 0));
	say_errno("utimes", utimes("node", times));
	say_errno("utime", utime("node", &rough));
	say_errno("lutimes", lutimes("link", times));
	say_errno("futimes", futimes(fd, times));
	say_errno("utimensat", utimensat(AT_FDCWD, "node", precise, 0));
	say_errno("futimens", futimens(fd, precise));
	stat("node", &seen);
	say_errno("time", seen.st_mtime);
	say_errno("rename", rename("hard", "other"));
	say_errno("renameat", renameat(AT_FDCWD, "other", AT_FDCWD, "hard"));
	say_errno("renameat2", renameat2(AT_FDCWD, "hard", AT_FDCWD, "node", RENAME_NOREPLACE));
	close(fd);
}

static int is_no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void search(void)
{
	glob_t found;
	struct dirent **names = NULL;
	char path[PATH_MAX];
	int count;

	say_errno("glob", glob("*", 0, NULL, &found));
	say_errno("found", (long)found.gl_pathc);
	globfree(&found);
	say_errno("glob of none", glob("absent*", 0, NULL, &found));
	say_errno("old glob", old_glob("*ink", 0, NULL, &found));
	say_errno("found", (long)found.gl_pathc);
	globfree(&found);
	say_errno("realpath", realpath("link", path) ? 0 : -1);
	puts(strrchr(path, '/'));
	say_errno("realpath", realpath("dangling", path) ? 0 : -1);
	say_errno("old realpath", old_realpath("node", NULL) ? 0 : -1);
	count = scandir(".", &names, is_no_dot, alphasort);
	say_errno("scandir", count);
	for (int i = 0; i < count; i++) {
		puts(names[i]->d_name);
		free(names[i]);
	}
	free(names);
	say_errno("scandir", scandir("absent", &names, NULL, NULL));
}

static void clear(void)
{
	say_errno("unlink", unlink("link"));
	say_errno("unlink", unlink("link"));
	say_errno("unlinkat", unlinkat(AT_FDCWD, "sub/one", AT_REMOVEDIR));
	say_errno("remove", remove("dangling"));
	say_errno("remove", remove("sub"));
	say_errno("rmdir", rmdir("absent"));
	unlink("fifo");
	unlink("node");
	unlink("hard");
	unlink("harder");
	say_errno("chdir", chdir("/"));
	say_errno("rmdir", rmdir(directory));
}

static void all(void)
{
	say_errno("directory", mkdtemp(directory) ? 0 : -1);
	say_errno("chdir", chdir(directory));
	make();
	ask();
	change();
	search();
	clear();
}

static const struct scenario scenarios[] = {
	{ "all", all },
};

SCENARIOS_MAIN

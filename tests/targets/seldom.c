/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: calls of libc that few programs make answer as without us. Their findings
 * depend on the machine and are not printed, but for whether there were any.
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <locale.h>
#include <mntent.h>
#include <net/if.h>
#include <netdb.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <utmp.h>
#include <utmpx.h>
#include <wordexp.h>

enum { MEGABYTE = 1 << 20 };

static void counters(void)
{
	int fd = eventfd(2, EFD_NONBLOCK);
	eventfd_t value = 0;
	say_errno("eventfd_write", eventfd_write(fd, 5));
	say_errno("eventfd_read", eventfd_read(fd, &value));
	printf("read %d\n", (int)value);
	say_errno("eventfd_read", eventfd_read(fd, &value));
	say_errno("eventfd_write", eventfd_write(-1, 5));
	close(fd);
}

/* Whether there is a user of that name, and who uses the machine. */
static void users(void)
{
	struct utmpx like = { .ut_type = BOOT_TIME };
	struct passwd *user;
	FILE *file = fopen("/etc/passwd", "r");
	char name[256];

	say_errno("lckpwdf", lckpwdf());
	say_errno("ulckpwdf", ulckpwdf());
	printf("getlogin_r %d\n", getlogin_r(name, sizeof(name)) == 0);
	printf("getlogin %d\n", getlogin() != NULL);
	setutxent();
	printf("getutxent %d\n", getutxent() != NULL);
	printf("getutxid %d\n", getutxid(&like) != NULL);
	endutxent();
	utmpname("/nowhere/utmp");
	setutent();
	printf("getutent %d\n", getutent() != NULL);
	endutent();
	setpwent();
	endpwent();
	user = fgetpwent(file);
	printf("fgetpwent %s\n", user ? user->pw_name : "nobody");
	fclose(file);
}

static void tables(void)
{
	struct ifaddrs *addresses = NULL;
	struct if_nameindex *names = if_nameindex();
	FILE *file = setmntent("/proc/self/mounts", "r");
	struct mntent *entry = getmntent(file);
	char name[IF_NAMESIZE];

	printf("getmntent %s\n", entry ? entry->mnt_dir : "nothing");
	printf("endmntent %d\n", endmntent(file));
	say_errno("getifaddrs", getifaddrs(&addresses));
	printf("if_nameindex %d\n", names != NULL);
	printf("if_nametoindex %u\n", if_nametoindex("no such interface"));
	say_errno("if_indextoname", if_indextoname(1, name) ? 0 : -1);
	printf("gethostid %d\n", gethostid() != 0);
	printf("setlocale %s\n", setlocale(LC_ALL, "C.UTF-8"));
	printf("iconv_open %d\n", iconv_open("nothing", "UTF-8") == (iconv_t)-1);
	freeifaddrs(addresses);
	if_freenameindex(names);
}

static void shells(void)
{
	wordexp_t words;
	int code = wordexp("one $(echo two)", &words, 0);
	printf("wordexp %d: %zu %s %s\n", code, words.we_wordc, words.we_wordv[0],
	       words.we_wordv[1]);
	wordfree(&words);
	printf("wordexp %d\n", wordexp("(", &words, 0));
	warnx("to standard error %d", 7);
	errno = ENOENT;
	warn("%s", "also");
	psignal(SIGTERM, "signal");
}

static void memory(void)
{
	char *map = mmap(NULL, 64 * MEGABYTE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char from[] = "from here", to[sizeof(from)] = "";
	struct iovec here = { from, sizeof(from) }, there = { to, sizeof(to) };

	say_errno("mmap", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
				  ? -1
				  : 0);
	map = mremap(map, 64 * MEGABYTE, 128 * MEGABYTE, MREMAP_MAYMOVE);
	say_errno("mprotect", mprotect(map, 64 * MEGABYTE, PROT_READ));
	say_errno("mprotect", mprotect(map + 1, 1, PROT_READ));
	say_errno("process_vm_readv", process_vm_readv(getpid(), &there, 1, &here, 1, 0));
	printf("%s\n", to);
	say_errno("munmap", munmap(map, 128 * MEGABYTE));
	printf("arc4random_uniform %u\n", arc4random_uniform(1));
	arc4random_buf(to, sizeof(to));
}

static void places(void)
{
	char name[] = "/tmp/seldom-XXXXXX.txt", directory[] = "/tmp/seldom-XXXXXX";
	int fd = mkstemps(name, 4);
	FILE *file = fdopen(fd, "w+");

	say_errno("write", write(fd, "12345", 5));
	say_errno("lseek", lseek(fd, 2, SEEK_SET));
	say_errno("lseek", lseek(fd, -3, SEEK_SET));
	say_errno("lseek", lseek(-1, 0, SEEK_SET));
	say_errno("ftell", ftell(file));
	say_errno("pathconf", pathconf(name, _PC_NAME_MAX));
	say("posix_fadvise", posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	say("posix_fadvise", posix_fadvise(fd, 0, 0, 77));
	printf("mkdtemp %d\n", mkdtemp(directory) == directory);
	rmdir(directory);
	unlink(name);
	fclose(file);
}

/* The ends of a terminal: login_tty() takes a child's, its standard descriptors with it. */
static void terminals(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);
	grantpt(fd);
	unlockpt(fd);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		int other = open(ptsname(fd), O_RDWR);
		int out = dup(STDOUT_FILENO);
		int code = login_tty(other);
		FILE *before = fdopen(out, "w");
		fprintf(before, "login_tty %d: %d %d\n", code, isatty(0), ttyname(2) != NULL);
		fclose(before);
		(void)!write(STDOUT_FILENO, "x", 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(fd);
}

static const struct scenario scenarios[] = {
	{ "counters", counters },   { "users", users },   { "tables", tables },
	{ "shells", shells },       { "memory", memory }, { "places", places },
	{ "terminals", terminals },
};

SCENARIOS_MAIN

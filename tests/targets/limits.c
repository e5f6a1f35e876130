/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: programs that lock their memory, or may not have much of it, have as much as
 * without us. Ten writes are recorded. As another user if it may become one.
 */
#include "scenario.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { WRITES = 10, NOBODY = 65534, MEGABYTE = 1 << 20 };

static void write_ten(void)
{
	int fd = open("/dev/null", O_WRONLY), written = 0;
	for (int i = 0; i < WRITES; i++)
		written += write(fd, "x", 1) == 1;
	printf("written: %d\n", written);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit limits = { most, most };
	say_errno("setrlimit", setrlimit(resource, &limits));
}

static long status_kb(const char *key)
{
	char line[200];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			kb = atol(line + strlen(key));
	if (file)
		fclose(file);
	return kb;
}

/* Each line is its own answer: with too much that is locked, mmap() fails. */
static void lock(int flags)
{
	char *more;
	say_errno("mlockall", mlockall(flags));
	printf("locked: %s\n", status_kb("VmLck:") > 0 ? "some" : "nothing");
	printf("too much: %d\n", status_kb("VmLck:") > 8192);
	more = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("more: %s\n", more == MAP_FAILED ? strerrorname_np(errno) : "here");
	write_ten();
	say_errno("munlockall", munlockall());
	printf("locked: %ld\n", status_kb("VmLck:"));
}

static void locks(void)
{
	write_ten();
	lock(MCL_CURRENT | MCL_FUTURE);
	lock(MCL_CURRENT);
	lock(MCL_CURRENT | MCL_ONFAULT);
	say_errno("no such flag", mlockall(64));
	say_errno("no flag", mlockall(0));
}

static void become_nobody(void)
{
	if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		say_errno("setuid", -1);
}

/* Not much more is allowed than a small program has. */
static void locks_little(void)
{
	write_ten();
	limit(RLIMIT_MEMLOCK, 5 * MEGABYTE);
	become_nobody();
	lock(MCL_CURRENT | MCL_FUTURE);
	lock(MCL_CURRENT);
}

static void locks_none(void)
{
	limit(RLIMIT_MEMLOCK, 0);
	become_nobody();
	say_errno("mlockall", mlockall(MCL_CURRENT));
	write_ten();
}

static void locks_too_little(void)
{
	limit(RLIMIT_MEMLOCK, MEGABYTE);
	become_nobody();
	say_errno("mlockall", mlockall(MCL_CURRENT));
	printf("locked: %ld\n", status_kb("VmLck:"));
	write_ten();
}

/* In force before the library is loaded into the next image. */
static void addresses(void)
{
	fflush(stdout);
	limit(RLIMIT_AS, 512 * MEGABYTE);
	execl("/proc/self/exe", "limits", "with few addresses", (char *)NULL);
	say_errno("execl", -1);
}

static void with_few_addresses(void)
{
	char *most = malloc((size_t)460 * MEGABYTE);
	printf("460 of 512 MB: %s\n", most ? "here" : "none");
	free(most);
	write_ten();
}

static const struct scenario scenarios[] = {
	{ "locks", locks },
	{ "locks little", locks_little },
	{ "locks too little", locks_too_little },
	{ "locks none", locks_none },
	{ "addresses", addresses },
	{ "with few addresses", with_few_addresses },
};

SCENARIOS_MAIN

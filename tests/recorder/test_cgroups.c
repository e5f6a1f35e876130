/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a container's limit is missed, and the recording costs the program its life. */
#include "cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

enum { MEGABYTE = 1 << 20, NO_LIMIT = -1 };

/* In each text below, @ is the directory of the test. */
static char top[] = "/tmp/wcprof-cgroups.XXXXXX";
static struct cgroups cgroups;

static void expand(char *to, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text && used < size - sizeof(top); text++)
		if (*text == '@')
			used += (size_t)sprintf(to + used, "%s", top);
		else
			to[used++] = *text;
	to[used] = '\0';
}

static void make_parents(char *path)
{
	for (char *at = path + sizeof(top); (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
		*at = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX], expanded[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	make_parents(path);
	expand(expanded, sizeof(expanded), text);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(expanded, file), 0);
	fclose(file);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(top));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	ck_assert_int_eq(system(command), 0);
}

static void find_of(const char *controller)
{
	char memberships[64], mounts[64];

	snprintf(memberships, sizeof(memberships), "%s/cgroup", top);
	snprintf(mounts, sizeof(mounts), "%s/mounts", top);
	cgroups_find(&cgroups, controller, memberships, mounts);
}

static void find(void)
{
	find_of("memory");
}

struct least {
	long limit_mb;
	long left_mb;
	int count;
};

static void take(void *context, uint64_t limit, uint64_t left)
{
	struct least *least = context;

	least->count++;
	if (least->left_mb >= 0 && (uint64_t)least->left_mb <= left / MEGABYTE)
		return;
	least->limit_mb = (long)(limit / MEGABYTE);
	least->left_mb = (long)(left / MEGABYTE);
}

static struct least tightest(void)
{
	struct least least = { NO_LIMIT, NO_LIMIT, 0 };

	find();
	cgroups_each(&cgroups, take, &least);
	return least;
}

/* --- Where the directory is ------------------------------------------------------------------- */

#define V1_LINE(root, point) \
	"31 25 0:28 " root " " point " rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
#define V2_LINE(root, point) \
	"30 25 0:27 " root " " point " rw,nosuid shared:8 - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHERS                                                      \
	"22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n" \
	"33 25 0:29 / @/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"

static const struct {
	const char *memberships;
	const char *mounts;
	const char *directory; /* below the test's; NULL: none is to be found */
	int version;
} places[] = {
	/* 0: a service below systemd. */
	{ "0::/system.slice/a.service\n", OTHERS V2_LINE("/", "@/cg"), "cg/system.slice/a.service",
	  1 },
	/* 1: the container's own mount, with a name space of its own. */
	{ "0::/\n", V2_LINE("/", "@/cg"), "cg", 1 },
	/* 2, 3: the container's own mount, without one. */
	{ "4:memory:/docker/abc\n", V1_LINE("/docker/abc", "@/m"), "m", 0 },
	{ "4:memory:/docker/abc/in/ner\n", V1_LINE("/docker/abc", "@/m"), "m/in/ner", 0 },
	/* 4: a path that only looks like the mount's root. */
	{ "4:memory:/docker/abcdef\n", V1_LINE("/docker/abc", "@/m"), "m", 0 },
	/* 5: outside of what can be seen. */
	{ "0::/../../elsewhere\n", V2_LINE("/", "@/cg"), "cg", 1 },
	{ "0::/\n", V2_LINE("/../..", "@/cg"), "cg", 1 },
	/* 7: two controllers in one hierarchy, and others around it. */
	{ "12:cpuset:/x\n5:cpu,memory,pids:/job\n1:name=systemd:/y\n0::/z\n",
	  OTHERS "31 25 0:28 / @/m rw - cgroup cgroup rw,cpu,memory,pids\n", "m/job", 0 },
	/* 8: a controller whose name begins alike. */
	{ "5:memoryless:/job\n", V1_LINE("/", "@/m"), NULL, 0 },
	/* 9: a blank in the mount point, and a colon in the path. */
	{ "0::/a:b\n", V2_LINE("/", "@/c\\040g"), "c g/a:b", 1 },
	/* 10: mounted twice: the one that shows it. */
	{ "0::/job\n", V2_LINE("/", "@/cg") V2_LINE("/other", "@/part"), "cg/job", 1 },
	{ "0::/job\n", V2_LINE("/other", "@/part") V2_LINE("/", "@/cg"), "cg/job", 1 },
	/* 12: nothing is mounted, or nothing is said. */
	{ "0::/job\n", OTHERS, NULL, 1 },
	{ "", V2_LINE("/", "@/cg"), NULL, 1 },
	{ "0::/job\n", "", NULL, 1 },
	/* 15: nonsense. */
	{ "0\n::\n:::\n0::\n0::relative\n", V2_LINE("/", "@/cg"), NULL, 1 },
	{ "0::/job\n", "\n \n- - -\n1 2 3 4 5 6 7 8 9\n30 25 0:27 / @/cg rw - cgroup2\n", "cg/job",
	  1 },
	/* 17: without optional fields, and with several. */
	{ "0::/job\n", "30 25 0:27 / @/cg rw - cgroup2 none rw\n", "cg/job", 1 },
	{ "0::/job\n", "30 25 0:27 / @/cg rw shared:1 master:2 - cgroup2 none rw\n", "cg/job", 1 },
};

START_TEST(the_directory_is_found)
{
	char expected[PATH_MAX] = "";

	put("cgroup", places[_i].memberships);
	put("mounts", places[_i].mounts);
	find();
	if (places[_i].directory)
		snprintf(expected, sizeof(expected), "%s/%s", top, places[_i].directory);
	ck_assert_str_eq(cgroups.versions[places[_i].version].path, expected);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_none)
{
	char line[3 * CGROUP_PATH_BYTES] = "0::/";

	memset(line + 4, 'x', 2 * CGROUP_PATH_BYTES);
	strcat(line, "\n");
	put("cgroup", line);
	put("mounts", V2_LINE("/", "@/cg"));
	ck_assert_int_eq(tightest().count, 0);
}
END_TEST

START_TEST(without_proc_there_is_no_limit)
{
	cgroups_find(&cgroups, "memory", "/nonexistent/cgroup", "/nonexistent/mounts");
	ck_assert_str_eq(cgroups.versions[0].path, "");
	ck_assert_str_eq(cgroups.versions[1].path, "");
}
END_TEST

/* --- What it says ----------------------------------------------------------------------------- */

struct file {
	const char *name;
	const char *text;
};

static const struct {
	struct file files[8];
	long limit_mb;
	long left_mb;
} limits[] = {
	/* 0 */
	{ { { "cg/a/b/memory.max", "67108864\n" }, { "cg/a/b/memory.current", "4194304\n" } },
	  64,
	  60 },
	/* 1: an ancestor is tighter. */
	{ { { "cg/a/b/memory.max", "67108864\n" },
	    { "cg/a/b/memory.current", "4194304\n" },
	    { "cg/a/memory.max", "33554432\n" },
	    { "cg/a/memory.current", "8388608\n" } },
	  32,
	  24 },
	/* 2: the mount point itself, in a container. */
	{ { { "cg/memory.max", "33554432\n" }, { "cg/memory.current", "1048576\n" } }, 32, 31 },
	/* 3: beyond memory.high the program is slowed down. */
	{ { { "cg/a/b/memory.max", "max\n" },
	    { "cg/a/b/memory.high", "33554432\n" },
	    { "cg/a/b/memory.current", "4194304\n" } },
	  32,
	  28 },
	{ { { "cg/a/b/memory.max", "67108864\n" },
	    { "cg/a/b/memory.high", "33554432\n" },
	    { "cg/a/b/memory.current", "4194304\n" } },
	  32,
	  28 },
	/* 5: what the kernel can drop is left. */
	{ { { "cg/a/b/memory.max", "67108864\n" },
	    { "cg/a/b/memory.current", "62914560\n" },
	    { "cg/a/b/memory.stat", "anon 8388608\nfile 54525952\ninactive_file 52428800\n" } },
	  64,
	  54 },
	/* 6: more idle than used is nonsense. */
	{ { { "cg/a/b/memory.max", "67108864\n" },
	    { "cg/a/b/memory.current", "62914560\n" },
	    { "cg/a/b/memory.stat", "inactive_file 99999999999\n" } },
	  64,
	  64 },
	/* 7: above its limit, which was lowered. */
	{ { { "cg/a/b/memory.max", "33554432\n" }, { "cg/a/b/memory.current", "67108864\n" } },
	  32,
	  0 },
	{ { { "cg/a/b/memory.max", "0\n" }, { "cg/a/b/memory.current", "0\n" } }, 0, 0 },
	/* 9: no limit, and what is none. */
	{ { { "cg/a/b/memory.max", "max\n" }, { "cg/a/b/memory.current", "4194304\n" } },
	  NO_LIMIT,
	  NO_LIMIT },
	{ { { "cg/a/b/memory.max", "" }, { "cg/a/b/memory.current", "4194304\n" } },
	  NO_LIMIT,
	  NO_LIMIT },
	{ { { "cg/a/b/memory.max", "-1\n" }, { "cg/a/b/memory.current", "4194304\n" } },
	  NO_LIMIT,
	  NO_LIMIT },
	{ { { "cg/a/b/memory.max", "1e6\n" }, { "cg/a/b/memory.current", "4194304\n" } },
	  NO_LIMIT,
	  NO_LIMIT },
	{ { { "cg/a/b/memory.max", "99999999999999999999999999\n" },
	    { "cg/a/b/memory.current", "4194304\n" } },
	  NO_LIMIT,
	  NO_LIMIT },
	/* 14: nobody may know what is used. */
	{ { { "cg/a/b/memory.max", "67108864\n" } }, NO_LIMIT, NO_LIMIT },
	/* 15: version 1, whose ancestors are counted by the total of each. */
	{ { { "m/a/b/memory.limit_in_bytes", "67108864\n" },
	    { "m/a/b/memory.usage_in_bytes", "4194304\n" } },
	  64,
	  60 },
	{ { { "m/a/b/memory.limit_in_bytes", "9223372036854771712\n" },
	    { "m/a/b/memory.usage_in_bytes", "4194304\n" },
	    { "m/memory.limit_in_bytes", "67108864\n" },
	    { "m/memory.usage_in_bytes", "62914560\n" },
	    { "m/memory.stat", "inactive_file 4096\ntotal_inactive_file 1048576\n" } },
	  64,
	  5 },
	/* 17: both versions at once. */
	{ { { "m/a/b/memory.limit_in_bytes", "67108864\n" },
	    { "m/a/b/memory.usage_in_bytes", "4194304\n" },
	    { "cg/a/b/memory.max", "33554432\n" },
	    { "cg/a/b/memory.current", "4194304\n" } },
	  32,
	  28 },
};

START_TEST(the_tightest_limit_is_found)
{
	struct least least;

	put("cgroup", "7:memory:/a/b\n0::/a/b\n");
	put("mounts", V1_LINE("/", "@/m") V2_LINE("/", "@/cg"));
	for (int i = 0; i < 8 && limits[_i].files[i].name; i++)
		put(limits[_i].files[i].name, limits[_i].files[i].text);
	least = tightest();
	ck_assert_int_eq(least.limit_mb, limits[_i].limit_mb);
	ck_assert_int_eq(least.left_mb, limits[_i].left_mb);
}
END_TEST

/* A process may be put elsewhere, and its cgroup removed: the ancestors go on. */
START_TEST(a_removed_cgroup_has_ancestors)
{
	put("cgroup", "0::/a/b (deleted)\n");
	put("mounts", V2_LINE("/", "@/cg"));
	put("cg/a/memory.max", "67108864\n");
	put("cg/a/memory.current", "1048576\n");
	ck_assert_int_eq(tightest().left_mb, 63);
}
END_TEST

/* --- Quotas of CPU time ----------------------------------------------------------------------- */

#define CPU_LINE "33 25 0:29 / @/c rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"

static const struct {
	struct file files[6];
	struct cgroup_quota all; /* the smallest, and what all have stopped */
	int count;
} quotas[] = {
	/* 0: half a CPU. */
	{ { { "cg/a/b/cpu.max", "50000 100000\n" },
	    { "cg/a/b/cpu.stat", "usage_usec 77\nnr_throttled 9\nthrottled_usec 1234\n" } },
	  { 500, 1234000 },
	  1 },
	/* 1: an ancestor is tighter, and each stops the process. */
	{ { { "cg/a/b/cpu.max", "300000 100000\n" },
	    { "cg/a/b/cpu.stat", "throttled_usec 1\n" },
	    { "cg/a/cpu.max", "30000 20000\n" },
	    { "cg/a/cpu.stat", "throttled_usec 20\n" } },
	  { 1500, 21000 },
	  2 },
	/* 2: none, and what is none. */
	{ { { "cg/a/b/cpu.max", "max 100000\n" }, { "cg/a/b/cpu.stat", "throttled_usec 5\n" } },
	  { 0, 0 },
	  0 },
	{ { { "cg/a/b/cpu.max", "" } }, { 0, 0 }, 0 },
	{ { { "cg/a/b/cpu.max", "50000\n" } }, { 0, 0 }, 0 },
	{ { { "cg/a/b/cpu.max", "50000 0\n" } }, { 0, 0 }, 0 },
	{ { { "cg/a/b/cpu.max", "99999999999999999999 100000\n" } }, { 0, 0 }, 0 },
	/* 7: so little that it is hardly any. */
	{ { { "cg/a/b/cpu.max", "1 10000000\n" } }, { 1, 0 }, 1 },
	/* 8: version 1, without one and with. */
	{ { { "c/a/b/cpu.cfs_quota_us", "-1\n" }, { "c/a/b/cpu.cfs_period_us", "100000\n" } },
	  { 0, 0 },
	  0 },
	{ { { "c/a/cpu.cfs_quota_us", "250000\n" },
	    { "c/a/cpu.cfs_period_us", "100000\n" },
	    { "c/a/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 4321\n" } },
	  { 2500, 4321 },
	  1 },
};

struct found_quotas {
	struct cgroup_quota all;
	int count;
};

static void take_quota(void *context, const struct cgroup_quota *quota)
{
	struct found_quotas *found = context;

	if (found->count++ == 0 || quota->milli_cpus < found->all.milli_cpus)
		found->all.milli_cpus = quota->milli_cpus;
	found->all.stopped_ns += quota->stopped_ns;
}

START_TEST(quotas_are_found)
{
	struct found_quotas found = { 0 };

	put("cgroup", "7:memory:/elsewhere\n5:cpu,cpuacct:/a/b\n0::/a/b\n");
	put("mounts", CPU_LINE V1_LINE("/", "@/m") V2_LINE("/", "@/cg"));
	for (int i = 0; i < 6 && quotas[_i].files[i].name; i++)
		put(quotas[_i].files[i].name, quotas[_i].files[i].text);
	find_of("cpu");
	cgroups_each_quota(&cgroups, take_quota, &found);
	ck_assert_int_eq(found.count, quotas[_i].count);
	ck_assert_uint_eq(found.all.milli_cpus, quotas[_i].all.milli_cpus);
	ck_assert_uint_eq(found.all.stopped_ns, quotas[_i].all.stopped_ns);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(the_directory_is_found, places);
	EACH(the_tightest_limit_is_found, limits);
	EACH(quotas_are_found, quotas);
	TEST(a_path_that_is_too_long_is_none);
	TEST(without_proc_there_is_no_limit);
	TEST(a_removed_cgroup_has_ancestors);
}

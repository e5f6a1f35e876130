/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a symbol that an object defines is not found in one of the two kinds of
 * hash table. Or a slot that is read-only by the time we come is not read.
 */
#include "target.h"
#include "suite.h"

static const char *compiler(void)
{
	const char *name = getenv("CC");
	return name ? name : "gcc";
}

static void run(const char *command, char *output, size_t room)
{
	FILE *pipe = popen(command, "r");
	size_t size = fread(output, 1, room - 1, pipe);
	output[size] = 0;
	ck_assert_int_eq(pclose(pipe), 0);
}

static const char *const hash_styles[] = { /* 0 */ "gnu", /* 1 */ "sysv" };

START_TEST(test_hash_table)
{
	static char output[OUTPUT_MAX];
	char directory[64], command[6 * PATH_MAX], program[2 * PATH_MAX];

	make_directory(directory);
	snprintf(program, sizeof(program), "%s", build_path("tests/targets/conditions"));
	snprintf(command, sizeof(command),
		 "%s -D_GNU_SOURCE -shared -fPIC -Wl,--hash-style=%s -o %s/next.so"
		 " tests/preload/interposer.c && WCPROF_CONTROL=off LD_PRELOAD=%s:%s/next.so"
		 " %s unheard"
		 "; rm -r %s",
		 compiler(), hash_styles[_i], directory, build_path("libwcprof.so"), directory,
		 program, directory);
	run(command, output, sizeof(output));
	ck_assert_msg(strstr(output, "interposer: 10 unlocks, 10 signals"), "%s", output);
}
END_TEST

/* The linker has all slots bound and made read-only before our constructor runs. */
START_TEST(test_read_only_slots)
{
	static char output[OUTPUT_MAX];
	char directory[64], command[6 * PATH_MAX];

	make_directory(directory);
	snprintf(command, sizeof(command),
		 "%s -std=c11 -D_GNU_SOURCE -Wl,-z,now,-z,relro -o %s/teams tests/targets/teams.c"
		 " -l:libgomp.so.1 && WCPROF_DIR=%s WCPROF_ENABLE=1 WCPROF_OUTPUT=%s/dump"
		 " LD_PRELOAD=%s"
		 " %s/teams waits >%s/said && cat %s/said &&"
		 " grep -c '\"rs\":\"mutex\"' %s/dump; rm -r %s",
		 compiler(), directory, directory, directory, build_path("libwcprof.so"), directory,
		 directory, directory, directory, directory);
	run(command, output, sizeof(output));
	ck_assert_str_eq(output, "together 3\n6\n");
}
END_TEST

SUITE()
{
	LOOP(test_hash_table, 0, 2);
	TEST(test_read_only_slots);
}

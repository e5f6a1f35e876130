/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: another preload behind ours is passed over, or a versioned function gets
 * lost.
 */
#include "target.h"
#include "suite.h"

static char interposer[PATH_MAX];

static void build_interposer(const char *directory)
{
	char command[5 * PATH_MAX];
	const char *compiler = getenv("CC");

	snprintf(interposer, sizeof(interposer), "%s/interposer.so", directory);
	snprintf(command, sizeof(command),
		 "%s -D_GNU_SOURCE -shared -fPIC -o %s tests/preload/interposer.c",
		 compiler ? compiler : "gcc", interposer);
	ck_assert_int_eq(system(command), 0);
}

static void run_with(const char *preload, const char *scenario, char *output, size_t room)
{
	char command[5 * PATH_MAX];
	char program[2 * PATH_MAX];
	snprintf(program, sizeof(program), "%s", build_path("tests/targets/conditions"));
	snprintf(command, sizeof(command),
		 "WCPROF_DIR=/tmp WCPROF_CONTROL=off %s LD_PRELOAD=%s %s %s", scenario, preload,
		 program, "unheard");
	FILE *pipe = popen(command, "r");
	size_t size = fread(output, 1, room - 1, pipe);
	output[size] = 0;
	ck_assert_int_eq(pclose(pipe), 0);
}

/* The interposer counts the same whether we stand before it or not, and all while we record. */
START_TEST(test_next_preload_is_called)
{
	static char alone[OUTPUT_MAX], behind[OUTPUT_MAX], behind_on[OUTPUT_MAX];
	char directory[64], both[4 * PATH_MAX];

	make_directory(directory);
	build_interposer(directory);
	snprintf(both, sizeof(both), "%s:%s", build_path("libwcprof.so"), interposer);
	run_with(interposer, "", alone, sizeof(alone));
	run_with(both, "", behind, sizeof(behind));
	run_with(both, "WCPROF_ENABLE=1", behind_on, sizeof(behind_on));
	ck_assert_ptr_nonnull(strstr(alone, "interposer: 10 unlocks, 10 signals"));
	ck_assert_str_eq(alone, behind);
	/* The locks of our unwinder come by there, too. */
	ck_assert_ptr_nonnull(strstr(behind_on, ", 10 signals"));
	unlink(interposer);
	rmdir(directory);
}
END_TEST

/* Another preload's clock calls our hooks: for ever, in a child that was just forked. It is no
 * clock of ours, wherever it stands. */
START_TEST(test_time_is_the_kernels)
{
	char directory[64], command[8 * PATH_MAX], ours[PATH_MAX];
	const char *first = _i ? interposer : ours, *second = _i ? ours : interposer;

	make_directory(directory);
	build_interposer(directory);
	snprintf(ours, sizeof(ours), "%s", build_path("libwcprof.so"));
	snprintf(command, sizeof(command),
		 "cd %s && WCPROF_CONTROL=off WCPROF_ENABLE=1 WCPROF_OUTPUT=%%p.jsonl "
		 "LD_PRELOAD=%s:%s %s forks >out && "
		 "! grep -L '\"epoch_unix_nano\":[0-9]\\{19\\}' *.jsonl | grep . && "
		 "rm -f *.jsonl out",
		 directory, first, second, build_path("tests/targets/lives"));
	ck_assert_int_eq(system(command), 0);
	unlink(interposer);
	rmdir(directory);
}
END_TEST

static const struct target_case cases[] = {
	/* 0 */ { "conditions",
		  "versions",
		  { { "wait", "cond", "pthread_cond_wait", 2, 2 },
		    { "wait", "cond", "pthread_cond_timedwait", 1, 1 } } },
};

START_TEST(test_versions_reach_their_own)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	TEST(test_next_preload_is_called);
	LOOP(test_time_is_the_kernels, 0, 2);
	LOOP(test_versions_reach_their_own, 0, 1);
}

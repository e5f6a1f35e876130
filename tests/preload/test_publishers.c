/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: what a tracer publishes is not found, or is read from somebody else's
 * storage. It may be a program or a library, of either dialect of thread-local storage. The storage
 * may be near its thread's own block or elsewhere.
 */
#include "target.h"
#include "suite.h"

#define TRACE "0af76500000000000000000000000000"

static const struct {
	const char *scenario;
	const char *flags; /* of the library; NULL: there is none */
	int contexts;      /* of each thread */
} cases[] = {
	/* 0 */ { "published", NULL, 3 },
	/* 1 */ { "said", NULL, 3 },
	/* 2 */ { "opened", "-mtls-dialect=gnu2 -DTRACER_BYTES_BEFORE=8", 3 },
	/* 3 */ { "opened", "-mtls-dialect=gnu2 -DTRACER_BYTES_BEFORE=100000", 3 },
	/* 4 */ { "opened", "-mtls-dialect=gnu -DTRACER_BYTES_BEFORE=100000", 3 },
	/* 5 */ { "opened", "-ftls-model=initial-exec -DTRACER_BYTES_BEFORE=8", 3 },
	/* 6 */ { "opened", "-mtls-dialect=gnu2 -Wl,-Bsymbolic -DTRACER_BYTES_BEFORE=100000", 3 },
	/* 7 */ { "closed", "-mtls-dialect=gnu2 -DTRACER_BYTES_BEFORE=100000", 3 },
	/* 8: a number of storage does not say of which generation it is */
	{ "closed", "-mtls-dialect=gnu -DTRACER_BYTES_BEFORE=100000", 0 },
};

enum { THREADS = 2, CONTEXTS = 3 };

/* The contexts of one thread, in order of time. */
static void check_thread(json_t *lines, json_int_t thread, int wanted)
{
	static const char *const spans[] = { "b700000000000001", "b700000000000002", "" };
	json_int_t last = 0;
	int count = 0;

	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);

		if (strcmp(word_of(event, "e"), "ctx") != 0 || number_of(event, "th") != thread)
			continue;
		ck_assert_int_lt(count, CONTEXTS);
		ck_assert_int_gt(number_of(event, "s"), last);
		last = number_of(event, "s");
		ck_assert_str_eq(word_of(event, "si"), spans[count]);
		if (count < CONTEXTS - 1)
			ck_assert_msg(strncmp(word_of(event, "ti"), TRACE, 30) == 0, "%s",
				      word_of(event, "ti"));
		count++;
	}
	ck_assert_int_eq(count, wanted);
}

START_TEST(test_case)
{
	const struct target_case row = { .target = cases[_i].flags ? "tracers" : "traced",
					 .scenario = cases[_i].scenario };
	char directory[64], path[128], command[2 * PATH_MAX];
	const char *compiler = getenv("CC");
	struct dumps dumps;

	make_directory(directory);
	snprintf(path, sizeof(path), "%s/tracer.so", directory);
	snprintf(command, sizeof(command),
		 "%s -D_GNU_SOURCE -shared -fPIC %s -o %s"
		 " tests/preload/tracer.c",
		 compiler && !strstr(cases[_i].flags ? cases[_i].flags : "", "dialect") ? compiler
											: "gcc",
		 cases[_i].flags, path);
	if (cases[_i].flags)
		ck_assert_int_eq(system(command), 0);
	setenv("TRACER", path, 1);
	run_case(&row, &dumps);
	for (int i = 0; i < THREADS; i++)
		check_thread(dumps.lines[0], i + 2, cases[_i].contexts);
	check_thread(dumps.lines[0], 1, 0);
	free_dumps(&dumps);
	unlink(path);
	rmdir(directory);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

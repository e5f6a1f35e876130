/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, names come from a file although the dump has them, or from none although the root
 * that was given has it. Or one process's code made at run time is named by another's map. */
#include "names/symbolfile.h"

#include <unistd.h>

#include "sample.h"
#include "suite.h"

static char host[256];

static const char *strings[] = { "",     "/bin/true", "ab", "[jit]",    "11:5",
				 "12:5", "/gone",     host, "elsewhere" };

static struct rec_module modules[] = {
	/* 0 */ { 0, 1, 2, 0, 0x1000, 0x1000, 0, 0, false, 0 },
	/* 1 */ { 1, 1, 2, 0, 0x9000, 0x1000, 0, 0, false, 0 },
	/* 2 */ { 0, 3, 0, 0, 0, 0, 0, 0, false, 0 },
	/* 3 */ { 1, 3, 0, 0, 0, 0, 0, 0, false, 0 },
	/* 4 */ { 0, 6, 2, 0, 0x1000, 0x1000, 0, 0, false, 0 },
	/* 5 */ { 0, 3, 0, 0, 0x1000, 0x1000, 0, 0, false, 0 }, /* only called so */
};

static struct rec_process processes[] = {
	{ .pid = 4000011, .client = 4, .host = 7 },
	{ .pid = 4000012, .client = 5, .host = 8 },
};

static struct rec_naming namings[] = { { .path = 6, .build_id = 2 }, { .client = 5 } };

static struct recording recording = {
	.modules = modules,
	.module_count = sizeof(modules) / sizeof(modules[0]),
	.processes = processes,
	.process_count = 2,
	.namings = namings,
	.naming_count = 2,
	.strings = strings,
	.string_count = sizeof(strings) / sizeof(strings[0]),
};

START_TEST(which_are_the_same)
{
	struct symbol_file files[6];

	for (uint32_t i = 0; i < 6; i++)
		files[i] = symbol_file_of(&recording, i);
	for (uint32_t i = 0; i < 6; i++)
		for (uint32_t k = 0; k < i; k++)
			ck_assert_msg(symbol_file_is_same(&files[i], &files[k]) ==
					      (i == 1 && k == 0),
				      "%u and %u", i, k);
	ck_assert_uint_eq(files[0].naming, NO_INDEX);
	ck_assert_uint_eq(files[2].naming, NO_INDEX);
	ck_assert_uint_eq(files[3].naming, 1);
	ck_assert_uint_eq(files[4].naming, 0);
	ck_assert_uint_eq(files[5].process, NO_INDEX);
	ck_assert_int_eq(symbol_file_info(&files[3], &recording).state, SYMBOL_FILE_GIVEN);
	ck_assert_str_eq(symbol_file_info(&files[3], &recording).client, "12:5");
	ck_assert_str_eq(symbol_file_info(&files[0], &recording).client, "");
}
END_TEST

START_TEST(maps_beside_the_dump)
{
	char dump[SAMPLE_PATH_BYTES];
	char *const dumps[] = { dump };
	struct symbol_file file = symbol_file_of(&recording, 2);
	uint64_t offset;

	gethostname(host, sizeof(host) - 1);
	strcpy(dump, sample_path("dump"));
	sample_write("perf-4000011.map", "1000 10 handler\n", 16);
	ck_assert_int_eq(symbol_file_info(&file, &recording).state, SYMBOL_FILE_UNUSED);
	symbol_file_open(&file, &recording, NULL, dumps, 1);
	ck_assert_int_eq(symbol_file_info(&file, &recording).state, SYMBOL_FILE_OPEN);
	ck_assert_str_eq(perfmap_find(&file.map, 0x1001, &offset), "handler");
	symbol_file_close(&file);
	file = symbol_file_of(&recording, 2);
	symbol_file_open(&file, &recording, NULL, NULL, 0);
	ck_assert_int_eq(symbol_file_info(&file, &recording).state, SYMBOL_FILE_MISSING);
	symbol_file_close(&file);
}
END_TEST

/* A map in /tmp is of a process of this machine; the number means nothing on another. */
START_TEST(maps_in_tmp)
{
	struct symbol_file file;
	FILE *map = fopen("/tmp/perf-4000011.map", "w");

	gethostname(host, sizeof(host) - 1);
	fputs("1000 10 handler\n", map);
	fclose(map);
	for (int i = 0; i < 2; i++) {
		processes[0].host = i ? 8 : 7;
		file = symbol_file_of(&recording, 2);
		symbol_file_open(&file, &recording, NULL, NULL, 0);
		ck_assert_int_eq(symbol_file_info(&file, &recording).state,
				 i ? SYMBOL_FILE_MISSING : SYMBOL_FILE_OPEN);
		symbol_file_close(&file);
	}
	processes[0].host = 7;
	unlink("/tmp/perf-4000011.map");
}
END_TEST

/* A file that a container has, and this machine does not. */
START_TEST(files_below_another_root)
{
	struct recording unnamed = recording;
	struct symbol_file file;
	char root[SAMPLE_PATH_BYTES];

	unnamed.naming_count = 0;
	strings[2] = "";
	ck_assert_int_eq(symlink("/proc/self/exe", sample_path("gone")), 0);
	strcpy(root, sample_path("gone"));
	*strrchr(root, '/') = '\0';
	for (int i = 0; i < 3; i++) {
		const char *const roots[] = { NULL, "/nowhere", root };

		file = symbol_file_of(&unnamed, 4);
		symbol_file_open(&file, &unnamed, roots[i], NULL, 0);
		ck_assert_int_eq(symbol_file_info(&file, &unnamed).state,
				 i < 2 ? SYMBOL_FILE_MISSING : SYMBOL_FILE_OPEN);
		symbol_file_close(&file);
	}
	strings[2] = "ab";
	/* Another build of it names nothing. */
	file = symbol_file_of(&unnamed, 4);
	symbol_file_open(&file, &unnamed, root, NULL, 0);
	ck_assert_int_eq(symbol_file_info(&file, &unnamed).state, SYMBOL_FILE_MISSING);
	symbol_file_close(&file);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	TEST(which_are_the_same);
	TEST(maps_beside_the_dump);
	TEST(maps_in_tmp);
	TEST(files_below_another_root);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, code made at run time has a wrong name, or another process's. */
#include "names/perfmap.h"

#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"
#include "suite.h"

static const char lines[] = "1000 100 first\n"
			    "0x0000000000002000 0x0000000000000100 void java.util.Timer.run(int)\n"
			    "nonsense\n"
			    "3000 0 empty\n"
			    "3000\n"
			    "3000 10\n"
			    "3000 10 \n"
			    "1080 100 second\n"
			    "ffffffffffffffff 10 too far\n"
			    "10c0 10 third";

static const struct {
	uint64_t address;
	const char *name;
	uint64_t offset;
} finds[] = {
	/* 0 */ { 0xfff, NULL, 0 },
	/* 1 */ { 0x1000, "first", 0 },
	/* 2 */ { 0x107f, "first", 0x7f },
	/* 3 */ { 0x1080, "second", 0 }, /* the later line counts where they overlap */
	/* 4 */ { 0x10c0, "third", 0 },
	/* 5 */ { 0x10d0, "second", 0x50 },
	/* 6 */ { 0x1180, NULL, 0 },
	/* 7 */ { 0x2001, "void java.util.Timer.run(int)", 1 },
	/* 8 */ { 0x3000, NULL, 0 },
};

START_TEST(lines_to_names)
{
	FILE *file = fmemopen((char *)lines, sizeof(lines) - 1, "r");
	struct perfmap map = { 0 };

	perfmap_read(&map, file);
	fclose(file);
	ck_assert_uint_eq(map.count, 4);
	for (size_t i = 0; i < sizeof(finds) / sizeof(finds[0]); i++) {
		uint64_t offset = 0;
		const char *name = perfmap_find(&map, finds[i].address, &offset);

		ck_assert_msg(name == finds[i].name ||
				      (name && finds[i].name && !strcmp(name, finds[i].name)),
			      "row %zu", i);
		ck_assert_msg(offset == finds[i].offset, "row %zu", i);
	}
	perfmap_free(&map);
}
END_TEST

static const struct {
	const char *text;
	const char *function;
	const char *file;
	uint32_t line;
} names[] = {
	/*  0 */ { "LazyCompile:*serve /srv/app.js:12:3", "serve", "/srv/app.js", 12 },
	/*  1 */ { "JS:~ file:///srv/a b.mjs:7:1", "(anonymous)", "file:///srv/a b.mjs", 7 },
	/*  2 */
	{ "Function:^Map.get native collections.js", "Map.get", "native collections.js", 0 },
	/*  3 */ { "py::serve:/srv/app.py", "serve", "/srv/app.py", 0 },
	/*  4 */ { "py::<module>:/srv/app.py", "<module>", "/srv/app.py", 0 },
	/*  5 */ { "void java.util.Timer.run(int, long)", "java.util.Timer.run", "", 0 },
	/*  6 */ { "Lorg/app/Main;::main", "Lorg/app/Main;::main", "", 0 },
	/*  7 */
	{ "Builtin:CallFunction_ReceiverIsAny", "Builtin:CallFunction_ReceiverIsAny", "", 0 },
	/*  8 */ { "Interpreter", "Interpreter", "", 0 },
	/*  9 */ { "JS:*", "(anonymous)", "", 0 },
	/* 10 */ { "JS:+f x.js:99999999999", "f", "x.js:99999999999", 0 },
	/* 11 */ { "StubRoutines (1)", "StubRoutines", "", 0 },
};

START_TEST(what_names_say)
{
	struct perfmap_name name;

	perfmap_parse(names[_i].text, &name);
	ck_assert_str_eq(name.function, names[_i].function);
	ck_assert_str_eq(name.file, names[_i].file);
	ck_assert_uint_eq(name.line, names[_i].line);
}
END_TEST

static const struct {
	const char *text;
	const char *function;
	const char *file;
	uint32_t line;
} placed[] = {
	/* 0 */ { "Page.render /srv/my app.py:12", "Page.render", "/srv/my app.py", 12 },
	/* 1 */ { "<module> <frozen importlib>:0", "<module>", "<frozen importlib>", 0 },
	/* 2 */ { "alone", "alone", "", 0 },
	/* 3 */ { "", "", "", 0 },
};

START_TEST(what_interpreters_say)
{
	struct perfmap_name name;

	perfmap_parse_placed(placed[_i].text, &name);
	ck_assert_str_eq(name.function, placed[_i].function);
	ck_assert_str_eq(name.file, placed[_i].file);
	ck_assert_uint_eq(name.line, placed[_i].line);
}
END_TEST

START_TEST(long_names_are_cut_off)
{
	static char text[2000];
	struct perfmap_name name;

	memset(text, 'x', sizeof(text) - 1);
	perfmap_parse(text, &name);
	ck_assert_uint_eq(strlen(name.function), sizeof(name.function) - 1);
}
END_TEST

/* A map is looked for beside the dumps, and must be the process's own. */
START_TEST(whose_map_it_is)
{
	char dump[SAMPLE_PATH_BYTES];
	char nowhere[] = "nowhere.jsonl", *const dumps[] = { nowhere, dump };
	uint64_t long_ago = 1000000000;
	struct stat status;
	FILE *file;

	strcpy(dump, sample_path("dump.jsonl"));
	ck_assert_ptr_null(perfmap_open(4000001, long_ago, false, dumps, 2));
	sample_write("perf-4000001.map", "1 1 x\n", 6);
	file = perfmap_open(4000001, long_ago, false, dumps, 2);
	ck_assert_ptr_nonnull(file);
	fclose(file);
	ck_assert_ptr_null(perfmap_open(4000001, long_ago, true, dumps, 1));
	ck_assert_int_eq(stat(sample_path("perf-4000001.map"), &status), 0);
	ck_assert_ptr_null(perfmap_open(
		4000001, ((uint64_t)status.st_mtim.tv_sec + 10) * 1000000000, false, dumps, 2));
	sample_run("cd '%s' && mkdir perf-4000002.map && mkfifo perf-4000003.map",
		   sample_directory);
	ck_assert_ptr_null(perfmap_open(4000002, long_ago, false, dumps, 2));
	ck_assert_ptr_null(perfmap_open(4000003, long_ago, false, dumps, 2));
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	TEST(lines_to_names);
	EACH(what_names_say, names);
	EACH(what_interpreters_say, placed);
	TEST(long_names_are_cut_off);
	TEST(whose_map_it_is);
}

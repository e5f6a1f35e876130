/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, files of another build name addresses, or separate and compressed symbols are
 * lost. */
#include <sys/stat.h>

#include "names/objectfile.h"
#include "sample.h"
#include "suite.h"

static void expect_function(struct objectfile *file, uint64_t address, const char *name,
			    uint64_t offset)
{
	uint64_t found_offset = 0;
	const char *found = objectfile_function(file, address, &found_offset);

	ck_assert_pstr_eq(found, name);
	ck_assert_uint_eq(found_offset, offset);
}

static void expect_lines(struct objectfile *file, uint64_t in_inner)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];

	ck_assert_uint_eq(objectfile_frames(file, in_inner, frames), 3);
	ck_assert_str_eq(frames[0].function, "inner");
	ck_assert_uint_eq(frames[0].line, 3);
	ck_assert_str_eq(frames[2].function, "outer");
}

/* How the sample is changed after the build; each row keeps a different part of its names. */
static const struct {
	const char *name;
	const char *flags;
	const char *afterwards; /* in the directory; SAMPLE is the file */
	bool has_lines;
	bool has_static_names;
} cases[] = {
	/* 0 */ { "whole", "-g -O2", "true", true, true },
	/* 1 */ { "plain", "-O2", "true", false, true },
	/* 2 */
	{ "link", "-g -O2",
	  "objcopy --only-keep-debug SAMPLE SAMPLE.debug && "
	  "strip SAMPLE && objcopy --add-gnu-debuglink=SAMPLE.debug SAMPLE",
	  true, true },
	/* 3 */ { "stripped", "-O2 -shared -fPIC", "strip SAMPLE", false, false },
	/* 4 */
	{ "mini", "-O2 -shared -fPIC",
	  "cp SAMPLE full && strip SAMPLE && xz -f full && "
	  "objcopy --add-section .gnu_debugdata=full.xz SAMPLE",
	  false, true },
	/* 5 */ { "moved", "-g -O2 -Wl,-Ttext-segment=0x7000000", "true", true, true },
};

START_TEST(names_from_wherever_they_are)
{
	const char *name = cases[_i].name;
	uint64_t outer, in_inner, table_lock, cache, offset = 0;
	struct objectfile file;
	char build_id[64];

	sample_build("gcc", name, sample_c, cases[_i].flags);
	sample_build_id(name, build_id);
	outer = sample_symbol(name, "outer");
	in_inner = sample_symbol(name, "in_inner");
	table_lock = sample_symbol(name, "table_lock");
	cache = sample_symbol(name, "cache");
	sample_run("cd %s && SAMPLE=%s && eval \"$(echo '%s' | sed \"s/SAMPLE/$SAMPLE/g\")\"",
		   sample_directory, name, cases[_i].afterwards);
	objectfile_open(&file, sample_path(name), build_id);
	ck_assert_int_eq(file.state, OBJECTFILE_OPEN);
	expect_function(&file, outer, "outer", 0);
	expect_function(&file, outer + 3, "outer", 3);
	expect_function(&file, 1, NULL, 0);
	ck_assert_pstr_eq(objectfile_object(&file, table_lock + 4, &offset), "table_lock");
	ck_assert_uint_eq(offset, 4);
	ck_assert_pstr_eq(objectfile_object(&file, cache, &offset),
			  cases[_i].has_static_names ? "cache" : NULL);
	ck_assert_uint_eq(objectfile_function_start(&file, outer), outer);
	ck_assert_uint_eq(objectfile_function_start(&file, outer + 3), outer);
	ck_assert_uint_eq(objectfile_function_start(&file, table_lock), 0);
	ck_assert_uint_eq(objectfile_function_start(&file, 1ull << 40), 0);
	if (cases[_i].has_lines)
		expect_lines(&file, in_inner);
	objectfile_close(&file);
}
END_TEST

START_TEST(code_is_where_the_file_has_it)
{
	struct objectfile file;
	size_t before, after;
	uint64_t start, end;

	sample_build("gcc", "code", sample_c, "-g -O2");
	sample_text("code", &start, &end);
	uint64_t in_inner = sample_symbol("code", "in_inner");
	sample_run("cd %s && objcopy --only-keep-debug code code.debug", sample_directory);
	objectfile_open(&file, sample_path("code"), "");
	const uint8_t *code = objectfile_code(&file, in_inner, &before, &after);
	ck_assert_ptr_nonnull(code);
	ck_assert_uint_eq(code[0], 0x90); /* its nop */
	ck_assert_uint_ge(before, in_inner - start);
	ck_assert_uint_ge(after, end - in_inner);
	ck_assert_ptr_null(objectfile_code(&file, 1ull << 40, &before, &after));
	objectfile_close(&file);
	objectfile_open(&file, sample_path("code.debug"), "");
	ck_assert_ptr_null(objectfile_code(&file, in_inner, &before, &after));
	objectfile_close(&file);
}
END_TEST

START_TEST(another_build_names_nothing)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	struct objectfile file;
	uint64_t outer, offset;

	sample_build("gcc", "first", sample_c, "-g -O2");
	outer = sample_symbol("first", "outer");
	objectfile_open(&file, sample_path("first"), "0123456789abcdef0123456789abcdef01234567");
	ck_assert_int_eq(file.state, OBJECTFILE_OTHER_BUILD);
	ck_assert_ptr_null(objectfile_function(&file, outer, &offset));
	ck_assert_ptr_null(objectfile_object(&file, outer, &offset));
	ck_assert_uint_eq(objectfile_frames(&file, outer, frames), 0);
	objectfile_close(&file);
	objectfile_open(&file, sample_path("first"), "");
	ck_assert_int_eq(file.state, OBJECTFILE_OPEN);
	objectfile_close(&file);
}
END_TEST

START_TEST(what_is_no_file_is_missing)
{
	static const char *const paths[] = {
		/* 0 */ "absent", /* 1 */ "directory", /* 2 */ "pipe",    /* 3 */ "empty",
		/* 4 */ "text",   /* 5 */ "header",    /* 6 */ "archive", /* 7 */ "zeros",
	};
	struct objectfile file;
	uint64_t offset;

	sample_run("cd %s && mkdir directory && mkfifo pipe && touch empty && echo text >text && "
		   "head -c 64 /bin/true >header && ar rc archive text && "
		   "head -c 5000 /dev/zero >zeros",
		   sample_directory);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		objectfile_open(&file, sample_path(paths[i]), i % 2 ? "" : "00112233");
		ck_assert_msg(!objectfile_function(&file, 0x1000, &offset), "row %zu", i);
		objectfile_close(&file);
	}
	objectfile_open(&file, "", "");
	ck_assert_int_eq(file.state, OBJECTFILE_MISSING);
	objectfile_open(&file, "relative", "../../../etc");
	ck_assert_int_eq(file.state, OBJECTFILE_MISSING);
	objectfile_close(&file);
}
END_TEST

/* Damages the file at many places: whatever then is said, nothing may crash or hang. */
START_TEST(damaged_files_are_harmless)
{
	static unsigned char whole[1 << 16], damaged[sizeof(whole)];
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	struct objectfile file;
	uint64_t outer, offset;
	size_t count;
	FILE *in;

	sample_build("gcc", "victim", sample_c, "-g -O2");
	outer = sample_symbol("victim", "outer");
	in = fopen(sample_path("victim"), "r");
	count = fread(whole, 1, sizeof(whole), in);
	fclose(in);
	ck_assert_uint_lt(count, sizeof(whole));
	srand(7);
	for (unsigned int round = 0; round < 300; round++) {
		memcpy(damaged, whole, count);
		for (unsigned int i = 0; i < 1 + round % 40; i++)
			damaged[(size_t)rand() % (round % 3 ? count : 4096)] =
				(unsigned char)rand();
		sample_write("damaged", damaged, round % 5 ? count : (size_t)rand() % count);
		objectfile_open(&file, sample_path("damaged"), "");
		objectfile_function(&file, outer, &offset);
		objectfile_object(&file, outer, &offset);
		objectfile_frames(&file, outer, frames);
		objectfile_close(&file);
	}
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	EACH(names_from_wherever_they_are, cases);
	TEST(code_is_where_the_file_has_it);
	TEST(another_build_names_nothing);
	TEST(what_is_no_file_is_missing);
	TEST(damaged_files_are_harmless);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a report says that the program ran another version of a library than it did. */
#include "names/packages.h"

#include "dump_text.h"
#include "names/elfnotes.h"
#include "tree.h"

static struct recording recording;
static struct packages packages;
static struct elf_notes own;
static char self[PATH_MAX];

/* A dump of one file, which is here and of this build; with what is behind its header. */
static void read_dump(const char *path, const char *build_id, const char *lines)
{
	char dump[4096];
	snprintf(dump, sizeof(dump),
		 "{'schema_version':1,'epoch_unix_nano':1,'dumped_unix_nano':2,'strings':[''],"
		 "'modules':[{'path':'%s','build_id':'%s','base':0,'start':4096,'size':4096}]}\n%s",
		 path, build_id, lines);
	read_good(&recording, dump, 0);
}

static void setup(void)
{
	tree_begin();
	ck_assert_ptr_nonnull(realpath("/proc/self/exe", self));
	ck_assert(elf_notes_read(&own, self));
}

static void teardown(void)
{
	packages_free(&packages);
	recording_free(&recording);
	tree_end();
}

static void check(enum package_sort sort, const char *name, const char *version)
{
	struct package package = packages_of(&packages, 0);
	ck_assert_str_eq(package_word(package.sort), package_word(sort));
	ck_assert_str_eq(recording.strings[package.name], name);
	ck_assert_str_eq(recording.strings[package.version], version);
}

START_TEST(the_programs_own_file_is_of_no_package)
{
	read_dump(self, own.build_id, "");
	packages_build(&packages, &recording, "");
	check(PACKAGE_OWN, "", "");
	ck_assert_int_eq(packages_of(&packages, NO_INDEX).sort, PACKAGE_UNKNOWN);
}
END_TEST

START_TEST(another_build_is_not_known)
{
	read_dump(self, "0123456789", "");
	packages_build(&packages, &recording, "");
	check(PACKAGE_UNKNOWN, "", "");
}
END_TEST

START_TEST(a_file_that_is_not_here_is_not_known)
{
	read_dump("/nonexistent/file", "", "");
	packages_build(&packages, &recording, "");
	check(PACKAGE_UNKNOWN, "", "");
}
END_TEST

START_TEST(the_dump_is_believed_first)
{
	char line[2 * PATH_MAX];
	snprintf(line, sizeof(line),
		 "{'e':'names','path':'%s','build_id':'%s','package':'openssl','version':'3.0.15',"
		 "'from':'deb','texts':['']}\n",
		 self, own.build_id);
	read_dump(self, own.build_id, line);
	packages_build(&packages, &recording, "");
	check(PACKAGE_DEB, "openssl", "3.0.15");
}
END_TEST

/* Files of a container are of its packages. */
START_TEST(files_below_a_root_are_of_its_packages)
{
	char command[2 * PATH_MAX];
	snprintf(command, sizeof(command), "cp %s %s", self, tree_path("/usr/bin/tool"));
	ck_assert_int_eq(system(command), 0);
	tree_file("/var/lib/dpkg/info/tool.list", "/bin/tool\n");
	tree_file("/var/lib/dpkg/status", "Package: tool\nVersion: 7\n");
	read_dump("/usr/bin/tool", own.build_id, "");
	packages_build(&packages, &recording, tree_root);
	check(PACKAGE_DEB, "tool", "7");
}
END_TEST

START_TEST(words_are_those_that_are_parsed)
{
	enum package_sort sort;
	for (int i = PACKAGE_OWN; i < PACKAGE_SORTS; i++) {
		ck_assert(package_parse(package_word((enum package_sort)i), &sort));
		ck_assert_int_eq((int)sort, i);
	}
	ck_assert(!package_parse("", &sort));
	ck_assert(!package_parse("apk?", &sort));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_programs_own_file_is_of_no_package);
	TEST(another_build_is_not_known);
	TEST(a_file_that_is_not_here_is_not_known);
	TEST(the_dump_is_believed_first);
	TEST(files_below_a_root_are_of_its_packages);
	TEST(words_are_those_that_are_parsed);
}

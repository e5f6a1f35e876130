/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a file of another build is taken for the recorded one, or its note is missed. */
#include "names/elfnotes.h"

#include "tree.h"

#define NOTE "{\"type\":\"rpm\",\"name\":\"thing\",\"version\":\"1.2-3\"}"

/* A library with a note of that text, padded to words. */
static const char *build(const char *text)
{
	static char path[PATH_MAX];
	char command[2 * PATH_MAX];
	snprintf(path, sizeof(path), "%s/a.s", tree_root);
	FILE *file = fopen(path, "w");
	fprintf(file,
		".section .note.package,\"a\",@note\n.balign 4\n.long 4,%zu,0xcafe1a7e\n"
		".asciz \"FDO\"\n.byte ",
		strlen(text) + 1);
	for (const char *at = text; *at; at++)
		fprintf(file, "%d,", *at);
	fputs("0\n.balign 4\n.section .note.GNU-stack,\"\"\n", file);
	fclose(file);
	snprintf(command, sizeof(command), "gcc -shared -Wl,--build-id=0xabcd12 -o %s/a.so %s/a.s",
		 tree_root, tree_root);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/a.so", tree_root);
	return path;
}

START_TEST(a_file_says_its_build_and_its_package)
{
	struct elf_notes notes;
	ck_assert(elf_notes_read(&notes, build(NOTE)));
	ck_assert_str_eq(notes.build_id, "abcd12");
	ck_assert_str_eq(notes.type, "rpm");
	ck_assert_str_eq(notes.name, "thing");
	ck_assert_str_eq(notes.version, "1.2-3");
}
END_TEST

START_TEST(a_broken_note_is_none)
{
	struct elf_notes notes;
	ck_assert(elf_notes_read(&notes, build("{\"name\":")));
	ck_assert_str_eq(notes.build_id, "abcd12");
	ck_assert_str_eq(notes.name, "");
}
END_TEST

START_TEST(other_files_have_none)
{
	struct elf_notes notes;
	tree_file("/text", "no such thing");
	ck_assert(!elf_notes_read(&notes, tree_path("/text")));
	ck_assert(!elf_notes_read(&notes, tree_path("/none")));
	ck_assert(!elf_notes_read(&notes, tree_root));
	ck_assert_str_eq(notes.build_id, "");
}
END_TEST

SUITE()
{
	FIXTURE(tree_begin, tree_end);
	TEST(a_file_says_its_build_and_its_package);
	TEST(a_broken_note_is_none);
	TEST(other_files_have_none);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, each of many windows reads the symbols of all files anew, or takes those of
 * another file. */
#include "names/openfiles.h"

#include "suite.h"

START_TEST(a_file_is_opened_once)
{
	static const char none[] = "0123456789abcdef0123456789abcdef01234567";
	struct objectfile *program = openfiles_get("/proc/self/exe", "");

	ck_assert_int_eq(program->state, OBJECTFILE_OPEN);
	ck_assert_ptr_eq(openfiles_get("/proc/self/exe", ""), program);
	ck_assert_int_eq(openfiles_get("/proc/self/exe", none)->state, OBJECTFILE_OTHER_BUILD);
	ck_assert_int_eq(openfiles_get("/nowhere", "")->state, OBJECTFILE_MISSING);
	ck_assert_ptr_eq(openfiles_get("/nowhere", ""), openfiles_get("/nowhere", ""));
	ck_assert_ptr_eq(openfiles_get("/proc/self/exe", ""), program);
}
END_TEST

SUITE()
{
	TEST(a_file_is_opened_once);
}

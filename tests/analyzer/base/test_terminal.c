/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, lines would be cut that a file or a wide terminal has room for. */
#include "base/terminal.h"

#include "suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Standard output is no terminal. */
static void setup(void)
{
	ck_assert_int_ge(dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO), 0);
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
	unsetenv("CLICOLOR_FORCE");
}

START_TEST(lines_end_where_is_said)
{
	ck_assert_uint_eq(terminal_columns(false), 100);
	ck_assert_uint_eq(terminal_columns(true), 0);
	setenv("COLUMNS", "72", 1);
	ck_assert_uint_eq(terminal_columns(false), 72);
	ck_assert_uint_eq(terminal_columns(true), 0);
}
END_TEST

START_TEST(colours_are_for_terminals_and_who_insists)
{
	ck_assert(terminal_wants_color("always"));
	ck_assert(!terminal_wants_color("never"));
	ck_assert(!terminal_wants_color("auto"));
	setenv("CLICOLOR_FORCE", "1", 1);
	ck_assert(terminal_wants_color("auto"));
	setenv("NO_COLOR", "1", 1);
	ck_assert(!terminal_wants_color("auto"));
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	TEST(lines_end_where_is_said);
	TEST(colours_are_for_terminals_and_who_insists);
}

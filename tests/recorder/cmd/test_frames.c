/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, call stacks of a living process have wrong names, or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frames.h"
#include "suite.h"

/* As a C++ compiler calls them. */
__attribute__((noinline)) void in_cxx(void) __asm__("_ZN4bank8transferERNS_7AccountE");
int savings __asm__("_ZN4bank7savingsE") = 1;

void in_cxx(void)
{
	__asm__ volatile("nop");
}

int a_variable_of_the_test[4] = { 1, 2, 3, 4 };

__attribute__((noinline)) static uint64_t where_am_i(void)
{
	__asm__ volatile("");
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* Called as functions of a runtime's headers are, and put where they are called as those are. */
__attribute__((always_inline)) static inline uint64_t __gthread_inner(void)
{
	return where_am_i() + 0;
}

__attribute__((always_inline)) static inline uint64_t __gthread_outer(void)
{
	return __gthread_inner() + 0;
}

__attribute__((always_inline)) static inline uint64_t own_inlined(void)
{
	return where_am_i() + 0;
}

START_TEST(lines_are_the_programs_own)
{
	struct frames *frames = frames_open(getpid());
	char text[512], expected[64];
	int line = __LINE__ + 1;
	uint64_t address = __gthread_outer();

	snprintf(expected, sizeof(expected), " (test_frames.c:%d)", line);
	frames_describe(frames, address, text, sizeof(text));
	ck_assert_msg(strncmp(text, "lines_are_the_programs_own_fn+0x", 32) == 0, "%s", text);
	ck_assert_msg(strstr(text, expected) != NULL, "%s, not %s", text, expected);
	/* A function that it inlined itself is its own text. */
	line = __LINE__ + 1;
	address = own_inlined();
	snprintf(expected, sizeof(expected), " (test_frames.c:%d)", line);
	frames_describe(frames, address, text, sizeof(text));
	ck_assert_msg(strstr(text, " (test_frames.c:") && !strstr(text, expected), "%s", text);
	frames_close(frames);
}
END_TEST

START_TEST(functions_have_names_and_lines)
{
	struct frames *frames = frames_open(getpid());
	uint64_t address = where_am_i();
	char text[512];

	ck_assert_ptr_nonnull(frames);
	frames_describe(frames, address, text, sizeof(text));
	ck_assert_msg(strncmp(text, "functions_have_names_and_lines_fn+0x", 36) == 0, "%s", text);
	ck_assert_msg(strstr(text, " (test_frames.c:") != NULL, "%s", text);
	/* One byte into it: a return address never is a function's first byte. */
	frames_describe(frames, (uint64_t)(uintptr_t)getpid + 1, text, sizeof(text));
	ck_assert_msg(strstr(text, "getpid") != NULL, "%s", text);
	frames_close(frames);
}
END_TEST

START_TEST(variables_have_names)
{
	struct frames *frames = frames_open(getpid());
	char text[512];
	int on_stack = 0;

	ck_assert(frames_name_variable(frames, (uint64_t)(uintptr_t)a_variable_of_the_test, text,
				       sizeof(text)));
	ck_assert_str_eq(text, "a_variable_of_the_test");
	ck_assert(frames_name_variable(frames, (uint64_t)(uintptr_t)&a_variable_of_the_test[2],
				       text, sizeof(text)));
	ck_assert_str_eq(text, "a_variable_of_the_test+0x8");
	ck_assert(
		!frames_name_variable(frames, (uint64_t)(uintptr_t)&on_stack, text, sizeof(text)));
	ck_assert(!frames_name_variable(frames, (uint64_t)(uintptr_t)getpid, text, sizeof(text)));
	ck_assert(!frames_name_variable(frames, 0, text, sizeof(text)));
	frames_close(frames);
}
END_TEST

START_TEST(names_are_as_in_the_programs_text)
{
	struct frames *frames = frames_open(getpid());
	char text[512];

	frames_describe(frames, (uint64_t)(uintptr_t)in_cxx + 1, text, sizeof(text));
	ck_assert_msg(strncmp(text, "bank::transfer+0x1 ", 19) == 0, "%s", text);
	ck_assert(frames_name_variable(frames, (uint64_t)(uintptr_t)&savings, text, sizeof(text)));
	ck_assert_str_eq(text, "bank::savings");
	frames_close(frames);
}
END_TEST

START_TEST(what_has_no_name_is_a_number)
{
	struct frames *frames = frames_open(getpid());
	void *code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[64], expected[64];

	snprintf(expected, sizeof(expected), "%p", code);
	frames_describe(frames, (uint64_t)(uintptr_t)code, text, sizeof(text));
	ck_assert_str_eq(text, expected);
	frames_describe(frames, 0, text, sizeof(text));
	ck_assert_str_eq(text, "0x0");
	frames_close(frames);
	frames_describe(NULL, 16, text, sizeof(text));
	ck_assert_str_eq(text, "0x10");
	ck_assert_ptr_null(frames_open(-1));
}
END_TEST

SUITE()
{
	TEST(functions_have_names_and_lines);
	TEST(lines_are_the_programs_own);
	TEST(variables_have_names);
	TEST(names_are_as_in_the_programs_text);
	TEST(what_has_no_name_is_a_number);
}

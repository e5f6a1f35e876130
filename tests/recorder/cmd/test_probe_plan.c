/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, instructions are moved that cannot be, or to where they do something else. */
#include "probe_plan.h"

#include <string.h>

#include "suite.h"

static const struct row {
	const char *code;
	uint32_t bytes;
	const char *why; /* NULL: it can be moved */
	uint8_t old_bytes, moved_bytes, fixups, marks;
} rows[] = {
	/* push rbx; mov ebx, edi; lea eax, [rbx+1]; pop rbx; ret */
	{ "\x53\x89\xfb\x8d\x43\x01\x5b\xc3", 8, NULL, 6, 11, 1, 2 },
	/* mov eax, 5; ret */
	{ "\xb8\x05\0\0\0\xc3", 6, NULL, 5, 10, 1, 0 },
	/* mov eax, [rip+16]; ret */
	{ "\x8b\x05\x10\0\0\0\xc3", 7, NULL, 6, 11, 2, 0 },
	/* test edi, edi; je 9; xor eax, eax; ret; nop; mov eax, edi; ret */
	{ "\x85\xff\x74\x05\x31\xc0\xc3\x90\x90\x89\xf8\xc3", 12, NULL, 6, 15, 2, 2 },
	/* jmp [rip+16] */
	{ "\xff\x25\x10\0\0\0", 6, NULL, 6, 11, 2, 0 },
	/* xor eax, eax; ret */
	{ "\x31\xc0\xc3", 3, "shorter than the five bytes", 0, 0, 0, 0 },
	/* ret; four nops; ret */
	{ "\xc3\x90\x90\x90\x90\xc3", 6, "ends within the five bytes", 0, 0, 0, 0 },
	/* push rbx; call 0; pop rbx; ret */
	{ "\x53\xe8\xfa\xff\xff\xff\x5b\xc3", 8, "a call", 0, 0, 0, 0 },
	/* push rbx; call rax; mov ebx, eax; pop rbx; ret */
	{ "\x53\xff\xd0\x89\xc3\x5b\xc3", 7, "a call", 0, 0, 0, 0 },
	/* xor eax, eax; loop 2; ret */
	{ "\x31\xc0\xe2\xfe\x90\xc3", 6, "a loop's", 0, 0, 0, 0 },
	/* mov eax, edi; dec eax; add edi, eax; jne 2; ret */
	{ "\x89\xf8\xff\xc8\x01\xc7\x75\xfa\xc3", 9, "within its first five", 0, 0, 0, 0 },
	/* the same, jne 0: each round would be a call */
	{ "\x89\xf8\xff\xc8\x01\xc7\x75\xf8\xc3", 9, "within its first five", 0, 0, 0, 0 },
	/* mov eax, edi; sub rsp, 8; mov eax, [rsp+16]; add rsp, 8; ret */
	{ "\x89\xf8\x48\x83\xec\x08\x8b\x44\x24\x10\x48\x83\xc4\x08\xc3", 15, "from the stack", 0,
	  0, 0, 0 },
	/* the same, mov eax, [rsp+4] */
	{ "\x89\xf8\x48\x83\xec\x08\x8b\x44\x24\x04\x48\x83\xc4\x08\xc3", 15, NULL, 6, 11, 1, 1 },
	/* push rbp; mov rbp, rsp; mov eax, [rbp+16]; pop rbp; ret */
	{ "\x55\x48\x89\xe5\x8b\x45\x10\x5d\xc3", 9, "from the stack", 0, 0, 0, 0 },
	/* mov rax, rdi; jmp 10; five bytes that are no code; xor eax, eax; ret */
	{ "\x48\x89\xf8\xeb\x05\x06\x06\x06\x06\x06\x31\xc0\xc3", 13, "no instruction", 0, 0, 0,
	  0 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

START_TEST(functions_are_moved_or_refused)
{
	const struct row *row = &rows[_i];
	struct probe_order order = { 0 };
	const char *why = probe_plan((const uint8_t *)row->code, row->bytes, &order);

	if (row->why) {
		ck_assert_msg(why && strstr(why, row->why), "%s", why ? why : "it was moved");
		return;
	}
	ck_assert_msg(!why, "%s", why);
	ck_assert_uint_eq(order.old_bytes, row->old_bytes);
	ck_assert_uint_eq(order.moved_bytes, row->moved_bytes);
	ck_assert_uint_eq(order.fixup_count, row->fixups);
	ck_assert_uint_eq(order.mark_count, row->marks);
	ck_assert_int_eq(memcmp(order.old, row->code, row->old_bytes), 0);
}

static int32_t distance_at(const struct probe_order *order, uint32_t at)
{
	int32_t distance;

	memcpy(&distance, &order->moved[at], sizeof(distance));
	return distance;
}

START_TEST(distances_stay_what_they_are)
{
	struct probe_order order = { 0 };

	/* A short branch becomes a long one; all distances are as if at the old place. */
	ck_assert_ptr_null(probe_plan((const uint8_t *)rows[3].code, rows[3].bytes, &order));
	ck_assert_int_eq(memcmp(order.moved, "\x85\xff\x0f\x84", 4), 0);
	ck_assert_int_eq(distance_at(&order, 4) + 8, 9);
	ck_assert_int_eq(distance_at(&order, 11) + 15, 6);
	ck_assert_uint_eq(order.marks[1].old, 4);
	ck_assert_uint_eq(order.marks[1].moved, 8);
}

START_TEST(places_are_refused_by_what_is_known)
{
	static const struct probe_module program = { .path = "/bin/server" };
	static const struct probe_module loader = { .path = "/lib/ld-linux-x86-64.so.2" };
	const struct probe_place good = {
		.module = &program, .function = "parse", .low = 16, .high = 32
	};
	struct probe_place place = good;

	ck_assert_ptr_null(probe_plan_place(&place));
	place.module = &loader;
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "loader"));
	place = good;
	place.high = place.low = 0;
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "size"));
	place = good;
	strcpy(place.function, "vfork");
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "elsewhere"));
	place = good;
	place.has_debug_info = place.is_variadic = true;
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "variable number"));
	place.is_variadic = false;
	place.takes_stack_parameters = true;
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "on the stack"));
	/* None of that matters to what does not call it. */
	strcpy(place.function, "vfork");
	place.kind = PROBE_AT_LINE;
	ck_assert_ptr_null(probe_plan_place(&place));
	place.high = place.low;
	ck_assert_ptr_nonnull(strstr(probe_plan_place(&place), "not known"));
}

SUITE()
{
	LOOP(functions_are_moved_or_refused, 0, ROWS);
	TEST(distances_stay_what_they_are);
	TEST(places_are_refused_by_what_is_known);
}

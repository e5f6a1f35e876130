/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, marks in programs are not found, or their values are read from wrong places. */
#include "usdt.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "probe_eval.h"
#include "suite.h"

static uint64_t find(void *context, const char *symbol, size_t length)
{
	(void)context;
	return length == 7 && memcmp(symbol, "counter", 7) == 0 ? 0x4000 : 0;
}

START_TEST(arguments_become_fetches)
{
	static const struct {
		const char *text;
		uint8_t size, type, start, reg;
		int64_t add;
		uint8_t loaded; /* bytes; 0: it is the value itself */
		uint8_t shift;
	} rows[] = {
		/*  0 */ { "-4@%eax", 4, PROBE_SIGNED, PROBE_FROM_REGISTER, PROBE_RAX, 0, 0, 0 },
		/*  1 */ { "8@%rdi", 8, PROBE_UNSIGNED, PROBE_FROM_REGISTER, PROBE_RDI, 0, 0, 0 },
		/*  2 */
		{ "8@-16(%rbp)", 8, PROBE_UNSIGNED, PROBE_FROM_REGISTER, PROBE_RBP, -16, 8, 0 },
		/*  3 */ { "4@(%rax)", 4, PROBE_UNSIGNED, PROBE_FROM_REGISTER, PROBE_RAX, 0, 4, 0 },
		/*  4 */ { "8@$5", 8, PROBE_UNSIGNED, PROBE_FROM_ZERO, 0, 5, 0, 0 },
		/*  5 */ { "-4@$-1", 4, PROBE_SIGNED, PROBE_FROM_ZERO, 0, -1, 0, 0 },
		/*  6 */
		{ "8@counter(%rip)", 8, PROBE_UNSIGNED, PROBE_FROM_MODULE, PROBE_RIP, 0x4000, 8,
		  0 },
		/*  7 */
		{ "8@counter+16(%rip)", 8, PROBE_UNSIGNED, PROBE_FROM_MODULE, PROBE_RIP, 0x4010, 8,
		  0 },
		/*  8 */ { "2@counter", 2, PROBE_UNSIGNED, PROBE_FROM_MODULE, 0, 0x4000, 2, 0 },
		/*  9 */ { "1@%ah", 1, PROBE_UNSIGNED, PROBE_FROM_REGISTER, PROBE_RAX, 0, 0, 8 },
		/* 10 */ { "-1@%r15b", 1, PROBE_SIGNED, PROBE_FROM_REGISTER, 15, 0, 0, 0 },
		/* 11 */
		{ "8@0x10(%rsp)", 8, PROBE_UNSIGNED, PROBE_FROM_REGISTER, PROBE_RSP, 16, 8, 0 },
		/* 12 */
		{ "8@24+counter(%rip)", 8, PROBE_UNSIGNED, PROBE_FROM_MODULE, PROBE_RIP, 0x4018, 8,
		  0 },
		/* 13 */ { "8f@%xmm0", 8, PROBE_REAL, PROBE_FROM_VECTOR, 0, 0, 0, 0 },
		/* 14 */ { "-4f@%xmm15", 4, PROBE_REAL, PROBE_FROM_VECTOR, 15, 0, 0, 0 },
		/* 15 */ { "8f@8(%rsp)", 8, PROBE_REAL, PROBE_FROM_REGISTER, PROBE_RSP, 8, 8, 0 },
		/* 16 */ { "8@%xmm1", 8, PROBE_UNSIGNED, PROBE_FROM_VECTOR, 1, 0, 0, 0 },
		/* those that no program can have */
		/* 17 */ { "8@-8(%rsp,%rax,4)", 0, 0, 0, 0, 0, 0, 0 },
		/* 18 */ { "2f@%xmm0", 0, 0, 0, 0, 0, 0, 0 },
		/* 19 */ { "8f@%xmm16", 0, 0, 0, 0, 0, 0, 0 },
		/* 20 */ { "8@unknown(%rip)", 0, 0, 0, 0, 0, 0, 0 },
		/* 21 */ { "3@%rax", 0, 0, 0, 0, 0, 0, 0 },
		/* 22 */ { "8@%rax)", 0, 0, 0, 0, 0, 0, 0 },
		/* 23 */ { "8@", 0, 0, 0, 0, 0, 0, 0 },
		/* 24 */ { "@", 0, 0, 0, 0, 0, 0, 0 },
		/* 25 */ { "8@counter(%rax)", 0, 0, 0, 0, 0, 0, 0 },
	};
	struct probe_code code = { .fetch_count = 1 };
	struct probe_fetch fetches[2];

	ck_assert_uint_eq(usdt_arguments(rows[_i].text, fetches, 2, find, NULL), 1);
	ck_assert_uint_eq(fetches[0].size, rows[_i].size);
	if (!rows[_i].size)
		return;
	ck_assert_uint_eq(fetches[0].type, rows[_i].type);
	ck_assert_uint_eq(fetches[0].start, rows[_i].start);
	if (rows[_i].start == PROBE_FROM_REGISTER)
		ck_assert_uint_eq(fetches[0].reg, rows[_i].reg);
	ck_assert_int_eq(fetches[0].add, rows[_i].add);
	ck_assert_uint_eq(fetches[0].step_count, rows[_i].loaded != 0);
	ck_assert_uint_eq(fetches[0].steps[0].bytes, rows[_i].loaded);
	ck_assert_uint_eq(fetches[0].bit_shift, rows[_i].shift);
	code.fetches[0] = fetches[0];
	code.has_reals = probe_code_has_reals(&code);
	ck_assert(probe_code_is_valid(&code));
}

START_TEST(arguments_are_counted)
{
	struct probe_fetch fetches[2];

	ck_assert_uint_eq(usdt_arguments("", fetches, 2, find, NULL), 0);
	ck_assert_uint_eq(usdt_arguments(" 8@%rax  -4@%edi ", fetches, 2, find, NULL), 2);
	ck_assert_uint_eq(fetches[1].reg, PROBE_RDI);
	ck_assert_uint_eq(usdt_arguments("8@%rax 8@%rax 8@%rax", fetches, 2, find, NULL), 2);
}

/* As <sys/sdt.h> writes one. */
static __attribute__((noinline)) void marked(int value)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte 0\n"
			 ".8byte 0x1234\n"
			 ".asciz \"wcprof\"\n"
			 ".asciz \"marked\"\n"
			 ".asciz \"-4@%0\"\n"
			 "994: .balign 4\n"
			 ".popsection\n" ::"r"(value));
}

static bool see(void *context, const struct usdt_mark *mark)
{
	struct usdt_mark *seen = context;

	if (strcmp(mark->provider, "wcprof") == 0 && strcmp(mark->name, "marked") == 0)
		*seen = *mark;
	return true;
}

START_TEST(marks_are_found_in_a_file)
{
	struct usdt_mark mark = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf *elf;

	marked(7);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	usdt_each(elf, see, &mark);
	ck_assert(mark.address != 0);
	ck_assert_uint_eq(mark.semaphore, 0x1234);
	ck_assert(strncmp(mark.arguments, "-4@%e", 5) == 0);
	elf_end(elf);
	close(fd);
}

SUITE()
{
	LOOP(arguments_become_fetches, 0, 26);
	TEST(arguments_are_counted);
	TEST(marks_are_found_in_a_file);
}

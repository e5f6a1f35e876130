/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a function is given another one's entry in the unwind tables, or none. Or a
 * damaged table is read where nothing is.
 */
#include <string.h>
#include <sys/mman.h>

#include "unwind_table.h"
#include "suite.h"

__asm__(".text\n"
	"before:\n\tnop\n\tnop\n"
	"covered:\n\t.cfi_startproc\n\t.cfi_signal_frame\n\tnop\n\tnop\n\tnop\n\t.cfi_endproc\n"
	"covered_end:\n\tnop\n\tnop\n");

#define CODE extern __attribute__((visibility("hidden"))) const char
CODE before[], covered[], covered_end[];

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

START_TEST(a_function_has_its_entry)
{
	struct unwind_module module;
	struct unwind_entry entry;

	ck_assert(unwind_module_at(address(covered), &module));
	for (const char *at = covered; at < covered_end; at++) {
		ck_assert(unwind_entry_at(&module, address(at), &entry));
		ck_assert_uint_eq(entry.start, address(covered));
		ck_assert(entry.is_signal);
		ck_assert_uint_eq(entry.code_factor, 1);
		ck_assert_int_eq(entry.data_factor, -8);
		ck_assert_uint_eq(entry.return_column, 16);
		ck_assert(!entry.common.has_failed && entry.common.at < entry.common.end);
	}
	ck_assert(!unwind_entry_at(&module, address(before), &entry));
	ck_assert(!unwind_entry_at(&module, address(covered_end), &entry));
	ck_assert(!unwind_entry_at(&module, 0, &entry));
	ck_assert(!unwind_entry_at(&module, UINT64_MAX, &entry));
}
END_TEST

START_TEST(only_readable_segments_may_be_read)
{
	struct unwind_module module;

	ck_assert(!unwind_module_at(8, &module));
	ck_assert(unwind_module_at(address(covered), &module));
	ck_assert(unwind_module_may_read(&module, address(covered), 3));
	ck_assert(!unwind_module_may_read(&module, address(covered), 1U << 30));
	ck_assert(!unwind_module_may_read(&module, address(&module), 1));
	ck_assert(!unwind_module_may_read(&module, 0, 1));
}
END_TEST

/*
 * A table of our own, of one function, at the end of a page behind which there is none. Each of its
 * bytes is damaged in several ways.
 */
enum {
	PAGE = 4096,
	TABLE_BYTES = 72,
	HEADER = 0,
	PLACES = 12,
	COMMON = 20,
	OWN = 44,
	CODE_AT = 16
};

static void put(uint8_t *table, unsigned at, uint32_t number)
{
	memcpy(table + at, &number, sizeof(number));
}

static void fill(uint8_t *table)
{
	static const uint8_t start[] = { 1, 0x1b, 0x03, 0x3b };
	static const uint8_t shared[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0 };

	memset(table, 0, TABLE_BYTES);
	memcpy(table + HEADER, start, sizeof(start));
	put(table, HEADER + 8, 1);
	put(table, PLACES, (uint32_t)-CODE_AT);
	put(table, PLACES + 4, OWN);
	put(table, COMMON, OWN - COMMON - 4);
	memcpy(table + COMMON + 8, shared, sizeof(shared));
	put(table, OWN, TABLE_BYTES - OWN - 4);
	put(table, OWN + 4, OWN + 4 - COMMON);
	put(table, OWN + 8, (uint32_t)(-CODE_AT - OWN - 8));
	put(table, OWN + 12, CODE_AT);
}

START_TEST(a_damaged_table_is_read_within_its_segment)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *table = pages + PAGE - TABLE_BYTES;
	struct unwind_module module = { .header = table, .segment_count = 1 };
	struct unwind_entry entry;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	module.segments[0] = (struct unwind_segment){ address(pages), address(pages) + PAGE };
	fill(table);
	ck_assert(unwind_entry_at(&module, address(table) - CODE_AT, &entry));
	ck_assert_uint_eq(entry.start, address(table) - CODE_AT);
	ck_assert_ptr_eq(entry.own.end, table + TABLE_BYTES);
	ck_assert(!unwind_entry_at(&module, address(table), &entry));
	for (unsigned i = 0; i < TABLE_BYTES; i++) {
		static const uint8_t damages[] = { 0, 1, 0x3f, 0x7f, 0x80, 0xff };

		for (unsigned k = 0; k < sizeof(damages); k++) {
			fill(table);
			table[i] = damages[k];
			if (unwind_entry_at(&module, address(table) - CODE_AT, &entry))
				ck_assert(entry.own.end <= pages + PAGE &&
					  entry.common.end <= pages + PAGE);
		}
	}
}
END_TEST

SUITE()
{
	TEST(a_function_has_its_entry);
	TEST(only_readable_segments_may_be_read);
	TEST(a_damaged_table_is_read_within_its_segment);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an address is taken for another module's that was there before or after. */
#include "recording/modulemap.h"

#include "dump_text.h"
#include "suite.h"

#define MODULE(process_of, start_of, size_of, loaded, unloaded)                  \
	{                                                                        \
		.process = (process_of), .start = (start_of), .size = (size_of), \
		.loaded_ns = (loaded), .unloaded_ns = (unloaded)                 \
	}

static struct rec_module modules[] = {
	/* 0 */ MODULE(0, 0x1000, 0x1000, 0, 0),
	/* 1 */ MODULE(0, 0x3000, 0x2000, 10, 20), /* one plug-in after the other */
	/* 2 */ MODULE(0, 0x3800, 0x1000, 30, 40),
	/* 3 */ MODULE(0, 0x3000, 0x1000, 50, 0),
	/* 4 */ MODULE(1, 0x1000, 0x8000, 0, 0),
	/* 5 */ MODULE(0, 0, 0, 0, 0),    /* no range at all */
					  /* 6 */
	MODULE(2, 0x1000, 0x1000, 5, 90), /* came back: its time has the other's in it */
	/* 7 */ MODULE(2, 0x1000, 0x1000, 30, 60),
};

static const struct recording recording = {
	.modules = modules,
	.module_count = sizeof(modules) / sizeof(modules[0]),
};

static const struct {
	uint32_t process;
	uint64_t address;
	uint64_t at_ns;
	uint32_t module;
} rows[] = {
	/*  0 */ { 0, 0x0fff, 0, NO_INDEX },
	/*  1 */ { 0, 0x1000, 99, 0 },
	/*  2 */ { 0, 0x1fff, 0, 0 },
	/*  3 */ { 0, 0x2000, 0, NO_INDEX },
	/*  4 */ { 0, 0x3900, 15, 1 },
	/*  5 */ { 0, 0x3900, 35, 2 },
	/*  6 */ { 0, 0x3900, 60, 3 },
	/*  7 */ { 0, 0x3100, 35, 3 }, /* nobody was there: the nearest in time */
	/*  8 */ { 0, 0x3100, 22, 1 },
	/*  9 */ { 0, 0x4900, 1000, 1 }, /* only one ever had it */
	/* 10 */ { 0, 0x5000, 15, NO_INDEX },
	/* 11 */ { 1, 0x3900, 15, 4 },
	/* 12 */ { 1, 0x9000, 15, NO_INDEX },
	/* 13 */ { 3, 0x1000, 0, NO_INDEX },
	/* 14 */ { 2, 0x1800, 20, 6 },
	/* 15 */ { 2, 0x1800, 40, 7 },
	/* 16 */ { 2, 0x1800, 70, 6 },
	/* 17 */ { 0, 0, 0, NO_INDEX },
};

START_TEST(by_address_and_time)
{
	struct modulemap map;

	modulemap_build(&map, &recording);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(modulemap_find(&map, rows[i].process, rows[i].address,
					     rows[i].at_ns) == rows[i].module,
			      "row %zu", i);
	modulemap_free(&map);
}
END_TEST

START_TEST(no_modules_at_all)
{
	const struct recording none = { 0 };
	struct modulemap map;

	modulemap_build(&map, &none);
	ck_assert_uint_eq(modulemap_find(&map, 0, 1, 1), NO_INDEX);
	modulemap_free(&map);
}
END_TEST

SUITE()
{
	TEST(by_address_and_time);
	TEST(no_modules_at_all);
}

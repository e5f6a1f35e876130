/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, parents, waits and targets are tied to the wrong ops. */
#include <stdlib.h>

#include "dump_text.h"
#include "read/idmap.h"
#include "suite.h"

enum { IDS = 50000 };

/* Rows: how the ids of a dump may look. */
static const struct {
	uint64_t first;
	uint64_t step;
} shapes[] = {
	/* 0 */ { 1, 1 },
	/* 1 */ { UINT64_C(5) << 32, 1 },
	/* 2 */ { 0x7f0000001000, 16 },
	/* 3 */ { 0, UINT64_C(1) << 32 },
	/* 4 */ { UINT64_MAX, UINT64_MAX },
	/* 5 */ { 12345, 0x9e3779b97f4a7c15 },
};

START_TEST(each_id_has_its_index)
{
	struct idmap map = { 0 };
	uint64_t id = shapes[_i].first;
	uint32_t i;

	for (i = 0; i < IDS; i++, id += shapes[_i].step)
		ck_assert_uint_eq(idmap_index(&map, 0, id), i);
	for (i = 0, id = shapes[_i].first; i < IDS; i++, id += shapes[_i].step) {
		ck_assert_uint_eq(idmap_index(&map, 0, id), i);
		ck_assert_uint_eq(map.ids[i], id);
	}
	ck_assert_uint_eq(map.id_count, IDS);
	idmap_free(&map);
}
END_TEST

START_TEST(spaces_are_apart)
{
	struct idmap map = { 0 };

	ck_assert_uint_eq(idmap_index(&map, 3, 7), 0);
	ck_assert_uint_eq(idmap_index(&map, 1, 7), 1);
	ck_assert_uint_eq(idmap_index(&map, 1, 8), 2);
	ck_assert_uint_eq(idmap_index(&map, 3, 8), 3);
	ck_assert_uint_eq(idmap_index(&map, 3, 7), 0);
	ck_assert_uint_eq(idmap_index(&map, 1, 7), 1);
	idmap_free(&map);
}
END_TEST

SUITE()
{
	EACH(each_id_has_its_index, shapes);
	TEST(spaces_are_apart);
}

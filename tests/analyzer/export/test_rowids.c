/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, rows of two hosts would not meet, or those of different things would. */
#include "export/rowids.h"

#include "suite.h"

/* The basis, and the hash of one zero byte. */
START_TEST(the_hash_is_the_known_one)
{
	char text[ROW_ID_BYTES];
	struct row_id id = row_id_begin();
	ck_assert_str_eq(row_id_text(id, text), "6c62272e07bb014262b821756295c58d");
	row_id_add_text(&id, "");
	ck_assert_str_eq(row_id_text(id, text), "d228cb69101a8caf78912b704e4a147f");
}
END_TEST

START_TEST(the_ends_of_texts_and_the_order_count)
{
	static const char *const pairs[][2] = { { "ab", "" }, { "a", "b" }, { "b", "a" } };
	struct row_id ids[3];
	for (int i = 0; i < 3; i++) {
		ids[i] = row_id_begin();
		row_id_add_text(&ids[i], pairs[i][0]);
		row_id_add_text(&ids[i], pairs[i][1]);
	}
	for (int i = 0; i < 3; i++)
		ck_assert(ids[i].low != ids[(i + 1) % 3].low &&
			  ids[i].high != ids[(i + 1) % 3].high);
}
END_TEST

START_TEST(all_bytes_of_a_number_count)
{
	for (int bit = 0; bit < 64; bit++) {
		struct row_id none = row_id_begin(), one = row_id_begin();
		row_id_add_number(&none, 0);
		row_id_add_number(&one, UINT64_C(1) << bit);
		ck_assert_uint_ne(none.low, one.low);
	}
}
END_TEST

SUITE()
{
	TEST(the_hash_is_the_known_one);
	TEST(the_ends_of_texts_and_the_order_count);
	TEST(all_bytes_of_a_number_count);
}

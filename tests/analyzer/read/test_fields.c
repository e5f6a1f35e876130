/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a key of an event's line is not known, or taken for another one. */
#include "dump_text.h"
#include "read/fields.h"
#include "suite.h"

static struct field_table table;

static void setup(void)
{
	fields_begin(&table);
}

/* As in a line: text follows the key, and no NUL. */
static enum event_field find(const char *key)
{
	char line[64 + JSON_PADDING_BYTES] = "";
	struct json_text text = { line, strlen(key), true };

	strcpy(line, key);
	strcat(line, "\":1,\"zzzzzzzz");
	return fields_find(&table, &text);
}

static const struct {
	const char *key;
	enum event_field field;
} rows[] = {
#define EVENT_KEY(name, key, type, meaning) { key, FIELD_##name },
#include "keys.def"
	{ "", FIELD_UNKNOWN },
	{ "z", FIELD_UNKNOWN },
	{ "sq2", FIELD_UNKNOWN },
	{ "ab", FIELD_UNKNOWN },
	{ "absx", FIELD_UNKNOWN },
	{ "abs\"", FIELD_UNKNOWN },
	{ "schema_version", FIELD_UNKNOWN },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

START_TEST(each_key_has_its_field)
{
	ck_assert_int_eq(find(rows[_i].key), rows[_i].field);
}
END_TEST

/* Of all keys of two letters only those of the table have a field. */
START_TEST(no_other_key_of_two_letters_has_a_field)
{
	int found = 0, known = 0;

	for (int first = 0; first < 26; first++)
		for (int second = 0; second < 26; second++) {
			char key[] = { (char)('a' + first), (char)('a' + second), '\0' };

			found += find(key) != FIELD_UNKNOWN;
		}
	for (int i = 0; i < ROWS; i++)
		known += rows[i].field != FIELD_UNKNOWN && strlen(rows[i].key) == 2 &&
			 rows[i].key[1] >= 'a';
	ck_assert_int_eq(found, known);
}
END_TEST

START_TEST(types)
{
	ck_assert(field_is_flag(FIELD_ALL) && !field_is_flag(FIELD_SEQ));
	ck_assert(!field_is_flag(FIELD_UNKNOWN) && !field_is_flag(FIELD_SCHEMA_VERSION));
	ck_assert(field_is_signed(FIELD_FD) && !field_is_signed(FIELD_SEQ));
	ck_assert(!field_is_signed(FIELD_UNKNOWN));
	ck_assert(field_is_number(FIELD_ID) && field_is_number(FIELD_FD));
	ck_assert(!field_is_number(FIELD_LINK) && !field_is_number(FIELD_UNKNOWN));
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	EACH(each_key_has_its_field, rows);
	TEST(no_other_key_of_two_letters_has_a_field);
	TEST(types);
}

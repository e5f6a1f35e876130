/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a profile would lack time, or have it at another stack or label. */
#include "export/profile.h"
#include "profile_lines.h"
#include "sketch.h"

static const struct profile_key keys[] = { { "name", PROFILE_TEXTS }, { "tid", PROFILE_NUMBERS } };

static const struct profile_shape shape = {
	.types = { { "waits", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.default_type = 1,
	.keys = keys,
	.key_count = 2,
};

/* Stack n is the one frame n, in function "nN". */
static struct frame_names *one_name_each(void)
{
	static uint32_t first[SKETCH_STACKS + 1], names[SKETCH_STACKS];
	static struct frame_names all = { .first = first, .names = names };
	for (uint32_t i = 0; i < SKETCH_STACKS; i++)
		first[i] = names[i] = i;
	first[SKETCH_STACKS] = SKETCH_STACKS;
	return &all;
}

static void write_and_read(struct profile *profile, struct profile_read *read)
{
	static const char *const comments[] = { "first", "second" };
	const struct profile_facts facts = { 5000, 70, comments, 2 };
	char *bytes;
	size_t length;
	FILE *file = open_memstream(&bytes, &length);
	ck_assert(profile_write(profile, file, &facts));
	fclose(file);
	profile_read(read, bytes, length);
	free(bytes);
}

START_TEST(samples_that_are_alike_are_added_up)
{
	struct sketch sketch;
	struct profile_read read;
	sketch_begin(&sketch);
	struct profile *profile = profile_new(&sketch.rec, one_name_each(), &shape);
	uint32_t name = profile_text(profile, "a\xFF"), leaf = profile_text(profile, "[leaf]");
	profile_add(profile, 1, 0, (uint32_t[]){ name, 7 }, (uint64_t[]){ 1, 100 });
	profile_add(profile, 1, 0, (uint32_t[]){ name, 8 }, (uint64_t[]){ 1, 200 });
	profile_add(profile, 1, 0, (uint32_t[]){ name, 7 }, (uint64_t[]){ 2, UINT64_C(1) << 60 });
	profile_add(profile, 1, leaf, (uint32_t[]){ 0, 0 }, (uint64_t[]){ 0, 1 });
	profile_add(profile, 0, leaf, (uint32_t[]){ 0, 0 }, (uint64_t[]){ 0, 2 });
	profile_add(profile, 0, 0, (uint32_t[]){ 0, 0 }, (uint64_t[]){ 0, 3 });
	write_and_read(profile, &read);
	ck_assert_str_eq(profile_lines(&read), "n1|name=a\xEF\xBF\xBD,tid=7|3 1152921504606847076\n"
					       "n1|name=a\xEF\xBF\xBD,tid=8|1 200\n"
					       "n1;[leaf]||0 1\n[leaf]||0 2\n||0 3\n");
	profile_read_free(&read);
	profile_free(profile);
	sketch_free(&sketch);
}
END_TEST

/* Types and period are messages, not numbers; their lengths are. */
START_TEST(a_profile_without_samples_has_its_facts)
{
	struct sketch sketch;
	struct profile_read read;
	sketch_begin(&sketch);
	struct profile *profile = profile_new(&sketch.rec, one_name_each(), &shape);
	write_and_read(profile, &read);
	ck_assert_str_eq(profile_lines(&read), "");
	ck_assert_uint_eq(read.numbers[9], 5000);
	ck_assert_uint_eq(read.numbers[10], 70);
	ck_assert_uint_eq(read.numbers[12], 1);
	ck_assert_str_eq(read.strings[read.numbers[13]], "second");
	ck_assert_str_eq(read.strings[read.numbers[14]], "delay");
	profile_read_free(&read);
	profile_free(profile);
	sketch_free(&sketch);
}
END_TEST

/* More than the table has room for at first. */
START_TEST(many_samples_stay_apart)
{
	enum { MANY = 5000, ROUNDS = 3 };
	struct sketch sketch;
	char *bytes;
	size_t length;
	uint64_t sum = 0, count = 0;
	struct profile_read *read = malloc(sizeof(*read));
	sketch_begin(&sketch);
	struct profile *profile = profile_new(&sketch.rec, one_name_each(), &shape);
	for (uint32_t i = 0; i < MANY * ROUNDS; i++)
		profile_add(profile, 0, 0, (uint32_t[]){ 0, 1 + i % MANY }, (uint64_t[]){ 1, i });
	const struct profile_facts facts = { 0 };
	FILE *file = open_memstream(&bytes, &length);
	ck_assert(profile_write(profile, file, &facts));
	fclose(file);
	profile_unpack(read, bytes, length);
	const uint8_t *at = read->bytes;
	for (struct field field; read_field(&at, read->bytes + read->length, &field);) {
		const uint8_t *in = field.bytes;
		for (struct field value;
		     field.number == 2 && read_field(&in, field.bytes + field.value, &value);)
			if (value.number == 2) {
				const uint8_t *values = value.bytes;
				ck_assert_uint_eq(read_varint(&values), ROUNDS);
				sum += read_varint(&values);
				count++;
			}
	}
	ck_assert_uint_eq(count, MANY);
	ck_assert_uint_eq(sum, (uint64_t)MANY * ROUNDS * (MANY * ROUNDS - 1) / 2);
	profile_read_free(read);
	free(read);
	free(bytes);
	profile_free(profile);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(samples_that_are_alike_are_added_up);
	TEST(a_profile_without_samples_has_its_facts);
	TEST(many_samples_stay_apart);
}

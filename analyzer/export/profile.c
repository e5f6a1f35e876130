/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds samples up and writes a profile; profile.h has the contract.
 *
 * A sample's key is its stack, its last frame and its labels. Keys are in one array, in the order
 * in which they came. A table with open addressing, at most half full, finds them. Values are in a
 * second array. The file is written message by message: the whole of it is never in memory.
 */
#include "profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gzipfile.h"
#include "profile_places.h"
#include "protobuf.h"
#include "recording/intern.h"

/* Fields of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
};

/* Words of a key: the stack, the last frame, then the labels. */
enum { KEY_STACK, KEY_LEAF, KEY_LABELS };

enum { BUCKETS_FIRST = 1024, WRITE_BYTES = 1 << 16 };

struct profile {
	const struct recording *recording;
	const struct frame_names *names;
	const struct profile_shape *shape;
	struct recording texts; /* its strings alone are used */
	uint32_t *text_of;      /* by string of the recording: text, 0 = not asked for */
	uint32_t key_words;
	uint32_t *keys;
	uint64_t *values;
	size_t count, key_room, value_room;
	uint32_t *buckets; /* sample + 1; 0 = free */
	size_t bucket_count;
};

struct profile *profile_new(const struct recording *recording, const struct frame_names *names,
			    const struct profile_shape *shape)
{
	struct profile *profile = memory_new(1, sizeof(*profile));
	assert(shape->type_count <= PROFILE_TYPES_MAX && shape->key_count <= PROFILE_LABELS_MAX);
	assert(shape->default_type < shape->type_count);
	*profile = (struct profile){
		.recording = recording,
		.names = names,
		.shape = shape,
		.key_words = KEY_LABELS + shape->key_count,
		.text_of = memory_new(recording->string_count, sizeof(*profile->text_of)),
		.bucket_count = BUCKETS_FIRST,
		.buckets = memory_new(BUCKETS_FIRST, sizeof(*profile->buckets)),
	};
	profile_text(profile, "");
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	intern_free(profile->texts.intern);
	free(profile->texts.strings);
	free(profile->text_of);
	free(profile->keys);
	free(profile->values);
	free(profile->buckets);
	free(profile);
}

uint32_t profile_text(struct profile *profile, const char *text)
{
	return recording_intern(&profile->texts, text);
}

uint32_t profile_string(struct profile *profile, uint32_t string)
{
	assert(string < profile->recording->string_count);
	uint32_t *text = &profile->text_of[string];
	if (!*text)
		*text = profile_text(profile, profile->recording->strings[string]);
	return *text;
}

/* --- Samples --- */

static size_t hash_key(const struct profile *profile, const uint32_t *key)
{
	uint64_t hash = 0;
	for (uint32_t i = 0; i < profile->key_words; i++) {
		hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return (size_t)hash;
}

/* The bucket of this key, or the free one where it belongs. */
static uint32_t *bucket_of(const struct profile *profile, const uint32_t *key)
{
	size_t mask = profile->bucket_count - 1;
	size_t at = hash_key(profile, key) & mask;
	size_t bytes = profile->key_words * sizeof(*key);
	for (; profile->buckets[at]; at = (at + 1) & mask) {
		size_t sample = profile->buckets[at] - 1;
		if (memcmp(profile->keys + sample * profile->key_words, key, bytes) == 0)
			break;
	}
	return &profile->buckets[at];
}

static void widen(struct profile *profile)
{
	free(profile->buckets);
	profile->bucket_count *= 2;
	profile->buckets = memory_new(profile->bucket_count, sizeof(*profile->buckets));
	for (size_t i = 0; i < profile->count; i++)
		*bucket_of(profile, profile->keys + i * profile->key_words) = (uint32_t)i + 1;
}

static size_t add_key(struct profile *profile, const uint32_t *key)
{
	size_t words = profile->key_words, types = profile->shape->type_count;
	if (2 * (profile->count + 1) > profile->bucket_count)
		widen(profile);
	uint32_t *bucket = bucket_of(profile, key);
	if (*bucket)
		return *bucket - 1;
	size_t sample = profile->count++;
	profile->keys = memory_grow(profile->keys, &profile->key_room, profile->count * words,
				    sizeof(*key));
	profile->values = memory_grow(profile->values, &profile->value_room, profile->count * types,
				      sizeof(*profile->values));
	memcpy(profile->keys + sample * words, key, words * sizeof(*key));
	memset(profile->values + sample * types, 0, types * sizeof(*profile->values));
	*bucket = (uint32_t)profile->count;
	return sample;
}

void profile_add(struct profile *profile, uint32_t stack, uint32_t leaf, const uint32_t *labels,
		 const uint64_t *values)
{
	uint32_t key[KEY_LABELS + PROFILE_LABELS_MAX] = { [KEY_STACK] = stack, [KEY_LEAF] = leaf };
	uint32_t types = profile->shape->type_count;
	assert(stack == 0 || stack < profile->recording->stack_count);
	memcpy(key + KEY_LABELS, labels, profile->shape->key_count * sizeof(*labels));
	size_t sample = add_key(profile, key); /* the values may move */
	uint64_t *sums = profile->values + sample * types;
	for (uint32_t i = 0; i < types; i++)
		sums[i] += values[i];
}

const struct profile_shape *profile_shape(const struct profile *profile)
{
	return profile->shape;
}

size_t profile_sample_count(const struct profile *profile)
{
	return profile->count;
}

struct profile_sample profile_sample(const struct profile *profile, size_t index)
{
	assert(index < profile->count);
	const uint32_t *key = profile->keys + index * profile->key_words;
	struct profile_sample sample = {
		.stack = key[KEY_STACK],
		.leaf = profile->texts.strings[key[KEY_LEAF]],
		.numbers = key + KEY_LABELS,
		.values = profile->values + index * profile->shape->type_count,
	};
	for (uint32_t i = 0; i < profile->shape->key_count; i++)
		if (profile->shape->keys[i].values != PROFILE_NUMBERS)
			sample.texts[i] = profile->texts.strings[sample.numbers[i]];
	return sample;
}

/* --- The file --- */

struct writing {
	struct profile *profile;
	struct profile_places *places;
	struct protobuf *to;
	struct gzip_file *file;
	uint32_t keys[PROFILE_LABELS_MAX]; /* of labels: texts */
};

/* The bytes so far go into the file once there are `most` of them. */
static void hand_on(struct writing *writing, size_t most)
{
	if (writing->to->length < most)
		return;
	gzip_file_write(writing->file, writing->to->bytes, writing->to->length);
	protobuf_clear(writing->to);
}

static void put_type(struct writing *writing, uint32_t field, const struct profile_type *type)
{
	size_t mark = protobuf_begin(writing->to, field);
	protobuf_number(writing->to, VALUE_TYPE_TYPE, profile_text(writing->profile, type->type));
	protobuf_number(writing->to, VALUE_TYPE_UNIT, profile_text(writing->profile, type->unit));
	protobuf_end(writing->to, mark);
}

static void put_value(struct writing *writing, enum profile_values values, uint32_t value)
{
	const char *const *texts = writing->profile->texts.strings;
	protobuf_number(writing->to, values == PROFILE_TEXTS ? LABEL_STR : LABEL_NUM,
			values == PROFILE_DIGITS ? strtoull(texts[value], NULL, 16) : value);
}

static void put_labels(struct writing *writing, const uint32_t *labels)
{
	const struct profile_shape *shape = writing->profile->shape;
	for (uint32_t i = 0; i < shape->key_count; i++) {
		if (!labels[i])
			continue;
		size_t mark = protobuf_begin(writing->to, SAMPLE_LABEL);
		protobuf_number(writing->to, LABEL_KEY, writing->keys[i]);
		put_value(writing, shape->keys[i].values, labels[i]);
		protobuf_end(writing->to, mark);
	}
}

/* Innermost first: the frame with a text of its own, then those of the stack. */
static void put_locations(struct writing *writing, const uint32_t *key)
{
	const struct rec_stack *stack = &writing->profile->recording->stacks[key[KEY_STACK]];
	size_t mark = protobuf_begin(writing->to, SAMPLE_LOCATION_ID);
	if (key[KEY_LEAF])
		protobuf_item(writing->to, profile_places_of_text(writing->places, key[KEY_LEAF]));
	for (uint32_t i = 0; key[KEY_STACK] && i < stack->frame_count; i++) {
		uint32_t location =
			profile_places_of_frame(writing->places, stack->first_frame + i);
		if (location)
			protobuf_item(writing->to, location);
	}
	protobuf_end(writing->to, mark);
}

static void put_sample(struct writing *writing, size_t sample)
{
	const struct profile *profile = writing->profile;
	const uint32_t *key = profile->keys + sample * profile->key_words;
	uint32_t types = profile->shape->type_count;
	size_t mark = protobuf_begin(writing->to, PROFILE_SAMPLE);
	put_locations(writing, key);
	protobuf_packed(writing->to, SAMPLE_VALUE, profile->values + sample * types, types);
	put_labels(writing, key + KEY_LABELS);
	protobuf_end(writing->to, mark);
	hand_on(writing, WRITE_BYTES);
}

static void put_facts(struct writing *writing, const struct profile_facts *facts)
{
	const struct profile_shape *shape = writing->profile->shape;
	const struct profile_type *shown = &shape->types[shape->default_type];
	protobuf_number(writing->to, PROFILE_TIME_NANOS, facts->begin_unix_ns);
	protobuf_number(writing->to, PROFILE_DURATION_NANOS, facts->duration_ns);
	put_type(writing, PROFILE_PERIOD_TYPE, shown);
	protobuf_number(writing->to, PROFILE_PERIOD, 1); /* all is exact */
	for (size_t i = 0; i < facts->comment_count; i++)
		protobuf_number(writing->to, PROFILE_COMMENT,
				profile_text(writing->profile, facts->comments[i]));
	protobuf_number(writing->to, PROFILE_DEFAULT_SAMPLE_TYPE,
			profile_text(writing->profile, shown->type));
}

/* The texts come last, as all that is written before them may add some. */
static void put_all(struct writing *writing, const struct profile_facts *facts)
{
	const struct profile *profile = writing->profile;
	for (uint32_t i = 0; i < profile->shape->type_count; i++)
		put_type(writing, PROFILE_SAMPLE_TYPE, &profile->shape->types[i]);
	put_facts(writing, facts);
	for (uint32_t i = 0; i < profile->shape->key_count; i++)
		writing->keys[i] = profile_text(writing->profile, profile->shape->keys[i].key);
	for (size_t i = 0; i < profile->count; i++)
		put_sample(writing, i);
	profile_places_write(writing->places, writing->to);
	for (size_t i = 0; i < profile->texts.string_count; i++) {
		protobuf_text(writing->to, PROFILE_STRING_TABLE, profile->texts.strings[i]);
		hand_on(writing, WRITE_BYTES);
	}
	hand_on(writing, 0);
}

bool profile_write(struct profile *profile, FILE *file, const struct profile_facts *facts)
{
	struct protobuf buffer = { 0 };
	struct writing writing = { .profile = profile, .to = &buffer };
	writing.file = gzip_file_open(file);
	writing.places = profile_places_new(profile->recording, profile->names, &profile->texts);
	put_all(&writing, facts);
	profile_places_free(writing.places);
	protobuf_free(&buffer);
	return gzip_file_close(writing.file);
}

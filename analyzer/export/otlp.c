/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles by OpenTelemetry's protocol: one message, as a receiver takes it by HTTP.
 *
 * The samples are those of the pprof export. There a sample has several values; here each type of
 * values is a profile of its own, without the samples that have none of it. All profiles share one
 * dictionary: texts, places, stacks, and labels as attributes. The first entry of each of its
 * tables stands for nothing.
 *
 * The protocol is not stable. Field numbers are those of opentelemetry-proto 1.10; of a message in
 * 1.9, Sample had others, and neither version says which one it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exporters.h"
#include "format.h"
#include "pprof_parts.h"
#include "profile_places.h"
#include "protobuf.h"
#include "recording/intern.h"
#include "recording/programs.h"

/* Fields, by message. */
enum {
	REQUEST_RESOURCE_PROFILES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_STRING = 1,
	ANY_INT = 3,
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME_UNIX_NANO = 3,
	PROFILE_DURATION_NANO = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_VALUES = 4,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	STACK_LOCATIONS = 1
};

struct otlp {
	const struct recording *recording;
	struct recording texts; /* its strings alone are used */
	struct profile_places *places;
	struct addresses stacks;     /* (stack, text of the last frame) to index */
	struct addresses attributes; /* (key and kind, value) to index */
	struct protobuf profiles;    /* those so far, as fields of ScopeProfiles */
	uint64_t *locations;         /* of one stack */
	size_t location_room;
};

static uint32_t text_of(struct otlp *otlp, const char *text)
{
	return recording_intern(&otlp->texts, text);
}

/* --- Profiles --------------------------------------------------------------------------------- */

/* Texts and numbers are apart, as a key's lowest bit. */
static uint32_t attribute_of(struct otlp *otlp, const struct profile_key *key, uint64_t value)
{
	uint32_t kind = text_of(otlp, key->key) << 1 | (key->values == PROFILE_NUMBERS ? 1 : 0);
	return addresses_add(&otlp->attributes, kind, value) + 1;
}

static void put_attributes(struct otlp *otlp, const struct profile_shape *shape,
			   const struct profile_sample *sample)
{
	size_t mark = protobuf_begin(&otlp->profiles, SAMPLE_ATTRIBUTES);
	for (uint32_t i = 0; i < shape->key_count; i++) {
		const struct profile_key *key = &shape->keys[i];
		if (sample->numbers[i] == 0)
			continue;
		uint64_t value = key->values == PROFILE_NUMBERS ? sample->numbers[i]
								: text_of(otlp, sample->texts[i]);
		protobuf_item(&otlp->profiles, attribute_of(otlp, key, value));
	}
	protobuf_end(&otlp->profiles, mark);
}

static uint32_t stack_of(struct otlp *otlp, const struct profile_sample *sample)
{
	if (sample->stack == 0 && !sample->leaf[0])
		return 0;
	return addresses_add(&otlp->stacks, sample->stack, text_of(otlp, sample->leaf)) + 1;
}

static void put_type(struct otlp *otlp, uint32_t field, const struct profile_type *type)
{
	size_t mark = protobuf_begin(&otlp->profiles, field);
	protobuf_number(&otlp->profiles, VALUE_TYPE_TYPE, text_of(otlp, type->type));
	protobuf_number(&otlp->profiles, VALUE_TYPE_UNIT, text_of(otlp, type->unit));
	protobuf_end(&otlp->profiles, mark);
}

static void put_sample(struct otlp *otlp, const struct profile_shape *shape,
		       const struct profile_sample *sample, uint32_t type)
{
	size_t mark = protobuf_begin(&otlp->profiles, PROFILE_SAMPLES);
	protobuf_number(&otlp->profiles, SAMPLE_STACK, stack_of(otlp, sample));
	put_attributes(otlp, shape, sample);
	protobuf_packed(&otlp->profiles, SAMPLE_VALUES, &sample->values[type], 1);
	protobuf_end(&otlp->profiles, mark);
}

static bool has_samples(const struct profile *profile, uint32_t type)
{
	for (size_t i = 0; i < profile_sample_count(profile); i++)
		if (profile_sample(profile, i).values[type] > 0)
			return true;
	return false;
}

static void put_profile(struct otlp *otlp, const struct profile *profile, uint32_t type,
			const struct profile_facts *facts)
{
	const struct profile_shape *shape = profile_shape(profile);
	size_t mark = protobuf_begin(&otlp->profiles, SCOPE_PROFILES_PROFILES);
	put_type(otlp, PROFILE_SAMPLE_TYPE, &shape->types[type]);
	for (size_t i = 0; i < profile_sample_count(profile); i++) {
		struct profile_sample sample = profile_sample(profile, i);
		if (sample.values[type] > 0)
			put_sample(otlp, shape, &sample, type);
	}
	protobuf_fixed64(&otlp->profiles, PROFILE_TIME_UNIX_NANO, facts->begin_unix_ns);
	protobuf_number(&otlp->profiles, PROFILE_DURATION_NANO, facts->duration_ns);
	put_type(otlp, PROFILE_PERIOD_TYPE, &shape->types[type]);
	protobuf_number(&otlp->profiles, PROFILE_PERIOD, 1); /* all is exact */
	protobuf_end(&otlp->profiles, mark);
}

/* --- The resource ----------------------------------------------------------------------------- */

static void put_key_text(struct protobuf *to, uint32_t field, const char *key, const char *value)
{
	size_t mark = protobuf_begin(to, field);
	protobuf_text(to, KEY_VALUE_KEY, key);
	size_t inner = protobuf_begin(to, KEY_VALUE_VALUE);
	protobuf_text(to, ANY_STRING, value);
	protobuf_end(to, inner);
	protobuf_end(to, mark);
}

/* The name that OpenTelemetry has for a tag. */
static const char *attribute_name(const char *tag)
{
	static const char *const names[][2] = {
		{ "service", "service.name" },
		{ "version", "service.version" },
		{ "environment", "deployment.environment.name" },
		{ "host", "host.name" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], tag) == 0)
			return names[i][1];
	return tag;
}

/* Without a tag of it, the service is the program. */
static void put_resource(struct protobuf *to, const struct analysis *analysis)
{
	const struct text_list *tags = &analysis->options->tags;
	const struct recording *recording = analysis->recording;
	bool has_service = false;
	size_t mark = protobuf_begin(to, RESOURCE_PROFILES_RESOURCE);
	for (size_t i = 0; i < tags->count; i++) {
		size_t length = strcspn(tags->texts[i], "=");
		char *key = memory_new(length + 1, 1);
		memcpy(key, tags->texts[i], length);
		has_service |= strcmp(key, "service") == 0;
		put_key_text(to, RESOURCE_ATTRIBUTES, attribute_name(key),
			     tags->texts[i] + length + 1);
		free(key);
	}
	if (!has_service && recording->process_count > 0)
		put_key_text(to, RESOURCE_ATTRIBUTES, "service.name", program_called(recording, 0));
	protobuf_end(to, mark);
}

/* --- The dictionary --------------------------------------------------------------------------- */

static void put_nothing(struct protobuf *to, uint32_t field)
{
	protobuf_bytes(to, field, "", 0);
}

static void put_stack(struct otlp *otlp, struct protobuf *to, const struct address_key *stack)
{
	const struct rec_stack *frames = &otlp->recording->stacks[stack->process];
	size_t count = 0;
	otlp->locations = memory_grow(otlp->locations, &otlp->location_room,
				      (stack->process ? frames->frame_count : 0) + 1,
				      sizeof(*otlp->locations));
	if (stack->address)
		otlp->locations[count++] =
			profile_places_of_text(otlp->places, (uint32_t)stack->address);
	for (uint32_t i = 0; stack->process && i < frames->frame_count; i++) {
		uint32_t location = profile_places_of_frame(otlp->places, frames->first_frame + i);
		if (location)
			otlp->locations[count++] = location;
	}
	size_t mark = protobuf_begin(to, DICTIONARY_STACKS);
	protobuf_packed(to, STACK_LOCATIONS, otlp->locations, count);
	protobuf_end(to, mark);
}

static void put_attribute(struct otlp *otlp, struct protobuf *to, const struct address_key *key)
{
	size_t mark = protobuf_begin(to, DICTIONARY_ATTRIBUTES);
	protobuf_number(to, ATTRIBUTE_KEY, key->process >> 1);
	size_t inner = protobuf_begin(to, ATTRIBUTE_VALUE);
	if (key->process & 1)
		protobuf_number(to, ANY_INT, key->address);
	else
		protobuf_text(to, ANY_STRING, otlp->texts.strings[key->address]);
	protobuf_end(to, inner);
	protobuf_end(to, mark);
}

/* Stacks first, which ask for places; texts last, of which all have some. */
static void put_dictionary(struct otlp *otlp, struct protobuf *to)
{
	size_t mark = protobuf_begin(to, REQUEST_DICTIONARY);
	put_nothing(to, DICTIONARY_STACKS);
	for (size_t i = 0; i < otlp->stacks.count; i++)
		put_stack(otlp, to, &otlp->stacks.keys[i]);
	profile_places_write_otlp(otlp->places, to);
	put_nothing(to, DICTIONARY_LINKS);
	put_nothing(to, DICTIONARY_ATTRIBUTES);
	for (size_t i = 0; i < otlp->attributes.count; i++)
		put_attribute(otlp, to, &otlp->attributes.keys[i]);
	for (size_t i = 0; i < otlp->texts.string_count; i++)
		protobuf_text(to, DICTIONARY_STRINGS, otlp->texts.strings[i]);
	protobuf_end(to, mark);
}

/* --- The message ------------------------------------------------------------------------------ */

static void put_profiles(struct otlp *otlp, struct protobuf *to, const struct analysis *analysis)
{
	size_t resource = protobuf_begin(to, REQUEST_RESOURCE_PROFILES);
	put_resource(to, analysis);
	size_t scope = protobuf_begin(to, RESOURCE_PROFILES_SCOPE_PROFILES);
	size_t name = protobuf_begin(to, SCOPE_PROFILES_SCOPE);
	protobuf_text(to, SCOPE_NAME, "wcprof");
	protobuf_text(to, SCOPE_VERSION, WCPROF_VERSION);
	protobuf_end(to, name);
	protobuf_append(to, &otlp->profiles);
	protobuf_end(to, scope);
	protobuf_end(to, resource);
}

static void write_message(struct otlp *otlp, const struct pprof *pprof, struct export *export)
{
	struct protobuf message = { 0 };
	struct profile_facts facts = pprof_facts(pprof);
	FILE *file = export_file(export);
	text_of(otlp, "");
	for (size_t i = 0; i < PPROF_FILES; i++)
		for (uint32_t type = 0; type < profile_shape(pprof->profiles[i])->type_count;
		     type++)
			if (has_samples(pprof->profiles[i], type))
				put_profile(otlp, pprof->profiles[i], type, &facts);
	put_profiles(otlp, &message, export->analysis);
	put_dictionary(otlp, &message);
	if (file)
		fwrite(message.bytes, 1, message.length, file);
	protobuf_free(&message);
}

void export_otlp(struct export *export)
{
	const struct analysis *analysis = export->analysis;
	const struct frame_names *names = analysis->labels ? &analysis->labels->frames : NULL;
	struct otlp otlp = { .recording = analysis->recording };
	struct pprof pprof;
	pprof_begin(&pprof, analysis);
	otlp.places = profile_places_new(analysis->recording, names, &otlp.texts);
	write_message(&otlp, &pprof, export);
	profile_places_free(otlp.places);
	addresses_free(&otlp.stacks);
	addresses_free(&otlp.attributes);
	protobuf_free(&otlp.profiles);
	intern_free(otlp.texts.intern);
	free(otlp.texts.strings);
	free(otlp.locations);
	pprof_end(&pprof);
}

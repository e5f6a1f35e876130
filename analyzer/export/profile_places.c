/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations, functions and mappings of profile.proto; profile_places.h has the contract.
 *
 * A location is an address in a file, once however many stacks have it. Functions inlined there are
 * several lines of it. An address without a name is called after its file. The file's mapping then
 * says that names are missing; whoever has the file of that build id can look them up. Addresses
 * are those of calls, a byte before where they return to.
 */
#include "profile_places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "recording/addresses.h"
#include "recording/intern.h"

/* Fields of profile.proto. */
enum {
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

/* In place of a module, of a location that is a text. */
enum { MODULE_TEXT = NO_INDEX - 1 };

struct location {
	uint32_t frame;   /* of the recording, or the text */
	uint32_t mapping; /* id, 0 = none */
	bool is_text;
};

struct mapping {
	uint32_t module;
	bool lacks_names; /* of some address */
};

struct profile_places {
	const struct recording *recording;
	const struct frame_names *names;
	struct recording *texts;
	struct addresses keys; /* (module, offset) to location - 1 */
	struct location *locations;
	size_t location_room;
	struct addresses functions; /* (file, name) to function - 1: ids of texts */
	struct mapping *mappings;
	size_t mapping_count, mapping_room;
	uint32_t *mapping_of; /* by module: id, 0 = none so far */
	uint32_t *of_frame;   /* by frame of the recording: location, 0 = not asked for */
};

/* --- Mappings --- */

static uint32_t mapping_of(struct profile_places *places, uint32_t module)
{
	uint32_t *id = &places->mapping_of[module];
	if (!*id) {
		places->mappings =
			memory_grow(places->mappings, &places->mapping_room,
				    places->mapping_count + 1, sizeof(*places->mappings));
		places->mappings[places->mapping_count++] = (struct mapping){ module, false };
		*id = (uint32_t)places->mapping_count;
	}
	return *id;
}

/* The first mapping counts as the program: the first process's own file. */
static void map_program(struct profile_places *places)
{
	const struct recording *recording = places->recording;
	for (uint32_t i = 0; i < recording->module_count; i++) {
		const struct rec_module *module = &recording->modules[i];
		if (module->process == 0 && module->path == recording->processes[0].exe &&
		    module->size > 0) {
			mapping_of(places, i);
			return;
		}
	}
}

struct profile_places *profile_places_new(const struct recording *recording,
					  const struct frame_names *names, struct recording *texts)
{
	struct profile_places *places = memory_new(1, sizeof(*places));
	*places = (struct profile_places){
		.recording = recording,
		.names = names,
		.texts = texts,
		.mapping_of = memory_new(recording->module_count, sizeof(*places->mapping_of)),
		.of_frame = memory_new(recording->frame_count, sizeof(*places->of_frame)),
	};
	map_program(places);
	return places;
}

void profile_places_free(struct profile_places *places)
{
	addresses_free(&places->keys);
	addresses_free(&places->functions);
	free(places->locations);
	free(places->mappings);
	free(places->mapping_of);
	free(places->of_frame);
	free(places);
}

/* --- Locations --- */

static void add_location(struct profile_places *places, struct location location)
{
	size_t count = places->keys.count;
	places->locations = memory_grow(places->locations, &places->location_room, count,
					sizeof(*places->locations));
	places->locations[count - 1] = location;
}

/* Whose symbols anybody can look up: of a file. */
static uint32_t frame_mapping(struct profile_places *places, struct rec_frame frame)
{
	if (frame.module == NO_INDEX || places->recording->modules[frame.module].size == 0 ||
	    rec_frame_text(places->recording, frame))
		return 0;
	return mapping_of(places, frame.module);
}

uint32_t profile_places_of_frame(struct profile_places *places, uint32_t frame)
{
	const struct frame_names *names = places->names;
	if (places->of_frame[frame])
		return places->of_frame[frame];
	if (!names || !names->first || names->first[frame] == names->first[frame + 1])
		return 0;
	struct rec_frame at = places->recording->frames[frame];
	size_t known = places->keys.count;
	uint32_t location = addresses_add(&places->keys, at.module, at.offset);
	if (location == known) {
		uint32_t mapping = frame_mapping(places, at);
		add_location(places, (struct location){ frame, mapping, false });
		if (mapping && names->places && !names->places[names->first[frame]].is_named)
			places->mappings[mapping - 1].lacks_names = true;
	}
	return places->of_frame[frame] = location + 1;
}

uint32_t profile_places_of_text(struct profile_places *places, uint32_t text)
{
	size_t known = places->keys.count;
	uint32_t location = addresses_add(&places->keys, MODULE_TEXT, text);
	if (location == known)
		add_location(places, (struct location){ text, 0, true });
	return location + 1;
}

/* --- The file --- */

static uint32_t copy_text(struct profile_places *places, uint32_t string)
{
	return recording_intern(places->texts, places->recording->strings[string]);
}

static void put_line(struct profile_places *places, struct protobuf *to, uint32_t name,
		     uint32_t file, uint32_t line)
{
	size_t mark = protobuf_begin(to, LOCATION_LINE);
	protobuf_number(to, LINE_FUNCTION_ID, addresses_add(&places->functions, file, name) + 1);
	if (line)
		protobuf_number(to, LINE_LINE, line);
	protobuf_end(to, mark);
}

static void put_lines(struct profile_places *places, struct protobuf *to,
		      const struct location *location)
{
	const struct frame_names *names = places->names;
	if (location->is_text) {
		put_line(places, to, location->frame, 0, 0);
		return;
	}
	for (uint32_t i = names->first[location->frame]; i < names->first[location->frame + 1];
	     i++) {
		struct frame_place place =
			names->places ? names->places[i] : (struct frame_place){ .file = 0 };
		put_line(places, to, copy_text(places, names->names[i]),
			 copy_text(places, place.file), place.line);
	}
}

static uint64_t location_address(const struct profile_places *places,
				 const struct location *location)
{
	struct rec_frame frame = places->recording->frames[location->frame];
	if (frame.offset == 0 || rec_frame_text(places->recording, frame))
		return 0;
	uint64_t base =
		frame.module == NO_INDEX ? 0 : places->recording->modules[frame.module].base;
	return base + frame.offset - 1;
}

static void put_location(struct profile_places *places, struct protobuf *to, size_t index)
{
	const struct location *location = &places->locations[index];
	size_t mark = protobuf_begin(to, PROFILE_LOCATION);
	protobuf_number(to, LOCATION_ID, index + 1);
	if (location->mapping)
		protobuf_number(to, LOCATION_MAPPING_ID, location->mapping);
	if (!location->is_text)
		protobuf_number(to, LOCATION_ADDRESS, location_address(places, location));
	put_lines(places, to, location);
	protobuf_end(to, mark);
}

static void put_function(struct profile_places *places, struct protobuf *to, size_t index)
{
	const struct address_key *function = &places->functions.keys[index];
	size_t mark = protobuf_begin(to, PROFILE_FUNCTION);
	protobuf_number(to, FUNCTION_ID, index + 1);
	protobuf_number(to, FUNCTION_NAME, function->address);
	protobuf_number(to, FUNCTION_SYSTEM_NAME, function->address);
	if (function->process)
		protobuf_number(to, FUNCTION_FILENAME, function->process);
	protobuf_end(to, mark);
}

/* Has all: nobody need look at the file, which may not be there. */
static void put_mapping(struct profile_places *places, struct protobuf *to, size_t index)
{
	const struct mapping *mapping = &places->mappings[index];
	const struct rec_module *module = &places->recording->modules[mapping->module];
	size_t mark = protobuf_begin(to, PROFILE_MAPPING);
	protobuf_number(to, MAPPING_ID, index + 1);
	protobuf_number(to, MAPPING_MEMORY_START, module->start);
	protobuf_number(to, MAPPING_MEMORY_LIMIT, module->start + module->size);
	protobuf_number(to, MAPPING_FILENAME, copy_text(places, module->path));
	protobuf_number(to, MAPPING_BUILD_ID, copy_text(places, module->build_id));
	for (uint32_t field = MAPPING_HAS_FUNCTIONS;
	     !mapping->lacks_names && field <= MAPPING_HAS_INLINE_FRAMES; field++)
		protobuf_number(to, field, true);
	protobuf_end(to, mark);
}

void profile_places_write(struct profile_places *places, struct protobuf *to)
{
	for (size_t i = 0; i < places->keys.count; i++)
		put_location(places, to, i);
	for (size_t i = 0; i < places->functions.count; i++)
		put_function(places, to, i);
	for (size_t i = 0; i < places->mapping_count; i++)
		put_mapping(places, to, i);
}

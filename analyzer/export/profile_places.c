/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations, functions and mappings of profiles; profile_places.h has the contract.
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

/* Numbers of fields; 0 = the format has none. */
struct layout {
	uint32_t mapping, location, function;
	uint32_t mapping_id, mapping_start, mapping_limit, mapping_file;
	uint32_t mapping_build_id, mapping_has_first, mapping_has_last;
	uint32_t location_id, location_mapping, location_address, location_line;
	uint32_t function_id, function_name, function_system_name, function_file;
	bool has_nothings; /* a table's first entry stands for nothing, and has no fields */
};

/* profile.proto */
static const struct layout pprof = {
	.mapping = 3,
	.location = 4,
	.function = 5,
	.mapping_id = 1,
	.mapping_start = 2,
	.mapping_limit = 3,
	.mapping_file = 5,
	.mapping_build_id = 6,
	.mapping_has_first = 7, /* functions, file names, line numbers, inlined functions */
	.mapping_has_last = 10,
	.location_id = 1,
	.location_mapping = 2,
	.location_address = 3,
	.location_line = 4,
	.function_id = 1,
	.function_name = 2,
	.function_system_name = 3,
	.function_file = 4,
};

/* The dictionary of profiles in opentelemetry-proto 1.10. */
static const struct layout otlp = {
	.mapping = 1,
	.location = 2,
	.function = 3,
	.mapping_start = 1,
	.mapping_limit = 2,
	.mapping_file = 4,
	.location_mapping = 1,
	.location_address = 2,
	.location_line = 3,
	.function_name = 1,
	.function_system_name = 2,
	.function_file = 3,
	.has_nothings = true,
};

/* Of both. */
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };

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

struct writing {
	const struct layout *layout;
	struct protobuf *to;
};

static uint32_t copy_text(struct profile_places *places, uint32_t string)
{
	return recording_intern(places->texts, places->recording->strings[string]);
}

/* A field that the format may lack. */
static void put_number(struct protobuf *to, uint32_t field, uint64_t value)
{
	if (field)
		protobuf_number(to, field, value);
}

static void put_line(struct profile_places *places, const struct writing *writing, uint32_t name,
		     uint32_t file, uint32_t line)
{
	struct protobuf *to = writing->to;
	size_t mark = protobuf_begin(to, writing->layout->location_line);
	protobuf_number(to, LINE_FUNCTION_ID, addresses_add(&places->functions, file, name) + 1);
	if (line)
		protobuf_number(to, LINE_LINE, line);
	protobuf_end(to, mark);
}

static void put_lines(struct profile_places *places, const struct writing *writing,
		      const struct location *location)
{
	const struct frame_names *names = places->names;
	if (location->is_text) {
		put_line(places, writing, location->frame, 0, 0);
		return;
	}
	for (uint32_t i = names->first[location->frame]; i < names->first[location->frame + 1];
	     i++) {
		struct frame_place place =
			names->places ? names->places[i] : (struct frame_place){ .file = 0 };
		put_line(places, writing, copy_text(places, names->names[i]),
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

static void put_location(struct profile_places *places, const struct writing *writing, size_t index)
{
	const struct layout *layout = writing->layout;
	const struct location *location = &places->locations[index];
	struct protobuf *to = writing->to;
	size_t mark = protobuf_begin(to, layout->location);
	put_number(to, layout->location_id, index + 1);
	if (location->mapping)
		protobuf_number(to, layout->location_mapping, location->mapping);
	if (!location->is_text)
		protobuf_number(to, layout->location_address, location_address(places, location));
	put_lines(places, writing, location);
	protobuf_end(to, mark);
}

static void put_function(struct profile_places *places, const struct writing *writing, size_t index)
{
	const struct layout *layout = writing->layout;
	const struct address_key *function = &places->functions.keys[index];
	struct protobuf *to = writing->to;
	size_t mark = protobuf_begin(to, layout->function);
	put_number(to, layout->function_id, index + 1);
	protobuf_number(to, layout->function_name, function->address);
	protobuf_number(to, layout->function_system_name, function->address);
	if (function->process)
		protobuf_number(to, layout->function_file, function->process);
	protobuf_end(to, mark);
}

/* Has all: nobody need look at the file, which may not be there. */
static void put_mapping(struct profile_places *places, const struct writing *writing, size_t index)
{
	const struct layout *layout = writing->layout;
	struct protobuf *to = writing->to;
	const struct mapping *mapping = &places->mappings[index];
	const struct rec_module *module = &places->recording->modules[mapping->module];
	size_t mark = protobuf_begin(to, layout->mapping);
	put_number(to, layout->mapping_id, index + 1);
	protobuf_number(to, layout->mapping_start, module->start);
	protobuf_number(to, layout->mapping_limit, module->start + module->size);
	protobuf_number(to, layout->mapping_file, copy_text(places, module->path));
	if (layout->mapping_build_id)
		protobuf_number(to, layout->mapping_build_id, copy_text(places, module->build_id));
	for (uint32_t field = layout->mapping_has_first;
	     !mapping->lacks_names && field <= layout->mapping_has_last; field++)
		put_number(to, field, true);
	protobuf_end(to, mark);
}

static void put_nothing(const struct writing *writing, uint32_t field)
{
	if (writing->layout->has_nothings)
		protobuf_bytes(writing->to, field, "", 0);
}

static void write_all(struct profile_places *places, const struct writing *writing)
{
	put_nothing(writing, writing->layout->location);
	for (size_t i = 0; i < places->keys.count; i++)
		put_location(places, writing, i);
	put_nothing(writing, writing->layout->function);
	for (size_t i = 0; i < places->functions.count; i++)
		put_function(places, writing, i);
	put_nothing(writing, writing->layout->mapping);
	for (size_t i = 0; i < places->mapping_count; i++)
		put_mapping(places, writing, i);
}

void profile_places_write(struct profile_places *places, struct protobuf *to)
{
	write_all(places, &(struct writing){ &pprof, to });
}

void profile_places_write_otlp(struct profile_places *places, struct protobuf *to)
{
	write_all(places, &(struct writing){ &otlp, to });
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From module and address to names, with one answer kept for each address.
 *
 * Modules of all processes that are the same file (path and build id) share one open file, which is
 * opened when the first address in it is asked for. Answers are kept in a hash table by file and
 * address. A module's mapped range is found by binary search over all modules in order of process
 * and start.
 *
 * One thread. Must never fail for want of a file: a missing or different file only costs the names.
 */
#include "symbols.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "names.h"
#include "objectfile.h"
#include "pool.h"

enum { PLACES_FIRST = 1024 };

struct symbol_file {
	uint32_t path; /* string ids of the recording */
	uint32_t build_id;
	bool is_opened;
	struct objectfile object;
};

struct place_entry {
	struct symbol_place *place; /* NULL = free */
	uint32_t file;
	bool is_return_address;
};

struct symbols {
	const struct recording *recording;
	struct symbol_file *files;
	size_t file_count;
	size_t file_room;
	uint32_t *module_files;   /* of each module of the recording */
	uint32_t *sorted_modules; /* by process, then start */
	struct place_entry *places;
	size_t place_count;
	size_t place_room; /* a power of two */
	size_t named_count;
	struct names names;
	struct pool pool;
};

static uint32_t file_of(struct symbols *symbols, const struct rec_module *module)
{
	struct symbol_file file = { .path = module->path, .build_id = module->build_id };

	for (size_t i = 0; i < symbols->file_count; i++)
		if (symbols->files[i].path == file.path &&
		    symbols->files[i].build_id == file.build_id)
			return (uint32_t)i;
	symbols->files = memory_grow(symbols->files, &symbols->file_room, symbols->file_count + 1,
				     sizeof(*symbols->files));
	symbols->files[symbols->file_count++] = file;
	return (uint32_t)symbols->file_count - 1;
}

static int compare_modules(const void *left, const void *right, void *context)
{
	const struct rec_module *modules = context;
	const struct rec_module *a = &modules[*(const uint32_t *)left];
	const struct rec_module *b = &modules[*(const uint32_t *)right];

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

struct symbols *symbols_new(const struct recording *recording)
{
	struct symbols *symbols = memory_new(1, sizeof(*symbols));
	size_t count = recording->module_count;

	symbols->recording = recording;
	symbols->module_files = memory_new(count, sizeof(*symbols->module_files));
	symbols->sorted_modules = memory_new(count, sizeof(*symbols->sorted_modules));
	for (size_t i = 0; i < count; i++) {
		symbols->module_files[i] = file_of(symbols, &recording->modules[i]);
		symbols->sorted_modules[i] = (uint32_t)i;
	}
	if (count > 1)
		qsort_r(symbols->sorted_modules, count, sizeof(*symbols->sorted_modules),
			compare_modules, recording->modules);
	symbols->place_room = PLACES_FIRST;
	symbols->places = memory_new(symbols->place_room, sizeof(*symbols->places));
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->file_count; i++)
		objectfile_close(&symbols->files[i].object);
	names_free(&symbols->names);
	pool_free(&symbols->pool);
	free(symbols->places);
	free(symbols->sorted_modules);
	free(symbols->module_files);
	free(symbols->files);
	free(symbols);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *symbols_module_name(const struct symbols *symbols, uint32_t module)
{
	if (module == NO_INDEX)
		return "";
	const struct recording *recording = symbols->recording;
	assert(module < recording->module_count);
	const struct rec_module *mapped = &recording->modules[module];
	const struct rec_process *process = mapped->process < recording->process_count
						    ? &recording->processes[mapped->process]
						    : NULL;

	/* The program may be known by another name than its file's. */
	if (process && process->op != NO_INDEX && mapped->path && process->exe == mapped->path)
		return recording->strings[recording->ops[process->op].name];
	return base_name(recording->strings[mapped->path]);
}

uint32_t symbols_module(const struct symbols *symbols, uint32_t process, uint64_t address)
{
	const struct rec_module *modules = symbols->recording->modules;
	size_t low = 0, high = symbols->recording->module_count;
	uint32_t found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_module *module = &modules[symbols->sorted_modules[middle]];

		if (module->process < process ||
		    (module->process == process && module->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NO_INDEX;
	found = symbols->sorted_modules[low - 1];
	if (modules[found].process != process ||
	    address - modules[found].start >= modules[found].size)
		return NO_INDEX;
	return found;
}

static struct objectfile *open_object(struct symbols *symbols, uint32_t index)
{
	struct symbol_file *file = &symbols->files[index];
	const char **strings = symbols->recording->strings;

	if (!file->is_opened)
		objectfile_open(&file->object, strings[file->path], strings[file->build_id]);
	file->is_opened = true;
	return &file->object;
}

static bool is_mangled(const char *symbol)
{
	return symbol && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

static struct symbol_frame make_frame(struct symbols *symbols, const struct unitindex_frame *from)
{
	return (struct symbol_frame){
		.function = from->function ? names_readable(&symbols->names, from->function) : NULL,
		.file = from->file ? names_intern(&symbols->names, from->file) : NULL,
		.line = from->line,
	};
}

/*
 * Debug information knows inlined functions and lines, the symbol table the function as a whole; it
 * has the last word on that one where only it has the name with its namespaces.
 */
static void name_place(struct symbols *symbols, struct objectfile *object, uint64_t address,
		       struct symbol_place *place)
{
	struct unitindex_frame found[UNITINDEX_FRAMES_MAX] = { { 0 } };
	size_t count = objectfile_frames(object, address, found);
	const char *symbol = objectfile_function(object, address, &place->function_offset);
	struct symbol_frame *frames;

	if (!count)
		count = 1;
	if (symbol && (!found[count - 1].function ||
		       (is_mangled(symbol) && !is_mangled(found[count - 1].function))))
		found[count - 1].function = symbol;
	frames = pool_alloc(&symbols->pool, count * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		frames[i] = make_frame(symbols, &found[i]);
		frames[i].is_inlined = i + 1 < count;
	}
	place->frames = frames;
	place->frame_count = count;
	symbols->named_count += frames[0].function != NULL;
}

static size_t place_slot(const struct place_entry *places, size_t room, uint32_t file,
			 uint64_t offset, bool is_return_address)
{
	uint64_t hash =
		(offset * 2 + is_return_address + ((uint64_t)file << 48)) * 0x9e3779b97f4a7c15u;
	size_t i = (hash >> 20) & (room - 1);

	while (places[i].place && (places[i].place->offset != offset || places[i].file != file ||
				   places[i].is_return_address != is_return_address))
		i = (i + 1) & (room - 1);
	return i;
}

static void grow_places(struct symbols *symbols)
{
	size_t room = 2 * symbols->place_room;
	struct place_entry *places = memory_new(room, sizeof(*places));

	for (size_t i = 0; i < symbols->place_room; i++) {
		const struct place_entry *old = &symbols->places[i];

		if (old->place)
			places[place_slot(places, room, old->file, old->place->offset,
					  old->is_return_address)] = *old;
	}
	free(symbols->places);
	symbols->places = places;
	symbols->place_room = room;
}

static struct symbol_place *place_new(struct symbols *symbols, struct rec_frame frame,
				      uint32_t file, bool is_return_address)
{
	static const struct symbol_frame unknown = { .function = NULL };
	struct symbol_place *place = pool_alloc(&symbols->pool, sizeof(*place));

	place->offset = frame.offset;
	place->module = symbols_module_name(symbols, frame.module);
	place->frames = &unknown;
	place->frame_count = 1;
	if (file != NO_INDEX)
		name_place(symbols, open_object(symbols, file), frame.offset - is_return_address,
			   place);
	return place;
}

const struct symbol_place *symbols_place(struct symbols *symbols, struct rec_frame frame,
					 bool is_return_address)
{
	uint32_t file = frame.module == NO_INDEX ? NO_INDEX : symbols->module_files[frame.module];
	struct place_entry *entry;

	if (4 * symbols->place_count >= 3 * symbols->place_room)
		grow_places(symbols);
	entry = &symbols->places[place_slot(symbols->places, symbols->place_room, file,
					    frame.offset, is_return_address)];
	if (!entry->place) {
		entry->place = place_new(symbols, frame, file, is_return_address);
		entry->file = file;
		entry->is_return_address = is_return_address;
		symbols->place_count++;
	}
	return entry->place;
}

const struct symbol_place *symbols_place_of_address(struct symbols *symbols, uint32_t process,
						    uint64_t address)
{
	uint32_t module = symbols_module(symbols, process, address);
	struct rec_frame frame = { .module = module, .offset = address };

	if (module != NO_INDEX)
		frame.offset = address - symbols->recording->modules[module].base;
	return symbols_place(symbols, frame, false);
}

bool symbols_object_text(struct symbols *symbols, uint32_t process, uint64_t address, char *text,
			 size_t text_bytes)
{
	uint32_t module = symbols_module(symbols, process, address);
	const char *symbol;
	uint64_t offset = 0;

	text[0] = '\0';
	if (module == NO_INDEX)
		return false;
	address -= symbols->recording->modules[module].base;
	symbol = objectfile_object(open_object(symbols, symbols->module_files[module]), address,
				   &offset);
	if (!symbol)
		snprintf(text, text_bytes, "%s+0x%" PRIx64, symbols_module_name(symbols, module),
			 address);
	else if (offset)
		snprintf(text, text_bytes, "%s+%" PRIu64, names_readable(&symbols->names, symbol),
			 offset);
	else
		snprintf(text, text_bytes, "%s", names_readable(&symbols->names, symbol));
	return true;
}

const char *symbols_frame_text(const struct symbol_place *place, size_t index, char *text,
			       size_t text_bytes)
{
	const struct symbol_frame *frame = &place->frames[index];

	assert(index < place->frame_count && text_bytes > 0);
	if (!frame->function && place->module[0])
		snprintf(text, text_bytes, "%s+0x%" PRIx64, place->module, place->offset);
	else if (!frame->function)
		snprintf(text, text_bytes, "0x%" PRIx64, place->offset);
	else if (frame->file && frame->line)
		snprintf(text, text_bytes, "%s %s:%" PRIu32, frame->function,
			 base_name(frame->file), frame->line);
	else
		snprintf(text, text_bytes, "%s", frame->function);
	return text;
}

struct symbols_counts symbols_counts(const struct symbols *symbols)
{
	struct symbols_counts counts = {
		.places_named = symbols->named_count,
		.places_unnamed = symbols->place_count - symbols->named_count,
	};

	for (size_t i = 0; i < symbols->file_count; i++) {
		const struct symbol_file *file = &symbols->files[i];

		counts.files_missing += file->is_opened && file->object.state == OBJECTFILE_MISSING;
		counts.files_other_build +=
			file->is_opened && file->object.state == OBJECTFILE_OTHER_BUILD;
	}
	return counts;
}

void symbols_each_unusable(const struct symbols *symbols,
			   void (*report)(void *context, const char *path, bool is_other_build),
			   void *context)
{
	for (size_t i = 0; i < symbols->file_count; i++) {
		const struct symbol_file *file = &symbols->files[i];

		if (file->is_opened && file->object.state != OBJECTFILE_OPEN)
			report(context, symbols->recording->strings[file->path],
			       file->object.state == OBJECTFILE_OTHER_BUILD);
	}
}

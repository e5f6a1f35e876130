/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From module and address to names, with one answer kept for each address.
 *
 * Modules of all processes that are the same file (path and build id) share one open file. It is
 * opened when the first address in it is asked for. Code outside all files counts as one file for
 * each process. Answers are kept in a hash table by file and address. Names that the dump itself
 * has for a file are put there at the beginning, and the file then is never opened.
 *
 * One thread. Must never fail for want of a file: a missing or different file only costs the names.
 */
#include "symbols.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/memory.h"
#include "closures.h"
#include "demangle.h"
#include "recording/modulemap.h"
#include "symbolfile.h"

enum { PLACES_FIRST = 1024 };

struct place_entry {
	struct symbol_place *place; /* NULL = free */
	uint32_t file;
	bool is_return_address;
};

struct symbols {
	const struct recording *recording;
	const char *root; /* NULL = files are where they were */
	char *const *dumps;
	size_t dump_count;
	struct symbol_file *files;
	size_t file_count;
	size_t file_room;
	uint32_t *module_files; /* of each module of the recording */
	uint32_t *given_order;  /* of the recording's named data: by file, then address */
	struct modulemap modules;
	struct place_entry *places;
	size_t place_count;
	size_t place_room; /* a power of two */
	struct demangler demangler;
	struct blocks blocks;
};

static uint32_t file_of(struct symbols *symbols, uint32_t module)
{
	struct symbol_file file = symbol_file_of(symbols->recording, module);

	for (size_t i = 0; i < symbols->file_count; i++)
		if (symbol_file_is_same(&symbols->files[i], &file))
			return (uint32_t)i;
	symbols->files = memory_grow(symbols->files, &symbols->file_room, symbols->file_count + 1,
				     sizeof(*symbols->files));
	symbols->files[symbols->file_count++] = file;
	return (uint32_t)symbols->file_count - 1;
}

/* By file, then address. */
static int compare_given(const void *left, const void *right, void *context)
{
	const struct rec_named_data *data = context;
	const struct rec_named_data *a = &data[*(const uint32_t *)left];
	const struct rec_named_data *b = &data[*(const uint32_t *)right];

	if (a->naming != b->naming)
		return a->naming < b->naming ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void sort_given_objects(struct symbols *symbols)
{
	const struct recording *recording = symbols->recording;
	size_t count = recording->named_data_count;

	symbols->given_order = memory_new(count, sizeof(*symbols->given_order));
	for (size_t i = 0; i < count; i++)
		symbols->given_order[i] = (uint32_t)i;
	if (count > 1)
		qsort_r(symbols->given_order, count, sizeof(*symbols->given_order), compare_given,
			recording->named_data);
}

static void take_given_places(struct symbols *symbols);

struct symbols *symbols_new(const struct recording *recording, char *const *dumps,
			    size_t dump_count)
{
	struct symbols *symbols = memory_new(1, sizeof(*symbols));

	symbols->recording = recording;
	symbols->dumps = dumps;
	symbols->dump_count = dump_count;
	symbols->module_files = memory_new(recording->module_count, sizeof(*symbols->module_files));
	modulemap_build(&symbols->modules, recording);
	for (size_t i = 0; i < recording->module_count; i++)
		symbols->module_files[i] = file_of(symbols, (uint32_t)i);
	symbols->place_room = PLACES_FIRST;
	symbols->places = memory_new(symbols->place_room, sizeof(*symbols->places));
	take_given_places(symbols);
	sort_given_objects(symbols);
	return symbols;
}

void symbols_look_below(struct symbols *symbols, const char *root)
{
	symbols->root = root[0] ? root : NULL;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->file_count; i++)
		symbol_file_close(&symbols->files[i]);
	demangle_free(&symbols->demangler);
	blocks_free(&symbols->blocks);
	modulemap_free(&symbols->modules);
	free(symbols->places);
	free(symbols->given_order);
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

uint32_t symbols_module(const struct symbols *symbols, uint32_t process, uint64_t address,
			uint64_t at_ns)
{
	return modulemap_find(&symbols->modules, process, address, at_ns);
}

static struct symbol_file *open_file(struct symbols *symbols, uint32_t index)
{
	symbol_file_open(&symbols->files[index], symbols->recording, symbols->root, symbols->dumps,
			 symbols->dump_count);
	return &symbols->files[index];
}

static bool is_mangled(const char *symbol)
{
	return symbol && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

static struct symbol_frame make_frame(struct symbols *symbols, const struct unitindex_frame *from)
{
	return (struct symbol_frame){
		.function = closures_name(&symbols->demangler, from),
		.file = from->file ? demangle_intern(&symbols->demangler, from->file) : NULL,
		.line = from->line,
	};
}

/* Of C: a library's own name for a function that others call by a plain one. */
static bool is_plainer(const char *symbol, const char *function)
{
	return strncmp(function, "__", 2) == 0 && strspn(symbol, "_") < strspn(function, "_");
}

/* The outermost one, and parts of that function that are noted as inlined into it. */
static void rename_frames(struct unitindex_frame *frames, size_t count, const char *from,
			  const char *to)
{
	frames[count - 1].function = to;
	for (size_t i = 0; from && i + 1 < count; i++)
		if (frames[i].function && strcmp(frames[i].function, from) == 0)
			frames[i].function = to;
}

/*
 * Debug information knows inlined functions and lines, the symbol table the function as a whole.
 * The symbol table has the last word on the function's name where only it has the namespaces, or a
 * plainer name.
 */
static void name_place(struct symbols *symbols, struct objectfile *object, uint64_t address,
		       struct symbol_place *place)
{
	struct unitindex_frame found[UNITINDEX_FRAMES_MAX] = { { 0 } };
	size_t count = objectfile_frames(object, address, found);
	const char *symbol = objectfile_function(object, address, &place->function_offset);
	struct symbol_frame *frames;
	const char *outermost;

	if (!count && !symbol)
		place->function_start = objectfile_function_start(object, address);
	if (!count)
		count = 1;
	outermost = found[count - 1].function;
	if (symbol && (!outermost || (is_mangled(symbol) && !is_mangled(outermost)) ||
		       is_plainer(symbol, outermost)))
		rename_frames(found, count, outermost, symbol);
	frames = blocks_alloc(&symbols->blocks, count * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		frames[i] = make_frame(symbols, &found[i]);
		frames[i].is_inlined = i + 1 < count;
	}
	place->frames = frames;
	place->frame_count = count;
}

static void put_parsed(struct symbols *symbols, const struct perfmap_name *name,
		       struct symbol_place *place)
{
	struct symbol_frame *frame = blocks_alloc(&symbols->blocks, sizeof(*frame));

	frame->function = demangle_intern(&symbols->demangler, name->function);
	frame->file = name->file[0] ? demangle_intern(&symbols->demangler, name->file) : NULL;
	frame->line = name->line;
	place->frames = frame;
}

static void name_jit_place(struct symbols *symbols, const struct perfmap *map, uint64_t address,
			   struct symbol_place *place)
{
	const char *text = perfmap_find(map, address, &place->function_offset);
	struct perfmap_name name;

	if (!text)
		return;
	perfmap_parse(text, &name);
	put_parsed(symbols, &name, place);
}

static void name_interpreted(struct symbols *symbols, const char *text, struct symbol_place *place)
{
	struct perfmap_name name;

	perfmap_parse_placed(text, &name);
	put_parsed(symbols, &name, place);
}

static size_t place_slot(const struct place_entry *places, size_t room, uint32_t file,
			 uint64_t offset, bool is_return_address)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t hash = (offset * 2 + is_return_address) ^ file * 0xbf58476d1ce4e5b9u;

	/* twice, as the highest bits of a key reach no low ones by one product */
	hash *= factor;
	hash = (hash ^ hash >> 32) * factor;
	size_t i = (hash >> 32) & (room - 1);

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

static struct place_entry *place_entry(struct symbols *symbols, uint32_t file, uint64_t offset,
				       bool is_return_address)
{
	if (4 * symbols->place_count >= 3 * symbols->place_room)
		grow_places(symbols);
	return &symbols->places[place_slot(symbols->places, symbols->place_room, file, offset,
					   is_return_address)];
}

/* Puts a place without names into a free entry. */
static struct symbol_place *place_new(struct symbols *symbols, struct place_entry *entry,
				      struct rec_frame frame, uint32_t file, bool is_return_address)
{
	static const struct symbol_frame unknown = { .function = NULL };
	struct symbol_place *place = blocks_alloc(&symbols->blocks, sizeof(*place));

	assert(!entry->place);
	place->offset = frame.offset;
	place->module = symbols_module_name(symbols, frame.module);
	place->is_jit = file == NO_INDEX || symbols->files[file].process != NO_INDEX;
	place->frames = &unknown;
	place->frame_count = 1;
	*entry = (struct place_entry){ place, file, is_return_address };
	symbols->place_count++;
	return place;
}

static void take_given_place(struct symbols *symbols, const struct rec_named_code *code,
			     uint32_t file)
{
	const struct recording *recording = symbols->recording;
	struct place_entry *entry =
		place_entry(symbols, file, code->offset, code->is_return_address);
	struct rec_frame frame = { symbols->files[file].module, code->offset };
	struct symbol_frame *frames;
	struct symbol_place *place;

	if (entry->place)
		return;
	place = place_new(symbols, entry, frame, file, code->is_return_address);
	frames = blocks_alloc(&symbols->blocks, code->frame_count * sizeof(*frames));
	for (uint32_t i = 0; i < code->frame_count; i++) {
		const struct rec_named_frame *named =
			&recording->named_frames[code->first_frame + i];

		frames[i] = (struct symbol_frame){
			.function = named->function ? recording->strings[named->function] : NULL,
			.file = named->file ? recording->strings[named->file] : NULL,
			.line = named->line,
			.is_inlined = i + 1 < code->frame_count,
		};
	}
	place->frames = frames;
	place->frame_count = code->frame_count;
	place->function_offset = code->function_offset;
}

static void take_given_places(struct symbols *symbols)
{
	const struct recording *recording = symbols->recording;

	for (size_t i = 0; i < recording->named_code_count; i++)
		for (uint32_t file = 0; file < symbols->file_count; file++)
			if (symbols->files[file].naming == recording->named_codes[i].naming)
				take_given_place(symbols, &recording->named_codes[i], file);
}

static void look_up(struct symbols *symbols, uint32_t index, uint64_t address,
		    struct symbol_place *place)
{
	struct symbol_file *file = &symbols->files[index];

	if (file->naming != NO_INDEX)
		return; /* all that is known is here already */
	open_file(symbols, index);
	if (file->process != NO_INDEX)
		name_jit_place(symbols, &file->map, address, place);
	else
		name_place(symbols, file->object, address, place);
}

const struct symbol_place *symbols_place(struct symbols *symbols, struct rec_frame frame,
					 bool is_return_address)
{
	uint32_t file = frame.module == NO_INDEX ? NO_INDEX : symbols->module_files[frame.module];
	struct place_entry *entry = place_entry(symbols, file, frame.offset, is_return_address);
	struct symbol_place *place = entry->place;

	if (!place) {
		const char *text = rec_frame_text(symbols->recording, frame);

		place = place_new(symbols, entry, frame, file, is_return_address);
		if (text)
			name_interpreted(symbols, text, place);
		else if (file != NO_INDEX)
			look_up(symbols, file, frame.offset - is_return_address, place);
	}
	return place;
}

const uint8_t *symbols_code(struct symbols *symbols, struct rec_frame frame, bool is_return_address,
			    size_t *before, size_t *after)
{
	uint32_t file = frame.module == NO_INDEX ? NO_INDEX : symbols->module_files[frame.module];

	if (file == NO_INDEX || symbols->files[file].process != NO_INDEX ||
	    symbols->files[file].naming != NO_INDEX)
		return NULL;
	return objectfile_code(open_file(symbols, file)->object, frame.offset - is_return_address,
			       before, after);
}

const struct symbol_place *symbols_place_of_address(struct symbols *symbols, uint32_t process,
						    uint64_t address, uint64_t at_ns)
{
	uint32_t module = symbols_module(symbols, process, address, at_ns);
	struct rec_frame frame = { .module = module, .offset = address };

	if (module != NO_INDEX)
		frame.offset = address - symbols->recording->modules[module].base;
	return symbols_place(symbols, frame, false);
}

static void given_object(const struct symbols *symbols, uint32_t naming,
			 struct symbol_object *object)
{
	const struct recording *recording = symbols->recording;
	size_t low = 0, high = recording->named_data_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_named_data *data =
			&recording->named_data[symbols->given_order[middle]];

		if (data->naming == naming && data->offset == object->offset) {
			object->name = recording->strings[data->object];
			object->object_offset = data->object_offset;
			return;
		}
		if (data->naming < naming ||
		    (data->naming == naming && data->offset < object->offset))
			low = middle + 1;
		else
			high = middle;
	}
}

bool symbols_object(struct symbols *symbols, uint32_t process, uint64_t address, uint64_t at_ns,
		    struct symbol_object *object)
{
	uint32_t module = symbols_module(symbols, process, address, at_ns);
	uint32_t file;

	*object = (struct symbol_object){ .module = module };
	if (module == NO_INDEX)
		return false;
	file = symbols->module_files[module];
	object->offset = address - symbols->recording->modules[module].base;
	if (symbols->files[file].naming != NO_INDEX) {
		given_object(symbols, symbols->files[file].naming, object);
		return true;
	}
	if (symbols->files[file].process != NO_INDEX)
		return true;
	object->name = objectfile_object(open_file(symbols, file)->object, object->offset,
					 &object->object_offset);
	if (object->name)
		object->name = demangle_symbol(&symbols->demangler, object->name);
	return true;
}

size_t symbols_file_count(const struct symbols *symbols)
{
	return symbols->file_count;
}

struct symbol_file_info symbols_file(const struct symbols *symbols, uint32_t file)
{
	assert(file < symbols->file_count);
	return symbol_file_info(&symbols->files[file], symbols->recording);
}

uint32_t symbols_file_of_module(const struct symbols *symbols, uint32_t module)
{
	assert(module < symbols->recording->module_count);
	return symbols->module_files[module];
}

void symbols_each_place(const struct symbols *symbols,
			void (*visit)(void *context, const struct symbol_found *found),
			void *context)
{
	for (size_t i = 0; i < symbols->place_room; i++) {
		const struct place_entry *entry = &symbols->places[i];
		const struct symbol_found found = { entry->place, entry->file,
						    entry->is_return_address };

		if (entry->place)
			visit(context, &found);
	}
}

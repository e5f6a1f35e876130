/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names into dumps; symbolize.h has the contract, read_names.c says what the lines look like.
 *
 * Every address that the analyzer may ever ask for is looked up: frames of stacks, starts of
 * threads, locks. The names of a file whose build is another are left out, so that nobody takes
 * them for the recorded ones. Lines are kept far below what the reader takes.
 *
 * One thread. A line is made in memory, as its texts come first but are known last.
 */
#include "symbolize.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/emit.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "format.h"
#include "read/read_copy.h"
#include "recording/intern.h"

enum { LINE_BYTES = 1 << 18 };

static const struct {
#define LINE(name, word, meaning)           char line_##name[sizeof(word)];
#define EVENT_KEY(name, key, type, meaning) char name[sizeof(key)];
#define NAMES_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
} keys = {
#define LINE(name, word, meaning)           .line_##name = word,
#define EVENT_KEY(name, key, type, meaning) .name = key,
#define NAMES_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
};

struct datum {
	struct symbol_object object;
	uint32_t file;
};

/* Everything that is to be written, in order of file and address. */
struct collection {
	const struct recording *recording;
	struct symbols *symbols;
	const struct packages *packages;
	struct symbol_found *codes;
	size_t code_count, code_room;
	struct datum *data;
	size_t data_count, data_room;
	struct symbolize_counts *counts;
};

/* A line in the making. */
struct line {
	struct recording texts; /* only its strings are used */
	size_t text_bytes;
	FILE *body;
	char *bytes;
	size_t byte_count;
	struct package package; /* unknown: another line of the file has it, or the dump */
	const char *const *strings;
	bool has_code;
	bool has_data;
};

static bool is_wanted(const struct collection *collection, uint32_t file)
{
	return file != NO_INDEX &&
	       symbols_file(collection->symbols, file).state == SYMBOL_FILE_OPEN;
}

void symbolize_look_up(const struct recording *recording, struct symbols *symbols)
{
	for (size_t i = 0; i < recording->frame_count; i++)
		symbols_place(symbols, recording->frames[i], true);
	for (size_t i = 0; recording->extras && i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];

		if (op->kind == KIND_THREAD && op->thread != NO_INDEX &&
		    recording->extras[i].address)
			symbols_place_of_address(symbols, recording->threads[op->thread].process,
						 recording->extras[i].address, op->start_ns);
	}
}

static void collect_code(void *context, const struct symbol_found *found)
{
	struct collection *collection = context;

	/* A frame that has its text in the dump needs no name, and its number is this reading's. */
	if (!is_wanted(collection, found->file) || found->place->offset >= REC_FRAME_TEXT ||
	    (!found->place->frames[0].function && !found->place->frames[0].file))
		return;
	collection->codes = memory_grow(collection->codes, &collection->code_room,
					collection->code_count + 1, sizeof(*collection->codes));
	collection->codes[collection->code_count++] = *found;
}

static void collect_datum(struct collection *collection, uint32_t thread, uint64_t address,
			  uint64_t at_ns)
{
	struct datum datum;

	if (thread == NO_INDEX || !address ||
	    !symbols_object(collection->symbols, collection->recording->threads[thread].process,
			    address, at_ns, &datum.object))
		return;
	datum.file = symbols_file_of_module(collection->symbols, datum.object.module);
	if (!datum.object.name || !is_wanted(collection, datum.file))
		return;
	collection->data = memory_grow(collection->data, &collection->data_room,
				       collection->data_count + 1, sizeof(*collection->data));
	collection->data[collection->data_count++] = datum;
}

static void collect_data(struct collection *collection)
{
	const struct recording *recording = collection->recording;

	for (size_t i = 0; recording->extras && i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_HOLD)
			collect_datum(collection, recording->ops[i].thread,
				      recording->extras[i].address, recording->ops[i].start_ns);
	for (size_t i = 0; i < recording->wait_count; i++)
		collect_datum(collection, recording->waits[i].thread, recording->waits[i].address,
			      recording->waits[i].start_ns);
	for (size_t i = 0; i < recording->link_count; i++)
		collect_datum(collection, recording->links[i].thread, recording->links[i].address,
			      recording->links[i].at_ns);
}

static int compare_codes(const void *left, const void *right)
{
	const struct symbol_found *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->place->offset != b->place->offset)
		return a->place->offset < b->place->offset ? -1 : 1;
	return a->is_return_address - b->is_return_address;
}

static int compare_data(const void *left, const void *right)
{
	const struct datum *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->object.offset > b->object.offset) - (a->object.offset < b->object.offset);
}

static uint32_t text_number(struct line *line, const char *text)
{
	size_t known = line->texts.string_count;
	uint32_t number = recording_intern(&line->texts, text ? text : "");

	if (line->texts.string_count > known)
		line->text_bytes += strlen(line->texts.strings[number]) + 3;
	return number;
}

static void line_begin(struct line *line)
{
	*line = (struct line){ 0 };
	line->body = memory_stream(&line->bytes, &line->byte_count);
	text_number(line, "");
}

static void put_package(const struct line *line, FILE *to)
{
	if (line->package.sort == PACKAGE_UNKNOWN)
		return;
	fprintf(to, ",\"%s\":", keys.package);
	emit_json_string(to, line->strings[line->package.name]);
	fprintf(to, ",\"%s\":", keys.package_version);
	emit_json_string(to, line->strings[line->package.version]);
	fprintf(to, ",\"%s\":\"%s\"", keys.package_sort, package_word(line->package.sort));
}

static void line_end(struct line *line, FILE *to, const struct symbol_file_info *file)
{
	fprintf(line->body, "%s}\n", line->has_code || line->has_data ? "]" : "");
	fclose(line->body);
	if (line->has_code || line->has_data || line->package.sort != PACKAGE_UNKNOWN) {
		fprintf(to, "{\"%s\":\"%s\",\"%s\":", keys.EVENT, keys.line_NAMES,
			file->client[0] ? keys.client : keys.path);
		emit_json_string(to, file->client[0] ? file->client : file->path);
		if (!file->client[0]) {
			fprintf(to, ",\"%s\":", keys.build_id);
			emit_json_string(to, file->build_id);
		}
		put_package(line, to);
		fprintf(to, ",\"%s\":[", keys.texts);
		for (size_t i = 0; i < line->texts.string_count; i++) {
			fputs(i ? "," : "", to);
			emit_json_string(to, line->texts.strings[i]);
		}
		fputc(']', to);
		fwrite(line->bytes, 1, line->byte_count, to);
	}
	intern_free(line->texts.intern);
	free(line->texts.strings);
	free(line->bytes);
}

/* Ends a line that is long enough, and begins another one about the same file. */
static void line_break(struct line *line, FILE *to, const struct symbol_file_info *file)
{
	if ((size_t)ftell(line->body) + line->text_bytes < LINE_BYTES)
		return;
	const char *const *strings = line->strings;
	line_end(line, to, file);
	line_begin(line);
	line->strings = strings;
}

static void put_code(struct line *line, const struct symbol_found *found)
{
	const struct symbol_place *place = found->place;

	if (!line->has_code)
		fprintf(line->body, ",\"%s\":[", keys.code);
	fprintf(line->body, "%s[%" PRIu64 ",%d,%" PRIu64, line->has_code ? "," : "", place->offset,
		found->is_return_address, place->function_offset);
	line->has_code = true;
	for (size_t i = 0; i < place->frame_count; i++) {
		uint32_t function = text_number(line, place->frames[i].function);
		uint32_t file = text_number(line, place->frames[i].file);

		fprintf(line->body, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, function, file,
			place->frames[i].line);
	}
	fputc(']', line->body);
}

static void put_datum(struct line *line, const struct datum *datum)
{
	uint32_t name = text_number(line, datum->object.name);

	if (!line->has_data)
		fprintf(line->body, "%s,\"%s\":[", line->has_code ? "]" : "", keys.data);
	fprintf(line->body, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu32 "]", line->has_data ? "," : "",
		datum->object.offset, datum->object.object_offset, name);
	line->has_data = true;
}

/* That a file is of, where its dump does not say so. */
static struct package package_of_file(const struct collection *collection, uint32_t file,
				      const struct symbol_file_info *info)
{
	const struct recording *recording = collection->recording;
	const struct package unknown = { .sort = PACKAGE_UNKNOWN };

	if (info->client[0] || info->state == SYMBOL_FILE_OTHER_BUILD)
		return unknown;
	for (size_t i = 0; i < recording->naming_count; i++)
		if (recording->namings[i].package_sort &&
		    strcmp(recording->strings[recording->namings[i].path], info->path) == 0 &&
		    strcmp(recording->strings[recording->namings[i].build_id], info->build_id) == 0)
			return unknown;
	for (uint32_t i = 0; i < recording->module_count; i++)
		if (symbols_file_of_module(collection->symbols, i) == file)
			return packages_of(collection->packages, i);
	return unknown;
}

/* All of one file: its parts of the two arrays. */
static void write_file(FILE *to, const struct collection *collection, uint32_t file,
		       const struct symbol_found *codes, size_t code_count,
		       const struct datum *data, size_t data_count)
{
	const struct symbol_file_info info = symbols_file(collection->symbols, file);
	struct line line;

	line_begin(&line);
	line.strings = collection->recording->strings;
	line.package = package_of_file(collection, file, &info);
	for (size_t i = 0; i < code_count; i++) {
		put_code(&line, &codes[i]);
		line_break(&line, to, &info);
	}
	for (size_t i = 0; i < data_count; i++) {
		if (i > 0 && compare_data(&data[i - 1], &data[i]) == 0)
			continue;
		put_datum(&line, &data[i]);
		line_break(&line, to, &info);
	}
	line_end(&line, to, &info);
	collection->counts->files += code_count + data_count > 0;
	collection->counts->addresses += code_count;
}

static void write_files(void *context, FILE *to)
{
	const struct collection *collection = context;
	size_t code = 0, datum = 0;

	for (uint32_t file = 0; file < symbols_file_count(collection->symbols); file++) {
		size_t code_from = code, datum_from = datum;

		while (code < collection->code_count && collection->codes[code].file == file)
			code++;
		while (datum < collection->data_count && collection->data[datum].file == file)
			datum++;
		write_file(to, collection, file,
			   code > code_from ? &collection->codes[code_from] : NULL,
			   code - code_from,
			   datum > datum_from ? &collection->data[datum_from] : NULL,
			   datum - datum_from);
	}
	assert(code == collection->code_count && datum == collection->data_count);
}

static void count_unusable(const struct symbols *symbols, struct symbolize_counts *counts)
{
	for (uint32_t file = 0; file < symbols_file_count(symbols); file++) {
		const struct symbol_file_info info = symbols_file(symbols, file);

		counts->missing_files += info.state == SYMBOL_FILE_MISSING && !info.client[0];
		counts->other_builds += info.state == SYMBOL_FILE_OTHER_BUILD;
	}
}

int symbolize_write(FILE *to, const struct recording *recording, struct symbols *symbols,
		    const struct packages *packages, char *const *paths, size_t path_count,
		    struct read_error *error, struct symbolize_counts *counts)
{
	struct collection collection = {
		.recording = recording,
		.symbols = symbols,
		.packages = packages,
		.counts = counts,
	};
	int status = 0;

	*counts = (struct symbolize_counts){ 0 };
	collect_data(&collection);
	symbols_each_place(symbols, collect_code, &collection);
	if (collection.code_count)
		qsort(collection.codes, collection.code_count, sizeof(*collection.codes),
		      compare_codes);
	if (collection.data_count)
		qsort(collection.data, collection.data_count, sizeof(*collection.data),
		      compare_data);
	for (size_t i = 0; status == 0 && i < path_count; i++)
		status = read_copy(to, paths[i], i + 1 == path_count, i == 0 ? write_files : NULL,
				   &collection, error);
	count_unusable(symbols, counts);
	free(collection.codes);
	free(collection.data);
	return status;
}

/* --- The output file --- */

/* Names the files whose build is another. */
static void say_refused(const struct symbols *symbols, symbolize_say *say)
{
	for (uint32_t i = 0; i < symbols_file_count(symbols); i++) {
		const struct symbol_file_info file = symbols_file(symbols, i);
		if (file.state == SYMBOL_FILE_OTHER_BUILD)
			say("%s: refused: its build id is %s, the recorded one "
			    "is %s; none of its names are written; put the recorded file "
			    "or its debug file in place",
			    file.path, file.found_build_id[0] ? file.found_build_id : "none",
			    file.build_id);
	}
}

/* It comes once. */
static bool reads_standard_input(const struct options *options)
{
	for (size_t i = 0; i < options->path_count; i++)
		if (strcmp(options->paths[i], "-") == 0)
			return true;
	return false;
}

static FILE *open_output(const struct options *options, symbolize_say *say)
{
	struct stat input, output;
	if (strcmp(options->symbolize, "-") == 0)
		return stdout;
	if (reads_standard_input(options)) {
		say("--symbolize reads dumps twice, standard input comes once; give a file");
		return NULL;
	}
	for (size_t i = 0; i < options->path_count; i++) {
		if (stat(options->paths[i], &input) == 0 &&
		    stat(options->symbolize, &output) == 0 && input.st_dev == output.st_dev &&
		    input.st_ino == output.st_ino) {
			say("--symbolize: %s is one of the dumps; give another name",
			    options->symbolize);
			return NULL;
		}
	}
	FILE *file = outfile_create(options->symbolize);
	if (!file)
		say("--symbolize: %s: %s; give another name", options->symbolize,
		    errno == EPERM ? "others may have put it there" : strerror(errno));
	return file;
}

int symbolize_dumps(struct recording *recording, const struct options *options, symbolize_say *say)
{
	struct symbolize_counts counts = { 0 };
	struct packages packages;
	struct read_error error = { 0 };
	FILE *file = open_output(options, say);
	if (!file)
		return -EIO;
	struct symbols *symbols = symbols_new(recording, options->paths, options->path_count);
	symbols_look_below(symbols, options->root);
	symbolize_look_up(recording, symbols);
	packages_build(&packages, recording, options->root);
	int status = symbolize_write(file, recording, symbols, &packages, options->paths,
				     options->path_count, &error, &counts);
	bool is_written = !ferror(file);
	is_written = (file == stdout || fclose(file) == 0) && is_written;
	if (status != 0)
		say("%s: %s", error.file, error.text);
	else if (!is_written)
		say("--symbolize: %s: cannot be written: is the disk full?", options->symbolize);
	say_refused(symbols, say);
	if (status == 0 && is_written && !options->quiet)
		say("names of %zu addresses in %zu files written; %zu files "
		    "are not on this machine",
		    counts.addresses, counts.files, counts.missing_files);
	packages_free(&packages);
	symbols_free(symbols);
	if (status != 0 || !is_written)
		return -EIO;
	return counts.other_builds > 0;
}

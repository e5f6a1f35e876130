/* SPDX-License-Identifier: Apache-2.0 */
/* Writes places and objects as text; symbols.h has the contract. One thread. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbols.h"

static bool put_function(struct symbols *symbols, uint32_t process, uint64_t address,
			 uint64_t at_ns, char *text, size_t text_bytes)
{
	const struct symbol_place *place =
		symbols_place_of_address(symbols, process, address, at_ns);
	const char *function = place->frames[place->frame_count - 1].function;

	if (!function || place->function_offset)
		return false;
	snprintf(text, text_bytes, "%s", function);
	return true;
}

bool symbols_object_text(struct symbols *symbols, uint32_t process, uint64_t address,
			 uint64_t at_ns, char *text, size_t text_bytes)
{
	struct symbol_object object;

	text[0] = '\0';
	if (!symbols_object(symbols, process, address, at_ns, &object))
		return false;
	if (!object.name && put_function(symbols, process, address, at_ns, text, text_bytes))
		return true;
	if (!object.name)
		snprintf(text, text_bytes, "%s+0x%" PRIx64,
			 symbols_module_name(symbols, object.module), object.offset);
	else if (object.object_offset)
		snprintf(text, text_bytes, "%s+%" PRIu64, object.name, object.object_offset);
	else
		snprintf(text, text_bytes, "%s", object.name);
	return true;
}

const char *symbols_frame_text(const struct symbol_place *place, size_t index, char *text,
			       size_t text_bytes)
{
	const struct symbol_frame *frame = &place->frames[index];
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

	assert(index < place->frame_count && text_bytes > 0);
	if (!frame->function && place->is_jit)
		snprintf(text, text_bytes, "%s", REC_JIT_PATH);
	else if (!frame->function)
		snprintf(text, text_bytes, "%s+0x%" PRIx64, place->module, place->offset);
	else if (frame->file && frame->line)
		snprintf(text, text_bytes, "%s %s:%" PRIu32, frame->function,
			 slash && slash[1] ? slash + 1 : frame->file, frame->line);
	else
		snprintf(text, text_bytes, "%s", frame->function);
	return text;
}

const char *symbols_function_text(const struct symbol_place *place, size_t index, char *text,
				  size_t text_bytes)
{
	const struct symbol_frame *frame = &place->frames[index];

	if (frame->function)
		snprintf(text, text_bytes, "%s", frame->function);
	else if (place->function_start)
		snprintf(text, text_bytes, "%s+0x%" PRIx64, place->module, place->function_start);
	else
		symbols_frame_text(place, index, text, text_bytes);
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own format: all threads added up, then each thread in order of time.
 *
 * The first profile has no order of time: it is for "Left Heavy" and "Sandwich". Files above
 * BYTES_MAX bring the viewer to a halt. If there are too many slices, the short ones of the threads
 * become one frame, as many in a row as there are. Nothing is left out of the first profile.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/emit.h"
#include "base/memory.h"
#include "base/tuples.h"
#include "exporters.h"
#include "format.h"
#include "measure/functions.h"
#include "stacksums.h"

enum {
	BYTES_MAX = 20000000,
	SHORT_PARTS = 20000, /* of the longest thread: what is shorter is not seen on a screen */
	SAMPLE_BYTES = 11,   /* about, of its weight, too */
	FRAME_BYTES = 5,
	DIGITS_MAX = 20
};

/* Beyond FRAME_LEAF it is that of the last frame, stack_leaf_number(). */
enum frame_kind { FRAME_FUNCTION, FRAME_THREAD, FRAME_SHORT, FRAME_LEAF };

/* A sample of a profile; neighbours that differ in their length alone are one. */
struct sample {
	uint64_t ns;
	uint32_t thread_name; /* string id, the first frame; NO_INDEX = none */
	uint32_t stack;       /* of the same functions the first */
	uint32_t leaf;        /* stack_leaf_number(), NO_INDEX = short slices */
	uint32_t name;
};

struct speedscope {
	FILE *file;
	struct walk walk;
	struct tuples frames;      /* by kind, and string id or nothing */
	uint32_t *function_frames; /* by string: number of the function's frame + 1, 0 = none yet */
	uint32_t *same;            /* by stack */
	uint64_t short_ns;         /* slices shorter than this are put together */
	uint64_t short_count;
	struct sample next;
	bool has_next;
};

/* --- Frames --- */

static uint32_t frame_of(struct speedscope *out, uint32_t kind, uint32_t id)
{
	const uint32_t key[] = { kind, id };
	return tuples_add(&out->frames, key);
}

static uint32_t frame_of_function(struct speedscope *out, uint32_t function)
{
	uint32_t *frame = &out->function_frames[function];
	if (*frame == 0)
		*frame = frame_of(out, FRAME_FUNCTION, function) + 1;
	return *frame - 1;
}

static void put_frame(struct speedscope *out, uint32_t kind, uint32_t id)
{
	char *leaf = NULL;
	fputs("{\"name\":", out->file);
	if (kind == FRAME_SHORT) {
		fprintf(out->file, "\"[slices shorter than %" PRIu64 " us]\"",
			out->short_ns / 1000);
	} else {
		const char *name = out->walk.recording->strings[id];
		if (kind >= FRAME_LEAF)
			name = leaf = stack_leaf(&out->walk, kind - FRAME_LEAF, id, 0);
		emit_json_string(out->file, *name ? name : "?");
	}
	free(leaf);
	fputc('}', out->file);
}

static void put_frames(struct speedscope *out)
{
	fputs("\"shared\":{\"frames\":[", out->file);
	for (uint32_t i = 0; i < out->frames.count; i++) {
		const uint32_t *key = tuples_at(&out->frames, i);
		fputs(i ? ",\n" : "\n", out->file);
		put_frame(out, key[0], key[1]);
	}
	fputs("\n]}", out->file);
}

/* Most of the file is numbers: printf() would take most of the time. */
static void put_number(struct speedscope *out, bool *is_first, uint64_t number)
{
	char digits[DIGITS_MAX + 1];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	if (!*is_first)
		digits[--at] = ',';
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, out->file);
	*is_first = false;
}

/* Frames from the outermost inwards. */
static void put_sample(struct speedscope *out, const struct sample *sample)
{
	uint32_t functions[FUNCTION_STACK_MAX];
	bool is_first = true;
	size_t count = 0;
	fputc('[', out->file);
	if (sample->thread_name != NO_INDEX)
		put_number(out, &is_first, frame_of(out, FRAME_THREAD, sample->thread_name));
	if (sample->leaf != NO_INDEX)
		count = walk_stack(&out->walk, sample->stack, functions, FUNCTION_STACK_MAX);
	for (size_t i = count; i-- > 0;)
		put_number(out, &is_first, frame_of_function(out, functions[i]));
	if (sample->leaf == NO_INDEX)
		put_number(out, &is_first, frame_of(out, FRAME_SHORT, 0));
	else if (count == 0 || sample->leaf % WALK_STATES != WALK_RUNNING)
		put_number(out, &is_first, frame_of(out, FRAME_LEAF + sample->leaf, sample->name));
	fputc(']', out->file);
}

/* --- Profiles --- */

static void put_profile_begin(struct speedscope *out, const char *name, uint64_t ns)
{
	fputs("{\"type\":\"sampled\",\"name\":", out->file);
	emit_json_string(out->file, name);
	fprintf(out->file, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRIu64, ns);
}

static void put_all_threads(struct speedscope *out)
{
	struct stack_sums sums;
	uint64_t ns = 0;
	bool is_first = true;
	stack_sums_build(&sums, &out->walk, NULL);
	for (size_t i = 0; i < sums.count; i++)
		ns += sums.sums[i].ns;
	put_profile_begin(out, "all threads", ns);
	fputs(",\"samples\":[", out->file);
	for (size_t i = 0; i < sums.count; i++) {
		const struct stack_sum *sum = &sums.sums[i];
		fputs(i ? "," : "", out->file);
		put_sample(out, &(struct sample){ .thread_name = sum->thread_name,
						  .stack = sum->stack,
						  .leaf = stack_leaf_number(sum->state, sum->cause),
						  .name = sum->name });
	}
	fputs("],\"weights\":[", out->file);
	for (size_t i = 0; i < sums.count; i++)
		put_number(out, &is_first, sums.sums[i].ns);
	fputs("]}", out->file);
	stack_sums_free(&sums);
}

static bool next_single(struct speedscope *out, struct sample *sample)
{
	struct walk_slice slice;
	if (!walk_next(&out->walk, &slice))
		return false;
	*sample = (struct sample){
		.ns = slice.end_ns - slice.start_ns,
		.thread_name = NO_INDEX,
		.stack = out->same[slice.stack],
		.leaf = stack_leaf_number(slice.state, slice.cause),
		.name = slice.name,
	};
	if (slice.state == WALK_RUNNING) {
		sample->leaf = stack_leaf_number(slice.state, NO_INDEX);
		sample->name = 0;
	}
	if (sample->ns >= out->short_ns)
		return true;
	out->short_count++;
	*sample = (struct sample){ .ns = sample->ns, .thread_name = NO_INDEX, .leaf = NO_INDEX };
	return true;
}

static void samples_begin(struct speedscope *out, uint32_t thread)
{
	walk_thread(&out->walk, thread);
	out->has_next = next_single(out, &out->next);
}

static bool goes_on(const struct sample *sample, const struct sample *next)
{
	return sample->stack == next->stack && sample->leaf == next->leaf &&
	       sample->name == next->name;
}

static bool samples_next(struct speedscope *out, struct sample *sample)
{
	if (!out->has_next)
		return false;
	*sample = out->next;
	while ((out->has_next = next_single(out, &out->next)) && goes_on(sample, &out->next))
		sample->ns += out->next.ns;
	return true;
}

static void put_thread(struct speedscope *out, uint32_t thread)
{
	const struct rec_thread *of = &out->walk.recording->threads[thread];
	struct sample sample;
	bool is_first = true;
	char *name;
	samples_begin(out, thread);
	if (asprintf(&name, "%s (%" PRIu32 ")", walk_thread_name(&out->walk, thread), of->tid) < 0)
		return;
	put_profile_begin(out, name, out->walk.end_ns - out->walk.start_ns);
	free(name);
	fputs(",\"samples\":[", out->file);
	while (samples_next(out, &sample)) {
		fputs(is_first ? "" : ",", out->file);
		put_sample(out, &sample);
		is_first = false;
	}
	fputs("],\"weights\":[", out->file);
	is_first = true;
	uint64_t short_count = out->short_count;
	for (samples_begin(out, thread); samples_next(out, &sample);)
		put_number(out, &is_first, sample.ns);
	out->short_count = short_count;
	fputs("]}", out->file);
}

/* --- The file --- */

/* Bytes of samples by the length of their slices: in number i those of 2^i ns up to twice that.
 * Each may have a row of short ones before it. */
struct sizes {
	uint64_t bytes[64];
	uint64_t longest_ns; /* thread */
	uint64_t all_bytes;
};

static void sizes_find(struct speedscope *out, struct sizes *sizes)
{
	uint32_t functions[FUNCTION_STACK_MAX];
	struct sample sample;
	for (uint32_t thread = 0; thread < walk_thread_count(&out->walk); thread++) {
		samples_begin(out, thread);
		uint64_t wall_ns = out->walk.end_ns - out->walk.start_ns;
		sizes->longest_ns = wall_ns > sizes->longest_ns ? wall_ns : sizes->longest_ns;
		while (samples_next(out, &sample)) {
			uint64_t bytes = 2 * SAMPLE_BYTES +
					 FRAME_BYTES * walk_stack(&out->walk, sample.stack,
								  functions, FUNCTION_STACK_MAX);
			sizes->bytes[63 - __builtin_clzll(sample.ns)] += bytes;
			sizes->all_bytes += bytes;
		}
	}
}

/* So that the file is small enough. */
static uint64_t find_short(struct speedscope *out)
{
	struct sizes sizes = { 0 };
	uint64_t kept_bytes = 0;
	int length = 64;
	sizes_find(out, &sizes);
	if (sizes.all_bytes <= BYTES_MAX)
		return 0;
	while (kept_bytes <= BYTES_MAX)
		kept_bytes += sizes.bytes[--length];
	uint64_t long_ns = UINT64_C(2) << length;
	uint64_t unseen_ns = sizes.longest_ns / SHORT_PARTS;
	return long_ns > unseen_ns ? long_ns : unseen_ns;
}

static void put_profiles(struct speedscope *out)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"wcprof " WCPROF_VERSION "\",\"name\":\"wcprof\","
	      "\"activeProfileIndex\":0,\n\"profiles\":[\n",
	      out->file);
	put_all_threads(out);
	for (uint32_t thread = 0; thread < walk_thread_count(&out->walk); thread++) {
		fputs(",\n", out->file);
		put_thread(out, thread);
	}
	fputs("\n],\n", out->file);
	put_frames(out);
	fputs("}\n", out->file);
}

void export_speedscope(struct export *export)
{
	struct speedscope out = { .file = export_file(export) };
	walk_begin(&out.walk, export->analysis);
	tuples_begin(&out.frames, 2);
	out.same = stack_sums_same(&out.walk);
	out.function_frames =
		memory_new(out.walk.recording->string_count, sizeof(*out.function_frames));
	out.short_ns = find_short(&out);
	out.short_count = 0;
	put_profiles(&out);
	if (out.short_count > 0)
		export_note(export,
			    "%" PRIu64 " slices of less than %" PRIu64
			    " us are put together in the threads' profiles",
			    out.short_count, out.short_ns / 1000);
	free(out.same);
	free(out.function_frames);
	tuples_free(&out.frames);
	walk_end(&out.walk);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processed format of the Firefox Profiler, version 60, through gzip.
 *
 * The front end reads each older version, so this one stays. Each slice of a thread is a sample
 * with its length as weight, and one without weight just before its end. Without that one the graph
 * of activity would colour half of the slice as the next one. Waits, calls and requests are
 * markers. The front end draws no arrows. So a lock that was waited for is a thread beside the
 * others, whose markers are its holds.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "firefox_parts.h"
#include "format.h"

enum {
	EDGE_NS = 1000,       /* the second sample is so long before the end of a slice */
	VISIBLE_THREADS = 20, /* lanes that are shown to begin with */
	VISIBLE_LOCKS = 10
};

/* --- Samples --- */

/* A slice, or several with the same stack in a row. */
struct part {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t stack;
	bool is_running;
};

struct parts {
	struct part *parts;
	size_t count, room;
	uint64_t end_ns;
};

static void fetch_parts(struct firefox *firefox, struct parts *parts)
{
	struct walk_slice slice;
	parts->count = 0;
	while (walk_next(&firefox->walk, &slice)) {
		const struct part part = { slice.start_ns, slice.end_ns,
					   firefox_slice_stack(firefox, &slice),
					   slice.state == WALK_RUNNING };
		if (parts->count > 0 && parts->parts[parts->count - 1].stack == part.stack) {
			parts->parts[parts->count - 1].end_ns = part.end_ns;
			continue;
		}
		parts->parts = memory_grow(parts->parts, &parts->room, parts->count + 1,
					   sizeof(*parts->parts));
		parts->parts[parts->count++] = part;
	}
	parts->end_ns = firefox->walk.end_ns;
}

static bool has_edge(const struct part *part)
{
	return part->end_ns - part->start_ns > 2 * EDGE_NS;
}

static size_t sample_count(const struct parts *parts)
{
	size_t count = parts->count > 0;
	for (size_t i = 0; i < parts->count; i++)
		count += 1 + has_edge(&parts->parts[i]);
	return count;
}

static void put_comma(struct firefox *firefox, bool is_first)
{
	if (!is_first)
		jsongz_raw(firefox->json, ",");
}

static void put_stacks(struct firefox *firefox, const struct parts *parts)
{
	jsongz_raw(firefox->json, "\"stack\":[");
	for (size_t i = 0; i < parts->count; i++) {
		put_comma(firefox, i == 0);
		jsongz_number(firefox->json, parts->parts[i].stack);
		if (!has_edge(&parts->parts[i]))
			continue;
		put_comma(firefox, false);
		jsongz_number(firefox->json, parts->parts[i].stack);
	}
	jsongz_raw(firefox->json, parts->count > 0 ? ",null],\n" : "],\n");
}

static void put_times(struct firefox *firefox, const struct parts *parts)
{
	jsongz_raw(firefox->json, "\"time\":[");
	for (size_t i = 0; i < parts->count; i++) {
		put_comma(firefox, i == 0);
		jsongz_ms(firefox->json, parts->parts[i].start_ns);
		if (!has_edge(&parts->parts[i]))
			continue;
		put_comma(firefox, false);
		jsongz_ms(firefox->json, parts->parts[i].end_ns - EDGE_NS);
	}
	if (parts->count > 0) {
		put_comma(firefox, false);
		jsongz_ms(firefox->json, parts->end_ns);
	}
	jsongz_raw(firefox->json, "],\n");
}

static void put_weights(struct firefox *firefox, const struct parts *parts)
{
	jsongz_raw(firefox->json, "\"weight\":[");
	for (size_t i = 0; i < parts->count; i++) {
		put_comma(firefox, i == 0);
		jsongz_ms(firefox->json, parts->parts[i].end_ns - parts->parts[i].start_ns);
		if (has_edge(&parts->parts[i]))
			jsongz_raw(firefox->json, ",0");
	}
	jsongz_raw(firefox->json, parts->count > 0 ? ",0],\n" : "],\n");
}

/* CPU time since the sample before; the first one has none before it. */
static void put_cpu(struct firefox *firefox, const struct parts *parts)
{
	uint64_t since_ns = 0;
	jsongz_raw(firefox->json, "\"threadCPUDelta\":[");
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->parts[i];
		uint64_t cpu_ns = part->is_running ? part->end_ns - part->start_ns : 0;
		put_comma(firefox, i == 0);
		if (i == 0)
			jsongz_raw(firefox->json, "null");
		else
			jsongz_number(firefox->json, since_ns);
		since_ns = cpu_ns;
		if (!has_edge(part))
			continue;
		since_ns = cpu_ns > 0 ? EDGE_NS : 0;
		put_comma(firefox, false);
		jsongz_number(firefox->json, cpu_ns - since_ns);
	}
	if (parts->count > 0) {
		put_comma(firefox, false);
		jsongz_number(firefox->json, since_ns);
	}
	jsongz_raw(firefox->json, "],\n");
}

static void put_samples(struct firefox *firefox, const struct parts *parts)
{
	jsongz_raw(firefox->json, "\"samples\":{\"weightType\":\"tracing-ms\",\n");
	put_stacks(firefox, parts);
	put_times(firefox, parts);
	put_weights(firefox, parts);
	put_cpu(firefox, parts);
	jsongz_raw(firefox->json, "\"length\":");
	jsongz_number(firefox->json, sample_count(parts));
	jsongz_raw(firefox->json, "},\n");
}

/* --- Threads --- */

/* Of no process: that of a recording without any. */
static void put_lane(struct firefox *firefox, uint32_t process, const char *name, uint64_t start_ns,
		     uint64_t end_ns)
{
	struct jsongz *json = firefox->json;
	bool is_known = process != NO_INDEX;
	jsongz_raw(json, "{\"processType\":\"default\",\"pausedRanges\":[],"
			 "\"showMarkersInTimeline\":true,\"pid\":\"");
	jsongz_number(json, is_known ? firefox->walk.recording->processes[process].pid +
					       firefox->lanes.pid_shifts[process]
				     : 0);
	jsongz_raw(json, "\",\"processName\":");
	jsongz_text(json, is_known ? firefox->lanes.programs[process] : "?");
	jsongz_raw(json, ",\"name\":");
	jsongz_text(json, name);
	jsongz_raw(json, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			 "\"registerTime\":");
	jsongz_ms(json, start_ns);
	jsongz_raw(json, ",\"unregisterTime\":");
	jsongz_ms(json, end_ns);
}

static void put_thread(struct firefox *firefox, struct firefox_markers *markers, uint32_t index,
		       struct parts *parts)
{
	const struct rec_thread *thread = &firefox->walk.recording->threads[index];
	uint32_t pid = firefox->walk.recording->processes[thread->process].pid;
	walk_thread(&firefox->walk, index);
	put_lane(firefox, thread->process, walk_thread_name(&firefox->walk, index),
		 firefox->walk.start_ns, firefox->walk.end_ns);
	jsongz_raw(firefox->json, ",\"tid\":");
	jsongz_number(firefox->json, thread->tid + firefox->lanes.pid_shifts[thread->process]);
	jsongz_raw(firefox->json,
		   thread->tid == pid ? ",\"isMainThread\":true,\n" : ",\"isMainThread\":false,\n");
	fetch_parts(firefox, parts);
	put_samples(firefox, parts);
	firefox_put_markers(firefox, markers, index);
	jsongz_raw(firefox->json, "}");
}

static void put_lock(struct firefox *firefox, struct firefox_markers *markers, uint32_t index)
{
	static const struct parts none = { 0 };
	const struct contended_lock *lock = &firefox->contended.locks[index];
	const char *of = firefox->walk.recording->strings[lock->name];
	char *name;
	if (asprintf(&name, "lock %s", *of ? of : "?") < 0)
		return;
	put_lane(firefox, lock->process, name, 0, firefox->walk.recording->end_ns);
	free(name);
	jsongz_raw(firefox->json, ",\"tid\":\"lock ");
	jsongz_number(firefox->json, index);
	jsongz_raw(firefox->json, "\",\"isMainThread\":false,\n");
	put_samples(firefox, &none);
	firefox_put_markers(firefox, markers, walk_thread_count(&firefox->walk) + index);
	jsongz_raw(firefox->json, "}");
}

/* The front end refuses a profile without threads. */
static void put_no_thread(struct firefox *firefox, struct firefox_markers *markers)
{
	static const struct parts none = { 0 };
	put_lane(firefox, NO_INDEX, "the recording names no threads", 0, 0);
	jsongz_raw(firefox->json, ",\"tid\":0,\"isMainThread\":true,\n");
	put_samples(firefox, &none);
	firefox_put_markers(firefox, markers, 0);
	jsongz_raw(firefox->json, "}");
}

static void put_threads(struct firefox *firefox)
{
	struct firefox_markers *markers = firefox_markers_new(firefox);
	struct parts parts = { 0 };
	uint32_t threads = walk_thread_count(&firefox->walk);
	jsongz_raw(firefox->json, "{\"threads\":[");
	if (threads == 0)
		put_no_thread(firefox, markers);
	for (uint32_t i = 0; i < threads; i++) {
		jsongz_raw(firefox->json, i > 0 ? ",\n" : "\n");
		put_thread(firefox, markers, i, &parts);
	}
	for (uint32_t i = 0; i < firefox->contended.count; i++) {
		jsongz_raw(firefox->json, ",\n");
		put_lock(firefox, markers, i);
	}
	jsongz_raw(firefox->json, "],\n");
	free(parts.parts);
	firefox_markers_free(markers);
}

/* --- About the profile --- */

static void put_entry(struct firefox *firefox, bool is_first, const char *label, const char *value)
{
	jsongz_raw(firefox->json, is_first ? "\n{\"label\":" : ",\n{\"label\":");
	jsongz_text(firefox->json, label);
	jsongz_raw(firefox->json, ",\"format\":\"string\",\"value\":");
	jsongz_text(firefox->json, value);
	jsongz_raw(firefox->json, "}");
}

/* The front end shows these lines about the profile as a whole. */
static void put_extra(struct firefox *firefox)
{
	char text[EXPORT_NOTE_BYTES];
	jsongz_raw(firefox->json, "\"extra\":[{\"label\":\"Recording\",\"entries\":[");
	put_entry(firefox, true, "Written by", "wcprof-analyze " WCPROF_VERSION);
	snprintf(text, sizeof(text), "%" PRIu64,
		 firefox->walk.recording->dropped_events + firefox->walk.recording->missing_events);
	put_entry(firefox, false, "Events that were not recorded", text);
	snprintf(text, sizeof(text), "all %zu are here", firefox->marker_all);
	if (firefox->marker_count < firefox->marker_all)
		snprintf(text, sizeof(text),
			 "the %zu longest of %zu are here; the samples have all",
			 firefox->marker_count, firefox->marker_all);
	put_entry(firefox, false, "Markers", text);
	snprintf(text, sizeof(text), "%zu that were waited for have a lane, %zu others have none",
		 firefox->contended.count, firefox->contended.left_out);
	put_entry(firefox, false, "Locks", text);
	jsongz_raw(firefox->json, "]}],\n");
}

static void put_visible(struct firefox *firefox)
{
	uint32_t threads = walk_thread_count(&firefox->walk);
	bool is_first = true;
	jsongz_raw(firefox->json, "\"initialVisibleThreads\":[");
	for (uint32_t i = 0; i < threads + firefox->contended.count; i++) {
		if (i < threads ? i >= VISIBLE_THREADS : i - threads >= VISIBLE_LOCKS)
			continue;
		put_comma(firefox, is_first);
		jsongz_number(firefox->json, i);
		is_first = false;
	}
	jsongz_raw(firefox->json, "],\n");
}

static void put_meta(struct firefox *firefox)
{
	const struct recording *recording = firefox->walk.recording;
	struct jsongz *json = firefox->json;
	jsongz_raw(json, "\"meta\":{\"preprocessedProfileVersion\":60,\"version\":36,"
			 "\"interval\":0.001,\"processType\":0,\"stackwalk\":1,"
			 "\"symbolicated\":true,\"symbolicationNotSupported\":true,"
			 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
			 "\"keepProfileThreadOrder\":true,\"importedFrom\":\"wcprof\","
			 "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
			 "\"threadCPUDelta\":\"ns\"},\n\"startTime\":");
	jsongz_ms(json, recording->epoch_unix_ns);
	jsongz_raw(json, ",\"product\":");
	jsongz_text(json, recording->process_count > 0 ? firefox->lanes.programs[0] : "wcprof");
	jsongz_raw(json, ",\n");
	put_extra(firefox);
	put_visible(firefox);
	firefox_put_schemas(firefox);
	jsongz_raw(json, ",\n");
	firefox_put_categories(firefox);
	jsongz_raw(json, "},\n\"pages\":[],\"counters\":[],\n");
}

void export_firefox(struct export *export)
{
	const struct recording *recording = export->analysis->recording;
	struct firefox firefox = { .export = export, .json = jsongz_new(export_file(export)) };
	walk_begin(&firefox.walk, export->analysis);
	lane_names_build(&firefox.lanes, &firefox.walk);
	id_labels_build(&firefox.ids, recording,
			firefox.walk.requests ? &firefox.walk.requests->traces : NULL);
	contended_build(&firefox.contended, recording, firefox.walk.labels, CONTENDED_MAX);
	firefox.text_of = memory_new(recording->string_count, sizeof(*firefox.text_of));
	firefox.stack_of = memory_new(recording->stack_count, sizeof(*firefox.stack_of));
	put_threads(&firefox);
	put_meta(&firefox);
	firefox_put_libs(&firefox);
	jsongz_raw(firefox.json, ",\n");
	firefox_put_tables(&firefox);
	jsongz_raw(firefox.json, "}\n");
	if (firefox.marker_count < firefox.marker_all)
		export_note(export, "of %zu markers only the %zu longest are in it",
			    firefox.marker_all, firefox.marker_count);
	jsongz_end(firefox.json);
	firefox_tables_free(&firefox);
	contended_free(&firefox.contended);
	id_labels_free(&firefox.ids);
	lane_names_free(&firefox.lanes);
	walk_end(&firefox.walk);
}

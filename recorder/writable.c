/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses of the process may be written to, as the kernel says at one moment.
 *
 * One look at the list of mappings for all that is asked later: the list is long in some programs.
 * Threads: the control thread, or the constructor.
 */
#include "recorder.h"

#include <sys/mman.h>

#include "maps.h"
#include "syscalls.h"

#include "in_target.h"

enum { RANGES_LEAST = 512 };

static size_t bytes_of(uint32_t places)
{
	return places * sizeof(struct recorder_range);
}

static bool grow(struct recorder_writable *writable)
{
	uint32_t places = writable->places ? 2 * writable->places : RANGES_LEAST;
	struct recorder_range *ranges = sys_mmap(NULL, bytes_of(places), PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (sys_is_error(ranges))
		return false;
	for (uint32_t i = 0; i < writable->count; i++)
		ranges[i] = writable->ranges[i];
	if (writable->places)
		sys_munmap(writable->ranges, bytes_of(writable->places));
	writable->ranges = ranges;
	writable->places = places;
	return true;
}

static bool add(struct recorder_writable *writable, const struct mapping *mapping)
{
	struct recorder_range *last =
		writable->count ? &writable->ranges[writable->count - 1] : NULL;

	if (last && last->end == mapping->start) {
		last->end = mapping->end;
		return true;
	}
	if (writable->count == writable->places && !grow(writable))
		return false;
	writable->ranges[writable->count++] =
		(struct recorder_range){ mapping->start, mapping->end };
	return true;
}

bool recorder_writable_read(struct recorder_writable *writable)
{
	struct mapping mapping;
	struct maps maps;
	bool is_whole = true;

	*writable = (struct recorder_writable){ 0 };
	if (!maps_open(&maps))
		return false;
	while (is_whole && maps_next(&maps, &mapping))
		is_whole = !mapping.is_writable || add(writable, &mapping);
	maps_close(&maps);
	if (!is_whole)
		recorder_writable_forget(writable);
	return is_whole;
}

bool recorder_writable_has(const struct recorder_writable *writable, uint64_t from, uint64_t bytes)
{
	uint32_t low = 0, high = writable->count;

	/* The last one that begins no later. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (writable->ranges[middle].start <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && writable->ranges[low - 1].end - bytes >= from;
}

void recorder_writable_forget(struct recorder_writable *writable)
{
	if (writable->places)
		sys_munmap(writable->ranges, bytes_of(writable->places));
	*writable = (struct recorder_writable){ 0 };
}

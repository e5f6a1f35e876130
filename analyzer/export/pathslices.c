/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts slices to the pieces of a path; pathslices.h has the contract. */
#include "pathslices.h"

#include <stdlib.h>

#include "base/memory.h"

static int compare_pieces(const void *a, const void *b)
{
	const struct path_piece *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int compare_slices(const void *a, const void *b)
{
	const struct walk_slice *left = a, *right = b;
	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static void add(struct path_slices *slices, const struct walk_slice *slice,
		const struct path_piece *piece)
{
	uint64_t from_ns = slice->start_ns > piece->start_ns ? slice->start_ns : piece->start_ns;
	uint64_t to_ns = slice->end_ns < piece->end_ns ? slice->end_ns : piece->end_ns;
	if (from_ns >= to_ns)
		return;
	slices->slices = memory_grow(slices->slices, &slices->room, slices->count + 1,
				     sizeof(*slices->slices));
	slices->slices[slices->count] = *slice;
	slices->slices[slices->count].start_ns = from_ns;
	slices->slices[slices->count++].end_ns = to_ns;
}

/* One walk through each thread that has pieces. */
static void add_all(struct path_slices *slices, struct walk *walk, const struct run_path *path)
{
	struct walk_slice slice;
	for (size_t from = 0, to; from < path->count; from = to) {
		uint32_t thread = path->pieces[from].thread;
		for (to = from; to < path->count && path->pieces[to].thread == thread;)
			to++;
		size_t next = from;
		for (walk_thread(walk, thread); walk_next(walk, &slice);) {
			while (next < to && path->pieces[next].end_ns <= slice.start_ns)
				next++;
			for (size_t i = next; i < to && path->pieces[i].start_ns < slice.end_ns;
			     i++)
				add(slices, &slice, &path->pieces[i]);
		}
	}
}

void path_slices_build(struct path_slices *slices, struct walk *walk)
{
	struct run_path path;
	*slices = (struct path_slices){ 0 };
	run_path_build(&path, walk->recording, &walk->timeline, walk_wakers(walk));
	if (path.count > 1)
		qsort(path.pieces, path.count, sizeof(*path.pieces), compare_pieces);
	add_all(slices, walk, &path);
	if (slices->count > 1)
		qsort(slices->slices, slices->count, sizeof(*slices->slices), compare_slices);
	run_path_free(&path);
}

void path_slices_free(struct path_slices *slices)
{
	free(slices->slices);
	*slices = (struct path_slices){ 0 };
}

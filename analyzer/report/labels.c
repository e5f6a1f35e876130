/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the naming of the analyzer for everything in turn; labels.h has the contract.
 */
#include "labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "names/classify.h"
#include "names/symbols.h"

/* Of all stacks for other programs, else of those of samples. */
static void name_frames(struct labels *labels, struct recording *recording, struct symbols *symbols,
			struct callers *callers, bool all)
{
	bool *is_wanted = memory_new(recording->stack_count, sizeof(*is_wanted));
	memset(is_wanted, all, recording->stack_count);
	for (size_t i = 0; i < recording->sample_count; i++)
		is_wanted[recording->samples[i].stack] = true;
	frame_names_build(&labels->frames, recording, symbols, callers, is_wanted);
	free(is_wanted);
}

static struct unnamed_files find_unnamed(const struct symbols *symbols)
{
	struct unnamed_files unnamed = { 0 };
	for (uint32_t i = 0; i < symbols_file_count(symbols); i++) {
		const struct symbol_file_info file = symbols_file(symbols, i);
		if (file.state == SYMBOL_FILE_OTHER_BUILD && unnamed.other_count++ == 0)
			unnamed.other_path = file.path;
		if (file.state == SYMBOL_FILE_MISSING && file.path[0] == '/' &&
		    unnamed.missing_count++ == 0)
			unnamed.missing_path = file.path;
	}
	return unnamed;
}

/* Text does not say them. */
static bool wants_packages(const struct options *options)
{
	return options->json || options->diff || (options->rows && options->rows[0]) ||
	       (options->export && options->export[0]);
}

void labels_build(struct labels *labels, struct recording *recording, const struct options *options,
		  const struct callers_options *skips, enum class_by by)
{
	*labels = (struct labels){ 0 };
	if (!recording->thread_count)
		return;
	struct symbols *symbols = symbols_new(recording, options->paths, options->path_count);
	symbols_look_below(symbols, options->root);
	struct callers *callers = callers_new(recording, symbols, skips);
	labels->classes = memory_new(recording->op_count, sizeof(*labels->classes));
	labels->ops = memory_new(recording->op_count, sizeof(*labels->ops));
	labels->waits = memory_new(recording->wait_count, sizeof(*labels->waits));
	labels->sites = memory_new(recording->stack_count, sizeof(*labels->sites));
	classify(recording, symbols, callers, labels->ops, labels->waits);
	class_by_name(by, recording, callers, labels->ops, labels->classes);
	classify_sites(recording, callers, labels->sites);
	stack_functions_build(&labels->functions, recording, symbols, callers);
	name_frames(labels, recording, symbols, callers,
		    options->folded[0] != '\0' || options->export[0] != '\0' ||
			    options->html[0] != '\0' || options->rows[0] != '\0');
	labels->unnamed = find_unnamed(symbols);
	if (wants_packages(options))
		packages_build(&labels->packages, recording, options->root);
	spins_build(&labels->spins, recording, symbols);
	callers_free(callers);
	symbols_free(symbols);
}

void labels_free(struct labels *labels)
{
	free(labels->ops);
	free(labels->classes);
	free(labels->waits);
	free(labels->sites);
	stack_functions_free(&labels->functions);
	frame_names_free(&labels->frames);
	packages_free(&labels->packages);
	*labels = (struct labels){ 0 };
}

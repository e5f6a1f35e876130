/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever dump the reader accepts: the analysis and its replay end, and crash at nothing; what is
 * replayed is a valid script.
 */
#include <stdint.h>
#include <stdlib.h>

#include "infer/holders.h"
#include "infer/posters.h"
#include "infer/reaps.h"
#include "infer/signals.h"
#include "read/read.h"
#include "report/analysis.h"
#include "script/script_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

/* Larger inputs are about the reader's speed, not about what is in them. */
enum { INPUT_BYTES_MAX = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
	static char program[] = "wcprof-analyze", least[] = "--min-self=0", dump[] = "dump";
	static char threads[] = "--model=threads", edges[] = "--model=edges";
	char *argv[] = { program, least, byte_count % 4 ? threads : edges, dump, NULL };
	char error_text[OPTIONS_ERROR_BYTES];
	struct recording recording;
	struct read_error error;
	struct options options;
	struct analysis analysis;

	if (byte_count > INPUT_BYTES_MAX || options_parse(&options, 4, argv, error_text) != 0)
		return 0;
	if (recording_read_memory(&recording, "input", bytes, byte_count, SIZE_MAX, &error) == 0) {
		reaps_find(&recording);
		signals_find(&recording);
		holders_find(&recording);
		posters_find(&recording);
		if (analysis_build(&analysis, &recording, &options, NULL, error_text) == 0) {
			if (!graph_is_valid(&analysis.graph))
				abort();
			if (analysis.has_script && !script_is_valid(&analysis.script))
				abort();
			analysis_free(&analysis);
		}
	}
	recording_free(&recording);
	return 0;
}

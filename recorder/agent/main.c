/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof-agent: the command line of the agent. wcprof agent runs it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "clock.h"
#include "format.h"
#include "visible.h"

#define DEFAULT_CONFIG "/etc/wcprof/agent.conf"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void print_help(void)
{
	puts("usage: wcprof agent [-c FILE] [-t]\n\n"
	     "Records processes that rules name, within a budget each, and uploads profiles of\n"
	     "them: to Pyroscope, Parca, Datadog, or by OpenTelemetry's protocol.\n\n"
	     "  -c, --config FILE  read this configuration (" DEFAULT_CONFIG ")\n"
	     "  -t, --test         only say whether the configuration is right\n"
	     "  -h, --help         print this text\n"
	     "  -V, --version      print the version\n\n"
	     "SIGHUP reads the configuration again, SIGTERM ends recording and the agent.\n\n"
	     "Keys of the configuration:\n");
	config_print_help();
	puts("\nExit status: 0 ended by a signal, or the configuration is right; 1 failed;\n"
	     "2 wrong usage.");
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "config", required_argument, NULL, 'c' },
						 { "test", no_argument, NULL, 't' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	const char *path = DEFAULT_CONFIG;
	struct config *config = malloc(sizeof(*config));
	char error[CONFIG_ERROR_BYTES];
	bool is_test = false;
	int letter;

	while ((letter = getopt_long(argc, argv, "c:thV", options, NULL)) != -1) {
		if (letter == 'h') {
			print_help();
			return 0;
		} else if (letter == 'V') {
			puts("wcprof-agent " WCPROF_VERSION);
			return 0;
		} else if (letter == '?') {
			return EXIT_USAGE;
		}
		path = letter == 'c' ? optarg : path;
		is_test |= letter == 't';
	}
	if (optind < argc || !config) {
		fprintf(stderr, "wcprof-agent: it takes no arguments (wcprof agent --help)\n");
		return EXIT_USAGE;
	}
	if (!config_read(config, path, error)) {
		fprintf(stderr, "wcprof-agent: %s: %s\n", path, visible(error));
		free(config);
		return EXIT_FAILED;
	}
	if (is_test) {
		printf("%s: %zu rules for processes, %zu receivers\n", path, config->process_count,
		       config->upload_count);
		config_free(config);
		free(config);
		return 0;
	}
	clock_start();
	return agent_run(config, path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's loop. See agent.h.
 *
 * One thread does all, and waits in one place. Analyses are processes of their own, and requests
 * are libcurl's, which goes on with them whenever it is called. Only a process that hands out its
 * dump is waited for. If that takes long, or the agent dies, leases end what records (watched.h).
 *
 * Time that must not jump is the monotonic clock's. The machine's clock only dates what is sent.
 */
#include "agent.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "analysis.h"
#include "clock.h"
#include "listener.h"
#include "metrics.h"
#include "notify.h"
#include "outbox.h"
#include "output.h"
#include "store.h"
#include "transfer.h"
#include "visible.h"
#include "watched.h"

#define NS_PER_S     UINT64_C(1000000000)
#define NS_PER_MS    UINT64_C(1000000)
#define BYTES_PER_MB UINT64_C(1048576)

enum { WAIT_MS_MOST = 60000, STATUS_BYTES = 128, SAID_BYTES = 256 };

struct agent {
	struct config *config;
	const char *path; /* of the configuration */
	struct watched_list watched;
	struct store store;
	struct analyses analyses;
	struct outbox outbox;
	struct transfers *transfers;
	struct listener listener;
	int signals;
	uint64_t scan_ns; /* when processes are looked for next */
	bool is_to_end, is_to_reload;
	char said[SAID_BYTES]; /* the last complaint: not repeated while nothing else happens */
};

/* A line for the journal, once for as long as it stays the same. */
static void say(struct agent *agent, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct agent *agent, const char *format, ...)
{
	char text[SAID_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (strcmp(text, agent->said) == 0)
		return;
	strcpy(agent->said, text);
	fprintf(stderr, "wcprof-agent: %s\n", visible(text));
}

static uint64_t wall_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void agent_window(uint64_t wall_ns, uint64_t taken_ns, uint64_t now_ns, uint64_t *begin_ns,
		  uint64_t *end_ns)
{
	uint64_t length_ns = now_ns > taken_ns ? now_ns - taken_ns : 0;

	*end_ns = wall_ns;
	*begin_ns = wall_ns > length_ns ? wall_ns - length_ns : 0;
}

/* --- A dump ----------------------------------------------------------------------------------- */

/* Its file, and the tags and windows that it says. 0, or a result of client_dump(). A process that
 * recorded nothing leaves no file. */
static int write_dump(struct agent *agent, const struct watched *watched,
		      struct analysis_window whole, struct analysis_job *job)
{
	const char *host = agent->config->agent.host;
	struct output *output;
	int result;

	store_begin(&agent->store, watched->program, watched->pid, job->dump);
	output = output_open(job->dump, &result);
	if (!output)
		return result;
	result = output_dump(output, watched->socket, false);
	if (result == 0)
		result = output_sync(output);
	if (result == 0 && output_events(output) == 0)
		result = -ENODATA;
	if (result == 0) {
		metrics.events_total += (double)output_events(output);
		metrics.events_lost_total += (double)output_lost_events(output);
		tags_of(&job->tags, watched->rule, output_header_start(output), host,
			watched->program, watched->pid);
		analysis_windows(job, output_header_start(output), whole);
	}
	if (output_close(output) != 0 && result == 0)
		result = -EIO;
	if (result != 0)
		store_abandon(job->dump);
	return result == 0 ? store_keep(&agent->store, job->dump) : result;
}

static bool is_of_store(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO ||
	       error == -EROFS || error == -EACCES || error == -EPERM;
}

static void count_dump(struct agent *agent, const struct watched *watched, int result)
{
	metrics.store_bytes = (double)agent->store.bytes;
	metrics.store_removed_total = (double)agent->store.removed;
	if (result == 0) {
		metrics.windows_total++;
		return;
	}
	if (result == -ENODATA)
		return;
	metrics.windows_failed_total++;
	metrics.store_errors_total += is_of_store(result);
	say(agent, "%s: no dump of %d %s: %s", agent->store.directory, (int)watched->pid,
	    watched->program, output_why(result));
}

/* A full disk is not a reason to keep old dumps: half of them go, and the next try has room. */
static void make_room(struct agent *agent, int result)
{
	if (result == -ENOSPC || result == -EDQUOT)
		store_shrink(&agent->store, agent->store.bytes / 2);
}

/* Takes what a process recorded since the last time, and has it analyzed. */
static void take_dump(struct agent *agent, struct watched *watched, bool is_last)
{
	struct analysis_job job = { .share_ppm = watched->share_ppm };
	struct analysis_window whole;
	uint64_t now_ns = clock_mono_ns();
	int result;

	agent_window(wall_now_ns(), watched->taken_ns, now_ns, &whole.begin_ns, &whole.end_ns);
	result = write_dump(agent, watched, whole, &job);
	make_room(agent, result);
	count_dump(agent, watched, result);
	watched->due_ns = now_ns + agent->config->agent.interval_s * NS_PER_S;
	if (result == 0 || result == -ENODATA)
		watched->taken_ns = now_ns;
	if (result != 0 || is_last || agent->config->upload_count == 0)
		return;
	analysis_add(&agent->analyses, &job);
}

static void take_dumps(struct agent *agent)
{
	for (size_t i = 0; i < agent->watched.count; i++) {
		struct watched *watched = &agent->watched.all[i];

		if (watched->is_ours && watched->due_ns <= clock_mono_ns())
			take_dump(agent, watched, false);
	}
}

/* --- Uploads ---------------------------------------------------------------------------------- */

/* The first job's files, as requests to all receivers. */
static void queue_uploads(struct agent *agent)
{
	const struct analysis_job *job = &agent->analyses.jobs[0];
	struct upload_window window = { .tags = &job->tags,
					.begin_ns = job->windows[job->window].begin_ns,
					.end_ns = job->windows[job->window].end_ns,
					.share_ppm = job->share_ppm };

	metrics.profiles_too_large_total += upload_read(&window, agent->analyses.directory);
	for (size_t i = 0; i < agent->config->upload_count; i++) {
		const struct config_upload *receiver = &agent->config->uploads[i];
		struct upload_request request;

		if (upload_make(receiver->to, &window, &request))
			outbox_add(&agent->outbox, receiver, &request, clock_mono_ns(),
				   agent->config->agent.queue_mb * BYTES_PER_MB);
	}
	upload_free(&window);
}

static uint64_t any_number(void)
{
	uint64_t number = 0;

	(void)getrandom(&number, sizeof(number), GRND_NONBLOCK);
	return number;
}

static void settle(struct agent *agent, const struct transfer_result *result)
{
	if (result->verdict == OUTBOX_TAKEN)
		agent->said[0] = '\0';
	else
		say(agent, "upload to %s: %s", result->outgoing->receiver.url, result->why);
	outbox_settle(&agent->outbox, result->outgoing, result->verdict, result->retry_after_s,
		      any_number(), (unsigned)agent->config->agent.tries, clock_mono_ns());
}

static void upload(struct agent *agent)
{
	struct transfer_result result;
	struct outgoing *next;

	while (transfers_next(agent->transfers, &result))
		settle(agent, &result);
	while (transfers_have_room(agent->transfers) &&
	       (next = outbox_next(&agent->outbox, clock_mono_ns())))
		if (!transfers_begin(agent->transfers, next, &result))
			settle(agent, &result);
}

/* --- The configuration ------------------------------------------------------------------------ */

static void apply(struct agent *agent)
{
	const struct config *config = agent->config;

	agent->store.bytes_max = config->agent.store_mb * BYTES_PER_MB;
	agent->analyses.memory_mb = config->agent.analysis_mb;
	agent->analyses.most_s = config->agent.analysis_s;
	agent->analyses.wants_otlp = agent->analyses.wants_provenance = false;
	for (size_t i = 0; i < config->upload_count; i++) {
		agent->analyses.wants_otlp |= config->uploads[i].to == CONFIG_otlp;
		agent->analyses.wants_provenance |= config->uploads[i].to == CONFIG_datadog;
	}
	agent->scan_ns = 0;
}

/* Places that are fixed while the agent runs stay as they are. */
static void keep_places(const struct config_agent *now, struct config_agent *next)
{
	memcpy(next->store, now->store, sizeof(next->store));
	next->metrics_port = now->metrics_port;
}

static void reload(struct agent *agent)
{
	struct config *next = malloc(sizeof(*next));
	char error[CONFIG_ERROR_BYTES] = "no memory";

	notify_reloading(clock_mono_ns());
	if (next && config_read(next, agent->path, error)) {
		keep_places(&agent->config->agent, &next->agent);
		/* The rules that processes have are the old ones'; the scan that comes first of
		 * all gives them others. */
		config_free(agent->config);
		free(agent->config);
		agent->config = next;
		apply(agent);
		metrics.reloads_total++;
	} else {
		free(next);
		metrics.reloads_failed_total++;
		say(agent, "%s: %s; the configuration stays as it was", agent->path, error);
	}
	notify_ready();
}

/* --- The loop --------------------------------------------------------------------------------- */

static int open_signals(void)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct agent *agent)
{
	struct signalfd_siginfo info;

	while (read(agent->signals, &info, sizeof(info)) == sizeof(info)) {
		agent->is_to_end |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
		agent->is_to_reload |= info.ssi_signo == SIGHUP;
	}
}

static void make_metrics(struct body *body)
{
	metrics_measure();
	metrics_put(body);
}

static void publish(struct agent *agent)
{
	const char *path = agent->config->agent.metrics_file;
	char status[STATUS_BYTES];
	int result = 0;

	metrics_measure();
	if (path[0])
		result = metrics_write(path);
	if (result != 0)
		say(agent, "%s: %s", path, strerror(-result));
	snprintf(status, sizeof(status), "%.0f processes, %.0f windows, %.0f uploads, %.0f waiting",
		 metrics.processes, metrics.windows_total, metrics.uploads_total,
		 metrics.uploads_queued);
	notify_status(status);
}

static uint64_t sooner(uint64_t first_ns, uint64_t second_ns)
{
	return first_ns < second_ns ? first_ns : second_ns;
}

/* How long nothing is due, at most. */
static int wait_ms(const struct agent *agent)
{
	uint64_t now_ns = clock_mono_ns(), due_ns = agent->scan_ns;

	if (transfers_have_room(agent->transfers))
		due_ns = sooner(due_ns, outbox_due_ns(&agent->outbox));
	if (agent->analyses.pid != 0)
		due_ns = sooner(due_ns, agent->analyses.until_ns);
	else if (agent->analyses.count > 0)
		return 0;
	for (size_t i = 0; i < agent->watched.count; i++)
		if (agent->watched.all[i].is_ours)
			due_ns = sooner(due_ns, agent->watched.all[i].due_ns);
	if (due_ns <= now_ns)
		return 0;
	due_ns = (due_ns - now_ns) / NS_PER_MS + 1;
	return due_ns < WAIT_MS_MOST ? (int)due_ns : WAIT_MS_MOST;
}

static void wait_for_something(struct agent *agent)
{
	struct pollfd polls[LISTENER_CLIENTS_MOST + 2] = { { agent->signals, POLLIN, 0 } };
	size_t count = 1 + listener_watch(&agent->listener, polls + 1);

	_Static_assert(LISTENER_CLIENTS_MOST + 2 <= TRANSFER_POLLS_MOST, "libcurl waits for all");
	transfers_wait(agent->transfers, polls, count, wait_ms(agent));
	take_signals(agent);
	listener_serve(&agent->listener, polls + 1, count - 1, make_metrics);
}

static void scan(struct agent *agent)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns < agent->scan_ns)
		return;
	watched_scan(&agent->watched, agent->config, now_ns);
	agent->scan_ns = now_ns + agent->config->agent.scan_s * NS_PER_S;
	publish(agent);
}

static void loop(struct agent *agent)
{
	notify_ready();
	while (!agent->is_to_end) {
		if (agent->is_to_reload)
			reload(agent);
		agent->is_to_reload = false;
		scan(agent);
		take_dumps(agent);
		if (analysis_go_on(&agent->analyses, clock_mono_ns())) {
			queue_uploads(agent);
			analysis_drop(&agent->analyses);
		}
		upload(agent);
		wait_for_something(agent);
	}
	notify_stopping();
}

/* Recording is turned off first: whatever comes after may take its time. The last recordings go to
 * the store, so that the processes need not keep them. */
static void stop_recording(struct agent *agent)
{
	for (size_t i = 0; i < agent->watched.count; i++) {
		struct watched *watched = &agent->watched.all[i];
		bool was_ours = watched->is_ours;

		watched_stop(watched);
		if (was_ours)
			take_dump(agent, watched, true);
	}
}

static bool begin(struct agent *agent)
{
	const struct config_agent *config = &agent->config->agent;
	int result = store_open(&agent->store, config->store, config->store_mb * BYTES_PER_MB);

	if (result != 0) {
		say(agent, "%s: %s", config->store,
		    result == -EPERM ? "others may write to it, or own it" : strerror(-result));
		return false;
	}
	analysis_init(&agent->analyses, config->store);
	agent->transfers = transfers_make();
	if (!agent->transfers) {
		say(agent, "libcurl cannot be used");
		return false;
	}
	result = listener_open(&agent->listener, (unsigned)config->metrics_port);
	if (result != 0) {
		say(agent, "127.0.0.1 port %ju: %s", (uintmax_t)config->metrics_port,
		    strerror(-result));
		return false;
	}
	agent->signals = open_signals();
	srandom((unsigned)any_number());
	apply(agent);
	return agent->signals >= 0;
}

int agent_run(struct config *config, const char *path)
{
	static struct agent agent;
	bool is_begun;

	agent = (struct agent){ .config = config, .path = path, .signals = -1 };
	listener_init(&agent.listener);
	is_begun = begin(&agent);
	if (is_begun) {
		loop(&agent);
		stop_recording(&agent);
		publish(&agent);
	}
	listener_close(&agent.listener);
	analysis_end(&agent.analyses);
	/* Those that are under way are settled by that, too. */
	if (agent.transfers)
		transfers_free(agent.transfers);
	outbox_free(&agent.outbox);
	watched_free(&agent.watched);
	config_free(agent.config);
	free(agent.config);
	return is_begun ? 0 : 1;
}

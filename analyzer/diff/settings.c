/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the surroundings of two recordings against each other; settings.h has the contract.
 */
#include "settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "infer/others.h"
#include "report/facts.h"

static const double LOAD_DIFFERS = 0.1; /* of the units per second */
static const double OTHERS_MATTER_CPUS = 0.2;

enum { PACKAGES_SAID_MAX = 8 /* there is room for other lines, too */ };

static void say(struct settings *settings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct settings *settings, const char *format, ...)
{
	va_list arguments;
	if (settings->count == SETTINGS_LINES_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(settings->lines[settings->count++], SETTINGS_LINE_BYTES, format, arguments);
	va_end(arguments);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* --- programs --- */

const char *settings_program(const struct recording *recording)
{
	return recording->process_count ? base_of(recording->strings[recording->processes[0].exe])
					: "";
}

static bool has_program(const struct recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->process_count; i++)
		if (strcmp(base_of(recording->strings[recording->processes[i].exe]), name) == 0)
			return true;
	return false;
}

bool settings_has_program(const struct recording *recording, const char *name)
{
	return !name[0] || !recording->process_count || has_program(recording, "") ||
	       has_program(recording, name);
}

/* Processes without a name may be any program's. */
static void compare_programs(struct settings *settings, const struct recording *of_old,
			     const struct recording *of_new, const struct mapping *mapping)
{
	bool has_common = has_program(of_old, "") || has_program(of_new, "") ||
			  of_old->process_count == 0 || of_new->process_count == 0;
	for (size_t i = 0; i < of_old->process_count && !has_common; i++) {
		const char *name = base_of(of_old->strings[of_old->processes[i].exe]);
		char *mapped = mapping_apply(mapping, name);
		has_common = has_program(of_new, mapped);
		free(mapped);
	}
	if (!has_common)
		snprintf(settings->refusal, sizeof(settings->refusal),
			 "OLD is a recording of %.60s, NEW of %.60s; if that is one program, "
			 "give --map s/OLD/NEW/",
			 settings_program(of_old), settings_program(of_new));
}

/* --- requests --- */

static void compare_requests(struct settings *settings, const struct analysis *of_old,
			     const struct analysis *of_new, const struct mapping *mapping)
{
	bool has_old = stretches_has_requests(of_old), has_new = stretches_has_requests(of_new);
	if (has_old != has_new)
		snprintf(settings->refusal, sizeof(settings->refusal),
			 "%s has requests, %s has none (or fewer than %d): record both under load",
			 has_old ? "OLD" : "NEW", has_old ? "NEW" : "OLD", STRETCHES_LEAST);
	if (!has_old || !has_new)
		return;
	const char *name = facts_class_name(of_old, of_old->script.requests.judged_class);
	const char *new_name = facts_class_name(of_new, of_new->script.requests.judged_class);
	char *mapped = mapping_apply(mapping, name);
	if (strcmp(mapped, new_name) != 0)
		say(settings, "Requests of OLD begin with `%.60s`, those of NEW with `%.60s`.",
		    mapped, new_name);
	free(mapped);
}

/* --- machine and recorder --- */

static uint32_t cpus_of(const struct recording *recording)
{
	uint32_t cpus = 0;
	for (size_t i = 0; i < recording->process_count; i++)
		cpus = recording->processes[i].cpus > cpus ? recording->processes[i].cpus : cpus;
	return cpus;
}

static bool has_samples(const struct recording *recording)
{
	for (size_t i = 0; i < recording->sample_count; i++)
		if (recording->samples[i].stack)
			return true;
	return false;
}

static uint64_t quota_of(const struct recording *recording)
{
	uint64_t quota = 0;
	for (size_t i = 0; i < recording->process_count; i++)
		if (recording->processes[i].quota_milli_cpus)
			quota = recording->processes[i].quota_milli_cpus;
	return quota;
}

static void compare_machines(struct settings *settings, const struct recording *of_old,
			     const struct recording *of_new)
{
	uint32_t old_cpus = cpus_of(of_old), new_cpus = cpus_of(of_new);
	if (old_cpus != new_cpus && old_cpus && new_cpus)
		say(settings, "OLD had %u CPUs, NEW %u: times that threads queued differ by that.",
		    old_cpus, new_cpus);
	if (quota_of(of_old) != quota_of(of_new))
		say(settings, "Quotas of CPU time differ: OLD %.2f CPUs, NEW %.2f (0 = none).",
		    (double)quota_of(of_old) / 1000, (double)quota_of(of_new) / 1000);
	if (has_samples(of_old) != has_samples(of_new))
		say(settings,
		    "Only %s was sampled (sample_hz), which also costs time: CPU time by function "
		    "is not compared.",
		    has_samples(of_old) ? "OLD" : "NEW");
}

static void compare_others(struct settings *settings, const struct analysis *of_old,
			   const struct analysis *of_new)
{
	const struct others *old_others = &of_old->script.others;
	const struct others *new_others = &of_new->script.others;
	double most = fmax(old_others->is_known ? old_others->cpus : 0,
			   new_others->is_known ? new_others->cpus : 0);
	if (most <= OTHERS_MATTER_CPUS)
		return;
	say(settings, "Other programs used %.1f CPUs beside OLD and %.1f beside NEW.",
	    old_others->cpus, new_others->cpus);
	snprintf(settings->disturbed, sizeof(settings->disturbed),
		 "other programs used CPUs; record on a quiet machine, or several by turns");
}

/* --- libraries --- */

static int compare_modules(const void *left, const void *right, void *context)
{
	const struct recording *recording = context;
	const struct rec_module *const *a = left, *const *b = right;
	return strcmp(base_of(recording->strings[(*a)->path]),
		      base_of(recording->strings[(*b)->path]));
}

/* One of each name, in order of names; to be freed. */
static const struct rec_module **modules_by_name(const struct recording *recording, size_t *count)
{
	const struct rec_module **modules = memory_new(recording->module_count, sizeof(*modules));
	size_t kept = 0;
	*count = 0;
	for (size_t i = 0; i < recording->module_count; i++)
		if (recording->modules[i].build_id)
			modules[(*count)++] = &recording->modules[i];
	if (*count > 1)
		qsort_r(modules, *count, sizeof(*modules), compare_modules, (void *)recording);
	for (size_t i = 0; i < *count; i++)
		if (!kept ||
		    compare_modules(&modules[kept - 1], &modules[i], (void *)recording) != 0)
			modules[kept++] = modules[i];
	*count = kept;
	return modules;
}

/* Files that are no program and have another build; the program's own is what is compared. */
static void compare_libraries(struct settings *settings, const struct recording *of_old,
			      const struct recording *of_new)
{
	size_t old_count, new_count, found = 0;
	const struct rec_module **olds = modules_by_name(of_old, &old_count);
	const struct rec_module **news = modules_by_name(of_new, &new_count);
	const char *first = NULL;
	for (size_t a = 0, b = 0; a < old_count && b < new_count;) {
		const char *name = base_of(of_old->strings[olds[a]->path]);
		int order = strcmp(name, base_of(of_new->strings[news[b]->path]));
		bool is_other = order == 0 && strcmp(of_old->strings[olds[a]->build_id],
						     of_new->strings[news[b]->build_id]) != 0;
		if (is_other && !has_program(of_old, name)) {
			first = first ? first : name;
			found++;
		}
		a += order <= 0;
		b += order >= 0;
	}
	if (found == 1)
		say(settings, "Another build of the library %.80s is in use.", first);
	else if (found > 1)
		say(settings, "Other builds of %zu libraries are in use, such as %.80s.", found,
		    first);
	free(olds);
	free(news);
}

/* --- packages --- */

/* In which one recording has another version than the other; NULL = it has the same, or none. */
static const char *other_version(const struct analysis *analysis, const char *name,
				 const char *version)
{
	const struct recording *recording = analysis->recording;
	const char *found = NULL;
	for (size_t i = 0; i < analysis->labels->packages.module_count; i++) {
		const struct package *package = &analysis->labels->packages.of_module[i];
		if (!package->version || strcmp(recording->strings[package->name], name) != 0)
			continue;
		if (strcmp(recording->strings[package->version], version) == 0)
			return NULL;
		found = recording->strings[package->version];
	}
	return found;
}

static bool is_first_of_name(const struct packages *packages, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (packages->of_module[i].name == packages->of_module[index].name)
			return false;
	return true;
}

/* Packages are known of files that are here, and of dumps that name them. */
static void compare_packages(struct settings *settings, const struct analysis *of_old,
			     const struct analysis *of_new)
{
	const struct packages *packages = &of_old->labels->packages;
	const char *const *strings = of_old->recording->strings;
	size_t found = 0;
	for (size_t i = 0; i < packages->module_count; i++) {
		const struct package *package = &packages->of_module[i];
		if (!package->version || !is_first_of_name(packages, i))
			continue;
		const char *name = strings[package->name], *version = strings[package->version];
		const char *other = other_version(of_new, name, version);
		if (other && found++ < PACKAGES_SAID_MAX)
			say(settings,
			    "Another version of a package is in use: %.60s %.60s -> %.60s.", name,
			    version, other);
	}
	if (found > PACKAGES_SAID_MAX)
		say(settings, "So is that of %zu more packages.", found - PACKAGES_SAID_MAX);
}

void settings_compare(struct settings *settings, const struct analysis *old_analysis,
		      const struct analysis *new_analysis, const struct mapping *mapping)
{
	const struct recording *of_old = old_analysis->recording;
	const struct recording *of_new = new_analysis->recording;
	compare_requests(settings, old_analysis, new_analysis, mapping);
	compare_programs(settings, of_old, of_new, mapping);
	compare_machines(settings, of_old, of_new);
	if (old_analysis->has_script && new_analysis->has_script)
		compare_others(settings, old_analysis, new_analysis);
	compare_libraries(settings, of_old, of_new);
	if (old_analysis->labels && new_analysis->labels)
		compare_packages(settings, old_analysis, new_analysis);
}

void settings_add_losses(struct settings *settings, const struct recording *recording,
			 const char *side)
{
	if (recording->truncated_files)
		say(settings, "A dump of %s ends in the middle of a line: the rest is missing.",
		    side);
	if (recording->dropped_events || recording->missing_events)
		say(settings, "%llu events of %s are lost: its counts and times are too small.",
		    (unsigned long long)(recording->dropped_events + recording->missing_events),
		    side);
}

static double per_second(const struct costs *costs)
{
	double units = 0, ns = 0;
	for (size_t i = 0; i < costs->stretch_count; i++) {
		units += costs->units[i];
		ns += costs->elapsed_ns[i];
	}
	return ns > 0 ? 1e9 * units / ns : 0;
}

void settings_add_load(struct settings *settings, const struct costs *old_costs,
		       const struct costs *new_costs)
{
	double old_rate = per_second(old_costs), new_rate = per_second(new_costs);
	if (old_costs->unit == UNIT_REQUEST &&
	    fabs(new_rate - old_rate) > LOAD_DIFFERS * fmax(old_rate, new_rate))
		say(settings, "The load differs: %.4g requests a second in OLD, %.4g in NEW.",
		    old_rate, new_rate);
}

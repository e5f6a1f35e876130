-- SPDX-License-Identifier: Apache-2.0
-- Which version got slower, and why?
--
-- The two versions of a service that came last, per request: the mean latency, and the causes that it is made of.
-- wcprof-analyze --diff of two dumps has ranges, and says what of a difference is the cause of the rest.
WITH seen AS (
	SELECT service, version, min(ts) AS since, count(*) AS windows, count(DISTINCT host) AS hosts
	FROM wc_window GROUP BY service, version
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY service ORDER BY since DESC) AS age FROM seen
), requests AS (
	SELECT w.service, w.version, r.weight, r.latency_ns, map_concat(
		MAP {'running': r.running_ns, 'queued for a CPU': r.queued_ns}, r.blocked) AS causes
	FROM wc_request AS r JOIN wc_window AS w USING ("window")
	WHERE r.judged AND NOT r.unfinished
), mean AS (
	SELECT service, version, sum(weight) AS requests, sum(latency_ns * weight) / sum(weight) AS latency_ns
	FROM requests GROUP BY service, version
), causes AS (
	SELECT service, version, entry.key AS cause, sum(entry.value * weight) AS ns
	FROM (SELECT service, version, weight, unnest(map_entries(causes)) AS entry FROM requests)
	GROUP BY service, version, entry.key
), sides AS (
	SELECT r.service, r.version, r.age, r.windows, r.hosts, m.requests, m.latency_ns, c.cause, c.ns / m.requests AS cause_ns
	FROM ranked AS r JOIN mean AS m USING (service, version) JOIN causes AS c USING (service, version)
	WHERE r.age <= 2
), pairs AS (
	SELECT service, cause,
		max(version) FILTER (age = 2) AS old_version, max(version) FILTER (age = 1) AS new_version,
		coalesce(max(cause_ns) FILTER (age = 2), 0) AS old_ns, coalesce(max(cause_ns) FILTER (age = 1), 0) AS new_ns
	FROM sides GROUP BY service, cause
), whole AS (
	SELECT service, max(version) FILTER (age = 2) AS old_version, max(version) FILTER (age = 1) AS new_version,
		max(latency_ns) FILTER (age = 1) - max(latency_ns) FILTER (age = 2) AS slower_ns, min(windows) AS windows,
		min(hosts) AS hosts
	FROM sides GROUP BY service
)
SELECT w.service, w.old_version, w.new_version, 'per request, each version with the load that it had' AS what,
	round(w.slower_ns) AS slower_ns, b.cause, round(b.new_ns - b.old_ns) AS more_ns,
	CASE WHEN w.windows < 30 OR w.hosts < 5 THEN 'fewer than 30 windows or 5 hosts: it may be chance' ELSE '' END AS warning
FROM whole AS w JOIN pairs AS b USING (service)
WHERE w.old_version IS NOT NULL AND w.new_version IS NOT NULL
ORDER BY w.slower_ns DESC, b.new_ns - b.old_ns DESC;

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
), means AS (
	SELECT w.service AS service, w.version AS version, sum(r.weight) AS requests, sum(r.latency_ns * r.weight) / sum(r.weight) AS mean_ns
	FROM wc_request AS r JOIN wc_window AS w USING ("window")
	WHERE r.judged AND NOT r.unfinished GROUP BY w.service, w.version
), causes AS (
	SELECT w.service AS service, w.version AS version, c.cause AS cause, sum(c.ns * c.weight) AS all_ns
	FROM wc_cause AS c JOIN wc_window AS w USING ("window") GROUP BY w.service, w.version, c.cause
), sides AS (
	SELECT r.service AS service, r.version AS version, r.age AS age, r.windows AS windows, r.hosts AS hosts,
		m.mean_ns AS mean_ns, c.cause AS cause, c.all_ns / m.requests AS cause_ns
	FROM ranked AS r JOIN means AS m USING (service, version) JOIN causes AS c USING (service, version)
	WHERE r.age <= 2
), pairs AS (
	SELECT service, cause,
		coalesce(max(cause_ns) FILTER (WHERE age = 2), 0) AS old_ns,
		coalesce(max(cause_ns) FILTER (WHERE age = 1), 0) AS new_ns
	FROM sides GROUP BY service, cause
), whole AS (
	SELECT service, max(version) FILTER (WHERE age = 2) AS old_version, max(version) FILTER (WHERE age = 1) AS new_version,
		max(mean_ns) FILTER (WHERE age = 1) - max(mean_ns) FILTER (WHERE age = 2) AS slower_ns,
		min(windows) AS least_windows, min(hosts) AS least_hosts
	FROM sides GROUP BY service HAVING count(DISTINCT age) = 2
)
SELECT w.service AS service, w.old_version AS old_version, w.new_version AS new_version,
	'per request, each version with the load that it had' AS what,
	round(w.slower_ns) AS slower_ns, b.cause AS cause, round(b.new_ns - b.old_ns) AS more_ns,
	CASE WHEN w.least_windows < 30 OR w.least_hosts < 5 THEN 'fewer than 30 windows or 5 hosts: it may be chance'
		ELSE '' END AS warning
FROM whole AS w JOIN pairs AS b USING (service)
ORDER BY w.slower_ns DESC, b.new_ns - b.old_ns DESC, b.cause;

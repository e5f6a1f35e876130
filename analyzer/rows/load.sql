-- SPDX-License-Identifier: Apache-2.0
-- Which lock's wait grows with the load?
--
-- Of each lock the wait per request, by requests per second, over windows. A slope is what was seen on each host as it
-- was; that the load is the cause is a guess until it is tried.
WITH loads AS (
	SELECT "window", service, host, requests, requests * 1e9 / window_ns AS per_second
	FROM wc_window WHERE requests > 0 AND window_ns > 0
), locks AS (
	SELECT DISTINCT w.service AS service, h.lock AS lock FROM wc_hold AS h JOIN wc_window AS w USING ("window")
), waits AS (
	SELECT "window", resource AS lock, sum(total_ns) AS ns
	FROM wc_wait WHERE reason IN ('mutex', 'rwlock_read', 'rwlock_write', 'lock') GROUP BY "window", resource
), points AS (
	SELECT l.service AS service, k.lock AS lock, l.host AS host, l.per_second AS per_second, coalesce(x.ns, 0) / l.requests AS wait_ns
	FROM loads AS l JOIN locks AS k USING (service) LEFT JOIN waits AS x ON x."window" = l."window" AND x.lock = k.lock
)
SELECT service, lock, count(*) AS windows, count(DISTINCT host) AS hosts,
	'wait per request against load, seen on each host' AS what,
	round(avg(wait_ns)) AS mean_wait_ns, round(covar_pop(wait_ns, per_second) / nullif(var_pop(per_second), 0), 3) AS more_ns_per_request_per_second,
	round(corr(wait_ns, per_second), 3) AS correlation,
	CASE WHEN count(*) < 30 OR count(DISTINCT host) < 5 THEN 'fewer than 30 windows or 5 hosts: no more than a hint'
		ELSE '' END AS warning
FROM points GROUP BY service, lock HAVING max(wait_ns) > 0
ORDER BY more_ns_per_request_per_second DESC NULLS LAST, lock;

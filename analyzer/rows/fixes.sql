-- SPDX-License-Identifier: Apache-2.0
-- Which fix helps most hosts?
--
-- Each class in half its time, on each host with the load that it had. The sum over hosts is no forecast of all of
-- them together: a host that became faster would get more to do. A window whose answers are withheld says nothing, so
-- their share is beside the saving.
WITH judged AS (
	SELECT *, answers = 'given' AS is_given FROM wc_window
), all_of_them AS (
	SELECT service, count(*) AS windows, count(DISTINCT host) AS hosts,
		sum(makespan_ns) FILTER (WHERE is_given) AS given_ns, avg(CASE WHEN is_given THEN 0 ELSE 1 END) AS withheld
	FROM judged GROUP BY service
), saved AS (
	SELECT w.service AS service, a.kind AS kind, a.class AS class, count(DISTINCT w.host) AS hosts_helped, sum(a.saved_ns) AS all_saved_ns,
		p10(a.saved_ns / w.makespan_ns) AS p10, p50(a.saved_ns / w.makespan_ns) AS p50,
		p90(a.saved_ns / w.makespan_ns) AS p90
	FROM wc_whatif AS a JOIN judged AS w USING ("window")
	WHERE a.factor = 0.5 AND a.lo_ns > 0 AND w.makespan_ns > 0
	GROUP BY w.service, a.kind, a.class
)
SELECT s.service AS service, s.kind AS kind, s.class AS class, s.hosts_helped AS hosts_helped, a.hosts AS hosts,
	a.windows AS windows, round(a.withheld, 3) AS withheld,
	'per-host saving, load unchanged' AS what,
	round(s.all_saved_ns / a.given_ns, 4) AS saved,
	CASE WHEN a.windows >= 30 AND a.hosts >= 5 THEN round(s.p10, 4) END AS saved_p10,
	CASE WHEN a.windows >= 30 AND a.hosts >= 5 THEN round(s.p50, 4) END AS saved_p50,
	CASE WHEN a.windows >= 30 AND a.hosts >= 5 THEN round(s.p90, 4) END AS saved_p90,
	CASE WHEN a.windows < 30 OR a.hosts < 5 THEN 'fewer than 30 windows or 5 hosts: single points' ELSE '' END AS warning
FROM saved AS s JOIN all_of_them AS a USING (service)
ORDER BY s.all_saved_ns / a.given_ns DESC, s.class, s.kind;
